// Everything up to an element, against a loop over its line, for shapes, axes, directions and types.
#include "kernels/cumulative.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "nx/element.h"

namespace nx::kernels {
namespace {

template <class T>
std::vector<T> run(const ArraySpec& spec, const CumulativeSpec& how, const std::vector<T>& in,
                   int threads = 1) {
  std::vector<T> out(in.size());
  const void* const inputs[] = {in.data()};
  void* const outputs[] = {out.data()};
  prepare_cumulative(spec, how)->run({inputs, outputs, nullptr, nullptr, threads});
  return out;
}

template <class T>
T combined(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::kSum: return static_cast<T>(a + b);
    case Reduction::kProduct: return static_cast<T>(a * b);
    case Reduction::kMax: return a != a || b != b ? a + b : std::max(a, b);
    default: return a != a || b != b ? a + b : std::min(a, b);
  }
}

template <class T>
std::vector<T> expected(const ArraySpec& spec, const CumulativeSpec& how, std::vector<T> values) {
  std::int64_t inner = 1;
  for (std::size_t i = how.axis + 1; i < spec.dims.size(); ++i) inner *= spec.dims[i];
  const std::int64_t count = spec.dims[how.axis], size = static_cast<std::int64_t>(values.size());
  const auto place = [&](std::int64_t i) { return i / inner % count; };
  const auto visit = [&](std::int64_t i, std::int64_t before) {
    T& value = values[static_cast<std::size_t>(i)];
    value = combined(how.reduction, values[static_cast<std::size_t>(before)], value);
  };
  if (how.reverse) {
    for (std::int64_t i = size - 1; i >= 0; --i)
      if (place(i) + 1 < count) visit(i, i + inner);
  } else {
    for (std::int64_t i = 0; i < size; ++i)
      if (place(i) > 0) visit(i, i - inner);
  }
  return values;
}

constexpr Reduction kAll[] = {Reduction::kSum, Reduction::kProduct, Reduction::kMax,
                              Reduction::kMin};

/// Values of `draw`, whose sums and products are exact or wrap.
template <class T, class Draw>
void compare(DType type, Draw draw) {
  for (const Dims& dims : {Dims{1}, Dims{7}, Dims{9, 5}, Dims{3, 4, 70}, Dims{6, 1, 2}, Dims{0, 3},
                           Dims{3, 0}, Dims{2, 130}})
    for (std::size_t axis = 0; axis < dims.size(); ++axis)
      for (const Reduction reduction : kAll)
        for (const bool reverse : {false, true}) {
          std::vector<T> in(static_cast<std::size_t>(element_count(dims)));
          for (T& value : in) value = draw();
          const ArraySpec spec{type, dims};
          const CumulativeSpec how{reduction, axis, reverse};
          const auto want = expected(spec, how, in);
          EXPECT_EQ(run(spec, how, in), want) << to_string(type, dims) << " axis " << axis;
          EXPECT_EQ(run(spec, how, in, 3), want) << to_string(type, dims) << " axis " << axis;
        }
}

TEST(Cumulative, equals_a_loop_over_each_line) {
  std::mt19937 random(5);
  compare<std::uint8_t>(DType::u8, [&] { return static_cast<std::uint8_t>(random()); });
  compare<std::uint16_t>(DType::u16, [&] { return static_cast<std::uint16_t>(random() % 4); });
  compare<std::uint64_t>(DType::u64, [&] { return std::uint64_t{random()} << 20; });
  compare<std::int32_t>(DType::s32, [&] { return static_cast<std::int32_t>(random() % 3) - 1; });
  compare<float>(DType::f32, [&] { return random() % 2 ? 1.f : -2.f; });
  compare<double>(DType::f64, [&] { return random() % 2 ? 1. : -2.; });
}

TEST(Cumulative, numbers_below_a_byte_wrap) {
  const std::vector<std::int8_t> s4{7, 1, -8, 2};
  EXPECT_EQ(run({DType::s4, {4}}, {Reduction::kSum}, s4), (std::vector<std::int8_t>{7, -8, 0, 2}));
  const std::vector<std::uint8_t> u2{3, 3, 3};
  EXPECT_EQ(run({DType::u2, {3}}, {Reduction::kProduct}, u2), (std::vector<std::uint8_t>{3, 1, 3}));
}

TEST(Cumulative, largest_and_smallest_pass_nan_on) {
  const float nan = std::nanf("");
  for (const Reduction reduction : {Reduction::kMax, Reduction::kMin}) {
    const auto out = run<float>({DType::f32, {4}}, {reduction}, {1, nan, 2, 0});
    EXPECT_EQ(out[0], 1);
    for (const std::size_t i : {1u, 2u, 3u}) EXPECT_TRUE(std::isnan(out[i])) << i;
  }
}

TEST(Cumulative, long_sums_of_f32_are_those_of_f64_rounded) {
  const std::vector<float> in(1 << 20, 0.1f);
  const auto out = run({DType::f32, {1 << 20}}, {Reduction::kSum}, in);
  double sum = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    sum += static_cast<double>(in[i]);
    ASSERT_EQ(out[i], static_cast<float>(sum)) << i;
  }
}

}  // namespace
}  // namespace nx::kernels
