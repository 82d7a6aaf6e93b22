// Powers of f32: special values, squares and exact powers to the bit, others to 0.501 units in the
// last place, the same bits on every SIMD target of this machine.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "graph/op_row.h"
#include "ops/binary.h"
#include "ops/targets.h"

namespace nx {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Powers {
  std::vector<float> x, y;
  void add(float base, float exponent) {
    x.push_back(base);
    y.push_back(exponent);
  }
  std::vector<float> computed() const {
    const DType types[2] = {DType::f32, DType::f32};
    const auto kernel = ops::kPow.host_as<graph::ElementwiseRule>()->kernel({types, 2}, DType::f32);
    std::vector<float> out(x.size());
    const void* const in[] = {x.data(), y.data()};
    kernel({in, out.data(), out.size(), nullptr});
    return out;
  }
};

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

/// Compares all powers, on every target, with `expected(x, y)`.
template <class F>
void expect_bits(const Powers& powers, F&& expected) {
  on_every_target([&](const char* target) {
    const std::vector<float> got = powers.computed();
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float want = expected(powers.x[i], powers.y[i]);
      ASSERT_TRUE(same(got[i], want)) << powers.x[i] << " to the power of " << powers.y[i] << " is "
                                      << got[i] << ", expected " << want << ", on " << target;
    }
  });
}

float by_c_library(float x, float y) { return std::pow(x, y); }

/// Numbers of any exponent, and ordinary ones more often.
float any_number(std::mt19937& random) {
  if (random() % 2) return std::normal_distribution<float>(0, 3)(random);
  const auto bits = static_cast<std::uint32_t>(random());
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

TEST(Pow, special_values_are_those_of_the_c_library) {
  const float numbers[] = {0,       0.5f,      1,        2,           3,
                           4,       5,         127,      128,         149,
                           150,     151,       8388607,  1e-45f,      1e-40f,
                           1e-20f,  1e20f,     1.5f,     0.33333f,    1e38f,
                           8388609, 16777215,  16777216, 3e9f,        3.4028235e38f,
                           2.5f,    kInfinity, NAN,      0.99999994f, 1.0000001f};
  Powers special;
  for (const float x : numbers)
    for (const float y : numbers)
      for (const float a : {x, -x})
        for (const float b : {y, -y}) {
          const float power = std::pow(a, b);
          const float size = std::fabs(power);
          if (size == 0 || size == 1 || !std::isfinite(power)) special.add(a, b);
        }
  EXPECT_GE(special.x.size(), 1500u);
  expect_bits(special, by_c_library);
}

TEST(Pow, squares_are_correctly_rounded) {
  Powers squares;
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) squares.add(any_number(random), 2);
  // Beside other exponents too.
  for (int i = 0; i < 20000; ++i) squares.add(any_number(random), i % 3 == 0 ? 0.f : 2.f);
  expect_bits(squares, [](float x, float y) { return y == 0 ? 1 : x * x; });
}

TEST(Pow, exact_powers_round_as_exact_and_ties_to_even) {
  Powers exact;
  for (std::int64_t base = 2; base < 6000; ++base) {
    std::int64_t power = base;
    for (int n = 1; power < (std::int64_t{1} << 27); ++n, power *= base) {
      const auto x = static_cast<float>(base);
      exact.add(x, static_cast<float>(n));
      exact.add(-x, static_cast<float>(n));
      const std::int64_t square = base * base;
      if (square < (1 << 24)) exact.add(static_cast<float>(square), static_cast<float>(n) / 2);
      if (square * square < (1 << 24))
        exact.add(static_cast<float>(square * square), static_cast<float>(n) / 4);
    }
  }
  expect_bits(exact, [](float x, float y) {
    return static_cast<float>(std::pow(static_cast<long double>(x), static_cast<long double>(y)));
  });
}

TEST(Pow, powers_of_two_are_exact_down_to_the_subnormal_ones) {
  Powers powers;
  for (int n = -160; n <= 130; ++n) powers.add(2, static_cast<float>(n));
  for (int n = -160; n <= 130; ++n) powers.add(0.25f, static_cast<float>(n) / 2);
  expect_bits(powers, [](float x, float y) {
    return static_cast<float>(std::exp2(x == 2 ? static_cast<double>(y) : -2.0 * y));
  });
}

/// Units in the last place of f32 around a value.
double unit_of(double value) {
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

TEST(Pow, is_correct_to_half_a_unit_and_has_the_same_bits_on_every_target) {
  Powers powers;
  std::mt19937 random(2);
  for (int i = 0; i < 400000; ++i) {
    const float x = any_number(random), y = any_number(random);
    powers.add(x, i % 2 ? std::round(y) : y);
    powers.add(std::fabs(x), y / (1 + std::fabs(std::log2(std::fabs(x)))));  // in the range of f32
    powers.add(1 + std::ldexp(x, -20), std::ldexp(y, 18));
  }
  std::vector<float> first;
  on_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const std::vector<float> got = powers.computed();
    if (first.empty()) first = got;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double want = std::pow(static_cast<double>(powers.x[i]), powers.y[i]);
      const auto rounded = static_cast<float>(want);
      ASSERT_TRUE(same(got[i], first[i])) << powers.x[i] << " to the power of " << powers.y[i];
      if (std::isnan(want) || std::isinf(rounded) || std::isinf(got[i])) {
        ASSERT_TRUE(same(got[i], rounded)) << powers.x[i] << " to the power of " << powers.y[i];
      } else {
        ASSERT_LE(std::abs(got[i] - want) / unit_of(want), 0.501)
            << powers.x[i] << " to the power of " << powers.y[i];
      }
    }
  });
}

TEST(Pow, a_power_does_not_depend_on_its_neighbours) {
  std::mt19937 random(3);
  Powers all;
  for (int i = 0; i < 200; ++i) all.add(any_number(random), static_cast<float>(i % 7 - 2));
  on_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const std::vector<float> together = all.computed();
    for (std::size_t i = 0; i < together.size(); ++i)
      for (const std::size_t count : {1u, 5u, 19u}) {
        Powers copies;
        for (std::size_t k = 0; k < count; ++k) copies.add(all.x[i], all.y[i]);
        for (const float value : copies.computed()) ASSERT_TRUE(same(value, together[i]));
      }
  });
}

}  // namespace
}  // namespace nx
