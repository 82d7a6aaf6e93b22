// Row reductions: values, NaN, identities, and the index of an extreme element.
#include "kernels/reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "nx/element.h"

namespace nx::kernels {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

template <class T>
T reduce(Reduction reduction, const std::vector<T>& in, T start) {
  row_reduce_kernel(reduction, DTypeOf<T>::kType)(in.data(), 1, in.size(), &start);
  return start;
}

/// One step of a reduction in order; the first NaN stays, of equal extremes the first.
template <class T>
T from_first(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::kSum: return static_cast<T>(a + b);
    case Reduction::kProduct:
      if constexpr (std::is_integral_v<T>) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(static_cast<std::uint64_t>(static_cast<U>(a)) * static_cast<U>(b));
      } else {
        return a * b;
      }
    case Reduction::kMax: return a >= b || a != a ? a : b;
    default: return a <= b || a != a ? a : b;
  }
}

TEST(RowReduce, sums_every_length_exactly_for_integers) {
  for (std::size_t n = 0; n < 700; ++n) {
    std::vector<std::int32_t> in(n);
    std::vector<float> f(n);
    std::int32_t want = 5;
    for (std::size_t i = 0; i < n; ++i) want += in[i] = static_cast<int>(i * i % 97) - 40;
    for (std::size_t i = 0; i < n; ++i) f[i] = static_cast<float>(in[i]);
    ASSERT_EQ(reduce(Reduction::kSum, in, 5), want) << n;
    ASSERT_EQ(reduce(Reduction::kSum, f, 5.f), static_cast<float>(want)) << n;
  }
}

TEST(RowReduce, max_and_min_pass_nan_on_from_every_place) {
  for (const std::size_t n : {1u, 5u, 16u, 40u, 200u, 515u})
    for (std::size_t at = 0; at < n; ++at) {
      std::vector<float> in(n, 1.f);
      in[at] = 3.f;
      const float low = -std::numeric_limits<float>::infinity();
      ASSERT_EQ(reduce(Reduction::kMax, in, low), 3.f);
      in[at] = kNan;
      ASSERT_TRUE(std::isnan(reduce(Reduction::kMax, in, low)));
      ASSERT_TRUE(std::isnan(reduce(Reduction::kMin, in, -low)));
    }
}

template <class T>
void check_rows_side_by_side() {
  std::mt19937 random(3);
  const DType type = DTypeOf<T>::kType;
  for (const Reduction reduction :
       {Reduction::kSum, Reduction::kProduct, Reduction::kMax, Reduction::kMin})
    for (std::size_t columns = 0; columns <= 70; ++columns)
      for (const std::size_t rows : {1u, 7u, 8u, 9u, 24u}) {
        std::vector<T> in(rows * columns), start(rows);
        for (T& x : start) x = static_cast<T>(random() % 5);
        for (T& x : in) {
          x = static_cast<T>(static_cast<double>(random() % 2000) / 700 -
                             (std::is_unsigned_v<T> ? 0 : 1));
          if (std::is_floating_point_v<T> && random() % 40 == 0) x = static_cast<T>(-0.0);
          if (std::is_floating_point_v<T> && rows == 9 && random() % 90 == 0)
            x = std::numeric_limits<T>::quiet_NaN();
        }
        std::vector<T> together = start, alone = start;
        row_reduce_kernel(reduction, type)(in.data(), rows, columns, together.data());
        for (std::size_t r = 0; r < rows; ++r)
          row_reduce_kernel(reduction, type)(in.data() + r * columns, 1, columns, &alone[r]);
        for (std::size_t r = 0; r < rows; ++r) {
          if (together[r] != together[r] && alone[r] != alone[r]) continue;
          ASSERT_EQ(std::memcmp(&together[r], &alone[r], sizeof(T)), 0)
              << name_of(type) << " " << rows << "x" << columns << " row " << r;
        }
        if (columns > 15) continue;
        for (std::size_t r = 0; r < rows; ++r) {
          T want = start[r];
          for (std::size_t c = 0; c < columns; ++c)
            want = from_first<T>(reduction, want, in[r * columns + c]);
          if (want != want && together[r] != together[r]) continue;
          ASSERT_EQ(std::memcmp(&together[r], &want, sizeof(T)), 0)
              << name_of(type) << " " << rows << "x" << columns << " row " << r;
        }
      }
}

