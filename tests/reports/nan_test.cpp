// Reports about NaN and infinities in reductions, at every position and around vector widths.
#include <cmath>
#include <limits>

#include "reports/report.h"

namespace nx::test {

REPORT_SUITE(NanReports);

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Lengths around the widths of vectors, unrolled loops and tiles.
const std::vector<int>& lengths() {
  static const std::vector<int> all = [] {
    std::vector<int> list;
    for (int n = 1; n <= 130; ++n) list.push_back(n);
    for (const int n : {255, 256, 257, 1023, 1024, 1025, 4097}) list.push_back(n);
    return list;
  }();
  return all;
}

/// The lengths for which a program is compiled: XLA takes its time for each.
std::vector<int> compiled_lengths(bool xla) {
  if (!xla) return lengths();
  return {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 130, 1025};
}

std::vector<int> positions(int n) {
  std::vector<int> list{0};
  for (const int p : {1, n / 2, n - 2, n - 1})
    if (p > list.back() && p < n) list.push_back(p);
  return list;
}

TEST_P(NanReports, the_largest_and_the_smallest_of_elements_with_a_nan_are_nan) {
  for (const int n : compiled_lengths(is_xla())) {
    const auto f = jit(
        [](Tensor x) {
          return std::array{reduce_max(x), reduce_min(x),
                            reduce_max(x, {.axes = {0}, .keep_axes = true}),
                            reduce_min(reshape(x, {1, x.size()}), {.axes = {1}})};
        },
        options());
    std::vector<std::vector<float>> inputs{std::vector<float>(static_cast<std::size_t>(n), kNan)};
    for (const int p : positions(n)) {
      inputs.emplace_back(static_cast<std::size_t>(n), 2.f);
      inputs.back()[static_cast<std::size_t>(p)] = kNan;
    }
    for (const std::vector<float>& values : inputs) {
      const Tensor x = tensor(values);
      for (const Tensor& r : f(x)) EXPECT_TRUE(std::isnan(r.to_number<float>())) << n;
      EXPECT_TRUE(std::isnan(reduce_max(x).to_number<float>())) << n;
      EXPECT_TRUE(std::isnan(reduce_min(x).to_number<float>())) << n;
    }
  }
}

TEST_P(NanReports, argmax_and_argmin_give_the_place_of_the_first_nan) {
  const std::vector<std::pair<std::vector<float>, int>> reported = {
      {{3, kNan, 1, 5}, 1}, {{1, kNan, 2}, 1}, {{0, 1, kNan}, 2}, {{kNan, kNan}, 0}};
  const auto f = jit([](Tensor x) { return std::pair(argmax(x), argmin(x)); }, options());
  for (const auto& [values, place] : reported) {
    const auto [largest, smallest] = f(tensor(values));
    EXPECT_EQ(largest.to_number<int>(), place);
    EXPECT_EQ(smallest.to_number<int>(), place);
  }
  for (const int n : compiled_lengths(is_xla())) {
    const std::vector<int> places = positions(n);
    for (std::size_t k = 0; k < places.size(); ++k) {
      std::vector<float> values(static_cast<std::size_t>(n));
      for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(i % 5);
      for (std::size_t j = k; j < places.size(); ++j)
        values[static_cast<std::size_t>(places[j])] = kNan;
      const Tensor x = tensor(values);
      const auto [largest, smallest] = f(x);
      EXPECT_EQ(largest.to_number<int>(), places[k]) << n;
      EXPECT_EQ(smallest.to_number<int>(), places[k]) << n;
      EXPECT_EQ(argmax(x).to_number<int>(), places[k]) << n;
      EXPECT_EQ(argmin(x, {.axis = 0}).to_number<int>(), places[k]) << n;
      const Tensor column = reshape(x, {n, 1});
      EXPECT_EQ(argmax(column, {.axis = 0}).to_flat_list<int>()[0], places[k]) << n;
    }
  }
}

TEST_P(NanReports, the_place_of_the_largest_holds_the_largest) {
  // max, argmax and reduce_max agree on every mixture of numbers, infinities and NaN.
  const float kinds[] = {-kInfinity, -1, 0, 3, kInfinity, kNan};
  const auto f = jit(
      [](Tensor x) {
        return std::array{as_type(argmax(x), f32), reduce_max(x), as_type(argmin(x), f32),
                          reduce_min(x)};
      },
      options());
  for (int code = 0; code < 6 * 6 * 6; ++code) {
    const std::vector<float> values{kinds[code % 6], kinds[code / 6 % 6], kinds[code / 36]};
    const auto [at_max, largest, at_min, smallest] = f(tensor(values));
    const auto same = [](float a, float b) { return std::isnan(a) ? std::isnan(b) : a == b; };
    EXPECT_TRUE(same(values[at_max.to_number<std::size_t>()], largest.to_number<float>())) << code;
    EXPECT_TRUE(same(values[at_min.to_number<std::size_t>()], smallest.to_number<float>())) << code;
    Tensor pairwise = tensor(values[0]);
    for (const float v : values) pairwise = max(pairwise, tensor(v));
    EXPECT_TRUE(same(pairwise.to_number<float>(), largest.to_number<float>())) << code;
  }
}

TEST_P(NanReports, softmax_of_minus_infinity_is_the_same_for_every_length) {
  // exp(-inf - -inf) is NaN: so it is, whatever the length.
  for (const int n : compiled_lengths(is_xla())) {
    const auto f =
        jit([](Tensor x) { return std::pair(nn::softmax(x), nn::log_softmax(x)); }, options());
    const Tensor x = full({n}, -kInfinity);
    const auto [soft, logarithm] = f(x);
    for (const float v : values_of(soft)) ASSERT_TRUE(std::isnan(v)) << n;
    for (const float v : values_of(logarithm)) ASSERT_TRUE(std::isnan(v)) << n;
    for (const float v : values_of(nn::softmax(x))) ASSERT_TRUE(std::isnan(v)) << n;
    for (const float v : values_of(nn::softmax(broadcast(x, {3, n})))) ASSERT_TRUE(std::isnan(v));
  }
}

TEST_P(NanReports, softmax_with_one_finite_element_is_one_there_for_every_length) {
  for (const int n : compiled_lengths(is_xla())) {
    const auto f = jit([](Tensor x) { return nn::softmax(x); }, options());
    for (const int p : positions(n)) {
      std::vector<float> values(static_cast<std::size_t>(n), -kInfinity);
      values[static_cast<std::size_t>(p)] = -2;
      std::vector<float> expected(static_cast<std::size_t>(n), 0.f);
      expected[static_cast<std::size_t>(p)] = 1;
      EXPECT_EQ(values_of(f(tensor(values))), expected) << n << " at " << p;
      EXPECT_EQ(values_of(nn::softmax(tensor(values))), expected) << n << " at " << p;
    }
  }
}

}  // namespace nx::test
