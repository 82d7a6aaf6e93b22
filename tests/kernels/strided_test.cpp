// Strided copies, concatenate, pad and slices against index arithmetic.
#include "kernels/strided.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/assemble.h"

namespace nx::kernels {
namespace {

std::vector<int> count_up(std::size_t n) {
  std::vector<int> v(n);
  std::iota(v.begin(), v.end(), 0);
  return v;
}

std::vector<int> run(const PreparedKernel& kernel, std::vector<const void*> in, std::size_t n,
                     int threads = 1) {
  std::vector<int> out(n, -7);
  void* results[] = {out.data()};
  kernel.run({in.data(), results, nullptr, nullptr, threads});
  return out;
}

TEST(StridedCopy, transposes_any_permutation) {
  const Dims dims{3, 20, 33};
  const auto in = count_up(3 * 20 * 33);
  const Dims strides = row_major_strides(dims);
  for (const Dims& order : {Dims{0, 1, 2}, Dims{0, 2, 1}, Dims{1, 0, 2}, Dims{1, 2, 0},
                            Dims{2, 0, 1}, Dims{2, 1, 0}}) {
    Dims to, from;
    for (const auto axis : order) {
      to.push_back(dims[static_cast<std::size_t>(axis)]);
      from.push_back(strides[static_cast<std::size_t>(axis)]);
    }
    for (const int threads : {1, 2, 5}) {
      std::vector<int> out(in.size());
      StridedCopy(4, to, row_major_strides(to), from).run(out.data(), in.data(), threads);
      std::size_t n = 0;
      for (int i = 0; i < to[0]; ++i)
        for (int j = 0; j < to[1]; ++j)
          for (int k = 0; k < to[2]; ++k)
            ASSERT_EQ(out[n++], i * from[0] + j * from[1] + k * from[2]);
    }
  }
}

/// Elements of a size whose bytes tell where they were.
template <class T>
std::vector<T> elements(std::size_t count) {
  std::vector<T> list(count);
  auto* const bytes = reinterpret_cast<unsigned char*>(list.data());
  std::uint32_t seed = 1;
  for (std::size_t i = 0; i < count * sizeof(T); ++i)
    bytes[i] = static_cast<unsigned char>((seed = seed * 1664525u + 1013904223u) >> 24);
  return list;
}

template <class T>
class StridedElements : public testing::Test {};
using ElementSizes = testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t,
                                    std::complex<double>>;
TYPED_TEST_SUITE(StridedElements, ElementSizes);

TYPED_TEST(StridedElements, transposes_whole_squares_and_what_is_left_of_them) {
  constexpr std::int64_t kSizes[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 130, 200};
  for (const std::int64_t rows : kSizes)
    for (const std::int64_t columns : kSizes) {
      const std::int64_t width = columns + 3;  // what lies between rows stays as it is
      const auto in = elements<TypeParam>(static_cast<std::size_t>(rows * columns));
      const auto before = elements<TypeParam>(static_cast<std::size_t>(rows * width));
      auto expected = before;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          expected[static_cast<std::size_t>(r * width + c)] =
              in[static_cast<std::size_t>(c * rows + r)];
      for (const int threads : {1, 3}) {
        auto out = before;
        StridedCopy(sizeof(TypeParam), {rows, columns}, {width, 1}, {1, rows})
            .run(out.data(), in.data(), threads);
        ASSERT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(TypeParam)), 0)
            << rows << "x" << columns;
      }
    }
}

TYPED_TEST(StridedElements, reverses_every_length) {
  for (std::int64_t count = 1; count <= 70; ++count) {
    const auto in = elements<TypeParam>(static_cast<std::size_t>(count));
    std::vector<TypeParam> out(in.size()), expected(in.rbegin(), in.rend());
    StridedCopy(sizeof(TypeParam), {count}, {1}, {-1}).run(out.data(), in.data() + count - 1);
    ASSERT_EQ(std::memcmp(out.data(), expected.data(), out.size() * sizeof(TypeParam)), 0) << count;
  }
}

TEST(StridedCopy, broadcasts_and_reverses) {
  const std::vector<short> in{1, 2, 3};
  std::vector<short> out(6);
  StridedCopy(2, {3, 2}, {2, 1}, {-1, 0}).run(out.data(), in.data() + 2);
  EXPECT_EQ(out, (std::vector<short>{3, 3, 2, 2, 1, 1}));
}

TEST(StridedCopy, touches_nothing_when_an_axis_is_empty) {
  int out = 5;
  StridedCopy(4, {3, 0}, {1, 1}, {1, 1}).run(&out, nullptr);
  EXPECT_EQ(out, 5);
}

TEST(Concatenate, joins_along_the_middle_axis) {
  const std::vector<int> a{1, 2, 3, 4}, b{5, 6};
  const ArraySpec parts[] = {{DType::s32, {2, 2, 1}}, {DType::s32, {2, 1, 1}}};
  EXPECT_EQ(run(*prepare_concatenate(parts, 1), {a.data(), b.data()}, 6),
            (std::vector<int>{1, 2, 5, 3, 4, 6}));
}

TEST(Pad, fills_between_around_and_cuts_off) {
  const std::vector<int> in{0, 1, 2};
  const int value = 9;
  const ArraySpec spec{DType::s32, {3}};
  EXPECT_EQ(run(*prepare_pad(spec, {1}, {2}, {2}), {in.data(), &value}, 10),
            (std::vector<int>{9, 0, 9, 9, 1, 9, 9, 2, 9, 9}));
  EXPECT_EQ(run(*prepare_pad(spec, {-1}, {0}, {0}), {in.data(), &value}, 2),
            (std::vector<int>{1, 2}));
  EXPECT_EQ(run(*prepare_pad(spec, {-1}, {-1}, {1}), {in.data(), &value}, 3),
            (std::vector<int>{9, 1, 9}));
  EXPECT_EQ(run(*prepare_pad(spec, {-4}, {3}, {0}), {in.data(), &value}, 2),
            (std::vector<int>{9, 9}));
}

TEST(PutSlice, writes_in_place_and_clamps_its_starts) {
  std::vector<int> in{0, 1, 2, 3, 4, 5};
  const std::vector<int> update{8, 9};
  const std::int64_t row = 5;
  const std::uint8_t column = 1;
  const DType types[] = {DType::s64, DType::u8};
  const auto kernel = prepare_put_slice({DType::s32, {2, 3}}, {1, 2}, types);
  EXPECT_EQ(run(*kernel, {in.data(), update.data(), &row, &column}, 6),
            (std::vector<int>{0, 1, 2, 3, 8, 9}));
  const void* operands[] = {in.data(), update.data(), &row, &column};
  void* out[] = {in.data()};
  kernel->run({operands, out, nullptr, nullptr, 1});
  EXPECT_EQ(in, (std::vector<int>{0, 1, 2, 3, 8, 9}));
}

TEST(DynamicSlice, clamps_its_starts) {
  const auto in = count_up(6);
  const std::int32_t row = -3, column = 7;
  const DType types[] = {DType::s32, DType::s32};
  EXPECT_EQ(run(*prepare_dynamic_slice({DType::s32, {2, 3}}, {2, 1}, types),
                {in.data(), &row, &column}, 2),
            (std::vector<int>{2, 5}));
}

}  // namespace
}  // namespace nx::kernels