TEST(RowReduce,
     rows_side_by_side_have_the_bits_of_rows_alone_and_short_ones_go_from_first_to_last) {
  check_rows_side_by_side<float>();
  check_rows_side_by_side<double>();
  check_rows_side_by_side<std::int32_t>();
  check_rows_side_by_side<std::int64_t>();
  check_rows_side_by_side<std::uint8_t>();
}

TEST(RowReduce, narrow_integers_wrap) {
  EXPECT_EQ(reduce<std::uint8_t>(Reduction::kSum, std::vector<std::uint8_t>(300, 1), 0), 300 % 256);
  EXPECT_EQ(reduce<std::int8_t>(Reduction::kProduct, {16, 17}, 1), static_cast<std::int8_t>(272));
}

TEST(RowReduce, predicates_combine) {
  EXPECT_EQ(reduce<std::uint8_t>(Reduction::kAll, {1, 1, 0}, 1), 0);
  EXPECT_EQ(reduce<std::uint8_t>(Reduction::kAll, {1, 1, 1}, 1), 1);
  EXPECT_EQ(reduce<std::uint8_t>(Reduction::kAny, {0, 0, 1}, 0), 1);
}

TEST(RowReduce, identities_are_the_bounds_of_the_type) {
  EXPECT_EQ(reduction_identity(Reduction::kMax, DType::s8).integer(), -128);
  EXPECT_EQ(reduction_identity(Reduction::kMin, DType::u2).integer(), 3);
  EXPECT_EQ(reduction_identity(Reduction::kMin, DType::u64).real(), 18446744073709551615.0);
  EXPECT_EQ(reduction_identity(Reduction::kMax, DType::f16).real(), -INFINITY);
}

TEST(RowReduce, types_without_a_meaning_have_no_kernel) {
  EXPECT_EQ(row_reduce_kernel(Reduction::kMax, DType::c64), nullptr);
  EXPECT_EQ(row_reduce_kernel(Reduction::kSum, DType::u4), nullptr);
  EXPECT_EQ(row_reduce_kernel(Reduction::kAll, DType::f32), nullptr);
}

std::vector<std::int32_t> arg(const std::vector<float>& in, Dims dims, ArgReduceSpec spec,
                              std::size_t count) {
  const auto kernel = prepare_arg_reduce({DType::f32, dims}, spec);
  std::vector<std::int32_t> out(count);
  const void* operands[] = {in.data()};
  void* results[] = {out.data()};
  kernel->run({operands, results, nullptr, nullptr, 1});
  return out;
}

TEST(ArgReduce, finds_the_index_along_any_axis) {
  const std::vector<float> in{4, 2, 3, 1, 5, 5};
  EXPECT_EQ(arg(in, {2, 3}, {1, true, false}, 2), (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(arg(in, {2, 3}, {1, true, true}, 2), (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(arg(in, {2, 3}, {0, false, false}, 3), (std::vector<std::int32_t>{1, 0, 0}));
}

TEST(ArgReduce, the_first_nan_wins) {
  EXPECT_EQ(arg({1, kNan, 9, kNan}, {4}, {0, true, false}, 1)[0], 1);
  EXPECT_EQ(arg({1, kNan, -9, kNan}, {4}, {0, false, true}, 1)[0], 1);
  EXPECT_EQ(arg({kNan, kNan}, {2}, {0, true, true}, 1)[0], 0);
}

}  // namespace
}  // namespace nx::kernels
