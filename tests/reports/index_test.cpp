// Reports about indices out of range, updates of slices, literals and their types, and random
// numbers.
#include <functional>
#include <thread>
#include <tuple>

#include "nx/random.h"
#include "reports/report.h"

namespace nx::test {

REPORT_SUITE(IndexReports);

std::vector<int> ints(const Tensor& t) { return t.to_flat_list<int>(); }

TEST_P(IndexReports, an_eager_index_out_of_range_is_an_error_that_names_function_index_and_place) {
  const Tensor x = iota({5}), matrix = reshape(iota({12}), {3, 4});
  struct Case {
    const char* function;  // as the caller wrote it
    const char* expected;
    std::function<Tensor()> call;
  };
  const Case cases[] = {
      {"take: ", "0 to 4, got 10", [&] { return take(x, 10); }},
      {"take: ", "0 to 4, got -1", [&] { return take(x, tensor({0, -1})); }},
      {"take: ", "0 to 3, got 4", [&] { return take(matrix, tensor({4}), {.axis = 1}); }},
      {"take: ", "0 to 4, got 200", [&] { return take(x, tensor({200}, {.type = u8})); }},
      {"gather: ", "0 to 4, got 13", [&] { return gather(x, tensor({{13}})); }},
      {"gather: ", "0 to 3, got 5", [&] { return gather(matrix, tensor({{0, 0}, {2, 5}})); }},
      {"gather: ", "0 to 2, got 3", [&] { return gather(matrix, tensor({{3, 7}})); }},
      {"take_along_axis: ", "0 to 4, got 7",
       [&] { return take_along_axis(x, tensor({0, 7}), {.axis = 0}); }},
      {"indexed_add: ", "0 to 4, got 9",
       [&] { return indexed_add(x, tensor({{9}}), tensor({1})); }},
      {"indexed_put: ", "0 to 4, got -3",
       [&] { return indexed_put(x, tensor({{-3}}), tensor({1})); }},
      {"indexed_put: ", "0 to 3, got 8",
       [&] { return indexed_put(matrix, tensor({{2, 3}, {2, 8}}), tensor({1, 1})); }},
  };
  for (const Case& c : cases) {
    const std::string text = error_of<ArgumentError>([&] { (void)c.call(); });
    EXPECT_EQ(text.rfind(c.function, 0), 0u) << text;
    EXPECT_HAS(text, std::string("an index is out of range; expected ") + c.expected);
    EXPECT_HAS(text, "index_test.cpp");
  }
}

TEST_P(IndexReports, the_first_index_out_of_range_is_told_however_many_threads_look) {
  std::vector<int> indices(300'000, 1);
  for (const std::size_t first : {std::size_t{299'999}, std::size_t{150'003}, std::size_t{17}}) {
    indices[first] = static_cast<int>(first) + 1000;
    const Tensor wrong = tensor(indices);  // with more of them behind the first
    for (int i = 0; i < 20; ++i)
      EXPECT_HAS(error_of<ArgumentError>([&] { (void)take(iota({5}), wrong); }),
                 "got " + std::to_string(first + 1000));
  }
}

TEST_P(IndexReports, an_index_of_an_empty_axis_is_an_error_that_names_function_and_place) {
  const Tensor none = zeros({0}), wide = zeros({3, 0});
  const std::pair<const char*, std::function<Tensor()>> cases[] = {
      {"take: ", [&] { return take(none, 0); }},
      {"take: ", [&] { return take(wide, tensor({0}), {.axis = 1}); }},
      {"gather: ", [&] { return gather(none, tensor({{0}})); }},
      {"take_along_axis: ", [&] { return take_along_axis(none, tensor({0})); }},
      {"indexed_add: ", [&] { return indexed_add(none, tensor({{0}}), tensor({1.f})); }},
      {"indexed_put: ", [&] { return indexed_put(none, tensor({{0}}), tensor({1.f})); }},
  };
  for (const auto& c : cases) {
    const std::string text = error_of<ShapeError>([&] { (void)c.second(); });
    EXPECT_EQ(text.rfind(c.first, 0), 0u) << text;
    EXPECT_HAS(text, "is empty");
    EXPECT_HAS(text, "index_test.cpp");
  }
  EXPECT_EQ(take(none, zeros({0}, {.type = s32})).size(), 0);
}

TEST_P(IndexReports, an_index_out_of_range_is_clamped_in_compiled_code_for_every_type) {
  const std::vector<int> asked{10, -1, 4, 0, 5, -100, 1 << 30};
  const std::vector<int> expected{4, 0, 4, 0, 4, 0, 4};
  const auto f = jit(
      [](Tensor x, Tensor i) {
        return std::tuple(take(x, i), gather(x, reshape(i, {i.size(), 1})),
                          take(reshape(x, {1, 5}), i, {.axis = 1}));
      },
      options());
  for (const DType type : {DType::s32, DType::f32, DType::u8, DType::f64, DType::s64}) {
    for (const DType index : {DType::s32, DType::s64}) {
      const auto [taken, gathered, along] =
          f(iota({5}, {.type = type}), as_type(tensor(asked), index));
      EXPECT_EQ(ints(taken), expected) << name_of(type);
      EXPECT_EQ(ints(gathered), expected) << name_of(type);
      EXPECT_EQ(ints(along), expected) << name_of(type);
    }
  }
}

TEST_P(IndexReports, an_update_that_reaches_too_far_is_moved_back_whole) {
  const auto at = [&](Dims starts) {
    return [=](Tensor t, Tensor u) {
      Starts s;
      for (const std::int64_t start : starts) s.emplace_back(start);
      return put_slice(t, s, u);
    };
  };
  const Tensor target = zeros({3, 1, 33}), update = ones({1, 1, 8});
  for (const auto& [asked, row, column] : std::vector<std::tuple<Dims, int, int>>{
           {{1, 1, 31}, 1, 25}, {{5, 0, 25}, 2, 25}, {{-4, -1, -9}, 0, 0}, {{2, 0, 100}, 2, 25}}) {
    std::vector<float> expected(99, 0.f);
    for (int i = 0; i < 8; ++i) expected[static_cast<std::size_t>(33 * row + column + i)] = 1;
    EXPECT_EQ(values_of(at(asked)(target, update)), expected);
    EXPECT_EQ(values_of(jit(at(asked), options())(target, update)), expected);
    const auto dynamic = jit(
        [](Tensor t, Tensor u, Tensor a, Tensor b, Tensor c) {
          return put_slice(t, {a, b, c}, u);
        },
        options());
    EXPECT_EQ(
        values_of(dynamic(target, update, tensor(asked[0]), tensor(asked[1]), tensor(asked[2]))),
        expected);
    const auto donated = jit(at(asked), options());
    EXPECT_EQ(values_of(donated(donatable(on_device(target)), on_device(update))), expected);
  }
}

TEST_P(IndexReports, a_tensor_updated_with_a_shifted_part_of_itself_has_the_old_values_moved) {
  const auto shifted = [](Tensor x, bool reshaped) {
    const Tensor b = x + 1;
    Dims rest = x.shape();
    rest[0] -= 1;
    Starts from(rest.size(), Start(0)), to(rest.size(), Start(0));
    to[0] = Start(1);
    const Tensor r = put_slice(b, to, slice(b, from, rest));
    return reshaped ? new_axis(r, 0) : r;
  };
  for (const Dims& dims : {Dims{4, 1, 1}, Dims{8, 16}, Dims{2, 3}, Dims{33, 5}, Dims{64}}) {
    std::int64_t count = 1;
    for (const std::int64_t size : dims) count *= size;
    const std::int64_t row = count / dims[0];
    std::vector<int> expected;
    for (std::int64_t i = 0; i < count; ++i)
      expected.push_back(static_cast<int>((i < row ? i : i - row) + 1));
    const Tensor x = reshape(iota({count}), dims);
    for (const bool reshaped : {true, false}) {
      EXPECT_EQ(ints(shifted(x, reshaped)), expected);
      const auto f = jit([=](Tensor t) { return shifted(t, reshaped); }, options());
      EXPECT_EQ(ints(f(x)), expected) << GetParam() << " rows " << dims[0];
      EXPECT_EQ(ints(f(donatable(on_device(x)))), expected) << GetParam() << " rows " << dims[0];
    }
  }
}

TEST_P(IndexReports, a_plain_number_takes_the_type_of_the_tensor_it_pads_or_meets) {
  for (int code = 0; code < kDTypeCount; ++code) {
    const auto type = static_cast<DType>(code);
    if (bits_of(type) < 8 || is_complex(type)) continue;  // no kernels for these yet
    const Tensor x = as_type(ones({3, 3}), type);
    EXPECT_EQ(pad(x, 0, {{1, 1}, {0, 2}}).type(), type) << name_of(type);
    EXPECT_EQ((x + 1).type(), type) << name_of(type);
    EXPECT_EQ(max(x, 0).type(), type) << name_of(type);
    const auto f = jit([](Tensor t) { return pad(t, 0, {{1, 1}, {0, 2}}); }, options());
    const Tensor padded = f(x);
    EXPECT_EQ(padded.type(), type) << name_of(type);
    EXPECT_EQ(padded.shape(), (Shape{5, 5})) << name_of(type);
    EXPECT_EQ(sum(as_type(padded, f32)).to_number<float>(), 9) << name_of(type);
  }
}

TEST_P(IndexReports, random_numbers_depend_on_the_key_alone) {
  // The same on each compiler, eagerly, on another thread, and beside other work.
  const auto draw = [](Tensor key) {
    return std::tuple(random::normal(key, {.shape = {8}}).first,
                      random::uniform(key, {.shape = {1000}}).first,
                      random::randint(key, 0, 100, {.shape = {33}}).first);
  };
  const Tensor key = random::key(42);
  const auto [normal, uniform, whole] = draw(key);
  const auto f = jit(draw, options());
  const auto [compiled_normal, compiled_uniform, compiled_whole] = f(key);
  const std::vector<float> a = values_of(normal), b = values_of(compiled_normal);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-6f);
  EXPECT_EQ(values_of(compiled_uniform), values_of(uniform));
  EXPECT_EQ(ints(compiled_whole), ints(whole));
  std::vector<float> other;
  std::thread([&] { other = values_of(std::get<1>(f(key))); }).join();
  EXPECT_EQ(other, values_of(uniform));
  // Rows drawn with keys of their own are those of a loop over the keys.
  const Tensor keys = random::split(key, {.parts = 4});
  for (std::int64_t i = 0; i < 4; ++i) {
    const Tensor own = reshape(slice(keys, {i, 0}, {1, 2}), {2});
    EXPECT_EQ(values_of(std::get<1>(f(own))), values_of(std::get<1>(draw(own))));
  }
}

}  // namespace nx::test
