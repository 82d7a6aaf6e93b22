// Quotients and remainders of integers: to the bit, on every SIMD target, by many divisors and by one.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "graph/op_row.h"
#include "nx/element.h"
#include "ops/binary.h"
#include "ops/targets.h"

namespace nx {
namespace {

using kernels::KernelError;
using kernels::KernelStatus;

template <class T>
struct Division {
  std::vector<T> quotients, remainders;
  KernelError errors[2];
};

template <class T>
Division<T> divide(const std::vector<T>& a, const std::vector<T>& b, bool in_place = false) {
  const DType type = DTypeOf<T>::kType;
  const DType types[2] = {type, type};
  Division<T> result{b, b, {}};
  for (const bool remainder : {false, true}) {
    const graph::OpRow& row = remainder ? ops::kRemainder : ops::kQuotient;
    std::vector<T>& out = remainder ? result.remainders : result.quotients;
    const void* const in[2] = {a.data(), in_place ? out.data() : b.data()};
    KernelStatus status;
    row.host_as<graph::ElementwiseRule>()->kernel({types, 2}, type)(
        {in, out.data(), a.size(), &status});
    result.errors[remainder] = status.error();
  }
  return result;
}

/// In integers that hold every value of T and its negative.
template <class T>
T expected(T a, T b, bool remainder) {
  if (b == 0) return remainder ? a : T{0};
  const __int128 x = a, y = b;
  return static_cast<T>(remainder ? x % y : x / y);
}

template <class T>
void check(const std::vector<T>& a, const std::vector<T>& b, const char* target,
           bool in_place = false) {
  const Division<T> got = divide(a, b, in_place);
  bool by_zero = false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    by_zero |= b[i] == 0;
    const std::string what = std::string(target) + ": " + std::to_string(a[i]) + " / " +
                             std::to_string(b[i]) + " at " + std::to_string(i) + " of " +
                             std::to_string(a.size());
    ASSERT_EQ(got.quotients[i], expected(a[i], b[i], false)) << what;
    ASSERT_EQ(got.remainders[i], expected(a[i], b[i], true)) << what;
  }
  for (const KernelError error : got.errors)
    ASSERT_EQ(error, by_zero ? KernelError::kDivisionByZero : KernelError::kNone) << target;
}

/// The ends of the type, small numbers, and what lies around powers of two.
template <class T>
std::vector<T> special_numbers() {
  std::vector<T> list;
  const auto add = [&](std::uint64_t x) {
    for (const std::uint64_t d : {-1, 0, 1}) {
      list.push_back(static_cast<T>(x + d));
      list.push_back(static_cast<T>(0 - x - d));
    }
  };
  add(0);
  add(7);
  for (std::size_t bit = 1; bit < 8 * sizeof(T); ++bit) add(std::uint64_t{1} << bit);
  add(std::uint64_t{0x5555555555555555u});
  return list;
}

/// Numbers beside multiples of b, where a quotient that was rounded up would show.
template <class T>
std::vector<T> beside_multiples(T b) {
  std::vector<T> list = special_numbers<T>();
  std::uint64_t seed = static_cast<std::uint64_t>(b) * 2654435761u + 12345;
  for (int i = 0; i < 40; ++i) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const T random = static_cast<T>(seed >> 29);
    const T multiple = static_cast<T>(random - expected(random, b, true));
    for (const int d : {-1, 0, 1}) list.push_back(static_cast<T>(multiple + static_cast<T>(d)));
  }
  return list;
}

template <class T>
class IntegerDivision : public testing::Test {};
using Integers = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t,
                                std::int32_t, std::uint32_t, std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerDivision, Integers);

TYPED_TEST(IntegerDivision, EverySpecialPairIsExactByManyDivisorsAndByOne) {
  using T = TypeParam;
  on_every_target([](const char* target) {
    for (const T b : special_numbers<T>()) {
      const std::vector<T> a = beside_multiples(b);
      check(a, std::vector<T>(a.size(), b), target);
      std::vector<T> divisors(a.size(), b);
      divisors.back() = 3;
      check(a, divisors, target);
    }
  });
}

TYPED_TEST(IntegerDivision, EveryDivisorOf16BitsIsExact) {
  using T = TypeParam;
  on_every_target([](const char* target) {
    for (int i = 1; i < 65536; i += sizeof(T) == 1 ? 257 : 7) {
      const T b = static_cast<T>(i);
      const std::vector<T> a = beside_multiples(b);
      check(a, std::vector<T>(a.size(), b), target);
    }
  });
}

TYPED_TEST(IntegerDivision, EveryLengthIsWholeAndMayLieOnTheDivisors) {
  using T = TypeParam;
  on_every_target([](const char* target) {
    const std::vector<T> numbers = special_numbers<T>();
    for (std::size_t count = 0; count <= 70; ++count)
      for (const bool one : {false, true}) {
        std::vector<T> a, b;
        for (std::size_t i = 0; i < count; ++i) {
          a.push_back(numbers[i * 5 % numbers.size()]);
          b.push_back(one ? T{7} : numbers[(i * 3 + count) % numbers.size()]);
        }
        for (const bool in_place : {false, true}) check(a, b, target, in_place);
      }
  });
}

TYPED_TEST(IntegerDivision, AZeroAtAnyPlaceIsTold) {
  using T = TypeParam;
  on_every_target([](const char* target) {
    for (std::size_t place = 0; place < 70; ++place) {
      std::vector<T> b(70, T{7});
      check(std::vector<T>(70, T{100}), b, target);
      b[place] = 0;
      check(std::vector<T>(70, T{100}), b, target);
    }
  });
}

}  // namespace
}  // namespace nx
