// The layer above the elementwise rows: types, broadcasting, names, vectorised axes, errors, and
// the values that surprise.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nx/creation.h"
#include "nx/grad.h"
#include "nx/jit.h"
#include "nx/operators.h"
#include "nx/reduce.h"
#include "nx/type.h"

namespace nx {
namespace {

template <class T>
std::vector<T> list(const Tensor& t) { return t.to_flat_list<T>(); }

using Ints = std::vector<std::int64_t>;
using Floats = std::vector<double>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Elementwise, NumbersAreWeak) {
  const Tensor x = tensor({1, 2, 3}, {.type = u8});
  EXPECT_EQ((x + 1).type(), DType::u8);
  EXPECT_EQ((x + 300).type(), DType::u16);
  EXPECT_EQ((x + -1).type(), DType::s16);
  EXPECT_EQ((x + 1.5).type(), DType::f32);
  EXPECT_EQ((x / 2).type(), DType::f32);
  EXPECT_EQ(add(1, 2).type(), DType::s32);
}

TEST(Elementwise, IntegersWrap) {
  const Tensor x = tensor({250, 5}, {.type = u8});
  EXPECT_EQ(list<std::int64_t>(x + 10), (Ints{4, 15}));
  EXPECT_EQ(list<std::int64_t>(-x), (Ints{6, 251}));
  const Tensor low = tensor({-128}, {.type = s8});
  EXPECT_EQ(list<std::int64_t>(quotient(low, tensor({-1}, {.type = s8}))), (Ints{-128}));
  EXPECT_EQ(list<std::int64_t>(abs(low)), (Ints{-128}));
}

TEST(Elementwise, ShapesBroadcastFromTheRight) {
  const Tensor a = tensor({{1, 2, 3}, {4, 5, 6}}), b = tensor({10, 20, 30}), c = tensor({{100}, {200}});
  EXPECT_EQ(list<std::int64_t>(a + b), (Ints{11, 22, 33, 14, 25, 36}));
  EXPECT_EQ(list<std::int64_t>(a + c), (Ints{101, 102, 103, 204, 205, 206}));
  EXPECT_EQ(list<std::int64_t>(b + c), (Ints{110, 120, 130, 210, 220, 230}));
  EXPECT_THROW(a + tensor({1, 2}), ShapeError);
}

TEST(Elementwise, NamesMergeOrRefuse) {
  const Tensor a = tensor({{1, 2}, {3, 4}}, {.names = {"x", "y"}});
  const Tensor b = tensor({1, 2}, {.names = {"y"}});
  EXPECT_EQ((a + b).names(), a.names());
  EXPECT_EQ((tensor({{1, 2}, {3, 4}}) + b).names()[1], Name("y"));
  EXPECT_THROW(a + tensor({1, 2}, {.names = {"x"}}), ShapeError);
}

TEST(Elementwise, SelectTakesThePredicatesNames) {
  const Tensor p = tensor({1, 0}, {.type = u8, .names = {"p"}});
  const Tensor a = tensor({1, 2}, {.names = {"a"}}), b = tensor({3, 4}, {.names = {"b"}});
  const Tensor y = select(p, a, b);
  EXPECT_EQ(y.names()[0], Name("p"));
  EXPECT_EQ(list<std::int64_t>(y), (Ints{1, 4}));
}

TEST(Elementwise, NanCountsAsTrue) {
  const Tensor x = tensor({std::nan(""), 0.0, 2.0});
  EXPECT_EQ(list<std::int64_t>(select(x, 1, 2)), (Ints{1, 2, 1}));
  EXPECT_EQ(list<std::int64_t>(logical_and(x, 1)), (Ints{1, 0, 1}));
  EXPECT_EQ(list<std::int64_t>(!x), (Ints{0, 1, 0}));
}

TEST(Elementwise, SignedAndUnsigned64AreComparedExactly) {
  const Tensor big = tensor({std::uint64_t{18446744073709551615u}, std::uint64_t{3}}, {.type = u64});
  const Tensor small = tensor({-1, 3}, {.type = s64});
  EXPECT_EQ(list<std::int64_t>(equal(big, small)), (Ints{0, 1}));
  EXPECT_EQ(list<std::int64_t>(less(small, big)), (Ints{1, 0}));
  EXPECT_EQ(list<std::int64_t>(greater(small, big)), (Ints{0, 0}));
  EXPECT_EQ(list<std::int64_t>(greater_equal(big, -1)), (Ints{1, 1}));
  EXPECT_EQ(list<std::int64_t>(not_equal(big, -1)), (Ints{1, 1}));
}

TEST(Elementwise, ShiftsByTheWidthOrMoreLeaveNothingButTheSign) {
  const Tensor x = tensor({1, -128, 127}, {.type = s8});
  EXPECT_EQ(list<std::int64_t>(x << 8), (Ints{0, 0, 0}));
  EXPECT_EQ(list<std::int64_t>(x >> 63), (Ints{0, -1, 0}));
  EXPECT_THROW(x << tensor({1, -1, 1}, {.type = s8}), ArgumentError);
}

TEST(Elementwise, IntegerDivisionByZeroIsAnErrorInEagerCode) {
  EXPECT_THROW(quotient(tensor({1, 2}), tensor({1, 0})), ArgumentError);
  EXPECT_THROW(remainder(tensor({1, 2}), 0), ArgumentError);
  EXPECT_EQ(list<double>(tensor({1.0, -1.0}) / tensor({0.0, 0.0})), (Floats{kInfinity, -kInfinity}));
}

TEST(Elementwise, IntegerDivisionByZeroIsZeroInCompiledCode) {
  const auto f = jit([](Tensor a, Tensor b) { return std::pair(quotient(a, b), remainder(a, b)); });
  const auto [q, r] = f(tensor({7, -7}), tensor({0, 2}));
  EXPECT_EQ(list<std::int64_t>(q), (Ints{0, -3}));
  EXPECT_EQ(list<std::int64_t>(r), (Ints{7, -1}));
}

TEST(Elementwise, FloatsBecomeIntegersByTruncationModulo2N) {
  const Tensor x = tensor({-1.9, 300.5, std::nan(""), kInfinity, -kInfinity, 4294967297.0},
                          {.type = f64});
  EXPECT_EQ(list<std::int64_t>(as_type(x, u8)), (Ints{255, 44, 0, 255, 0, 1}));
  EXPECT_EQ(list<std::int64_t>(as_type(x, s32)), (Ints{-1, 300, 0, 2147483647, -2147483648, 1}));
}

TEST(Elementwise, HalvesRoundAwayFromZero) {
  const Tensor x = tensor({-2.5, -0.5, -0.3, 0.5, 1.5, 0.49999997, 8388609.0});
  EXPECT_EQ(list<double>(round(x)), (Floats{-3, -1, -0.0, 1, 2, 0, 8388609}));
}

TEST(Elementwise, ExtremaKeepNan) {
  const Tensor x = tensor({std::nan(""), 1.0}), y = tensor({1.0, std::nan("")});
  for (const double v : list<double>(max(x, y))) EXPECT_TRUE(std::isnan(v));
  for (const double v : list<double>(min(x, y))) EXPECT_TRUE(std::isnan(v));
}

TEST(Elementwise, ClipPutsTheUpperBoundLast) {
  EXPECT_EQ(list<std::int64_t>(clip(tensor({1, 2, 3}), 3, 1)), (Ints{1, 1, 1}));
  EXPECT_EQ(clip(tensor({1, 2}, {.type = u8}), 1, 3).type(), DType::s32);
}

TEST(Elementwise, BitsTakeIntegersOnly) {
  EXPECT_THROW(bitwise_and(tensor({1.0}), 1), DTypeError);
  EXPECT_THROW(population_count(1.5), DTypeError);
  EXPECT_EQ(list<std::int64_t>(tensor({12}) & 6), (Ints{4}));
}

TEST(Elementwise, GradientsOfTiesAreShared) {
  const auto f = [](Tensor x) { return sum(max(x, 0)); };
  EXPECT_EQ(list<double>(grad(f)(tensor({-1.0, 0.0, 2.0}))), (Floats{0, 0.5, 1}));
  const auto size = [](Tensor x) { return sum(abs(x)); };
  EXPECT_EQ(list<double>(grad(size)(tensor({-1.0, 0.0, 2.0}))), (Floats{-1, 1, 1}));
}

TEST(Elementwise, ErrorsNameTheOperationAndTheCallersLine) {
  try {
    add(tensor({1, 2}), tensor({1, 2, 3}));
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.operation(), "add");
    EXPECT_NE(std::string(error.where().file).find("elementwise_test.cpp"), std::string::npos);
  }
}

}  // namespace
}  // namespace nx
