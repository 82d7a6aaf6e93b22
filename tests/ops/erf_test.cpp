// erf of f32: within a unit in the last place of the C library's, odd and rising, the same bits on
// every SIMD target of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "graph/op_row.h"
#include "ops/targets.h"
#include "ops/unary.h"

namespace nx {
namespace {

std::vector<float> erf_of(const std::vector<float>& x) {
  const DType type = DType::f32;
  const auto kernel = ops::kErf.host_as<graph::ElementwiseRule>()->kernel({&type, 1}, type);
  std::vector<float> out(x.size());
  const void* const in[] = {x.data()};
  kernel({in, out.data(), out.size(), nullptr});
  return out;
}

/// Every 1009th f32 from 0 to 5, in order.
std::vector<float> rising_numbers() {
  std::vector<float> x;
  for (std::uint32_t bits = 0;; bits += 1009) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    if (value > 5) return x;
    x.push_back(value);
  }
}

TEST(Erf, is_within_one_unit_in_the_last_place_and_rises) {
  const std::vector<float> x = rising_numbers();
  ASSERT_GE(x.size(), 1000000u);
  on_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const std::vector<float> got = erf_of(x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = std::erf(static_cast<double>(x[i]));
      int exponent = 0;
      std::frexp(want, &exponent);
      const double unit = std::ldexp(1.0, std::clamp(exponent, -125, 0) - 24);
      ASSERT_LE(std::abs(got[i] - want), unit) << "of " << x[i];
      ASSERT_GE(got[i], i == 0 ? 0 : got[i - 1]) << "of " << x[i];
    }
  });
}

TEST(Erf, is_odd_and_has_the_same_bits_on_every_target_and_at_every_length) {
  const std::vector<float> x = rising_numbers();
  std::vector<float> negative = x, first;
  for (float& value : negative) value = -value;
  on_every_target([&](const char* target) {
    SCOPED_TRACE(target);
    const std::vector<float> got = erf_of(x), opposite = erf_of(negative);
    if (first.empty()) first = got;
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(got[i], first[i]) << "of " << x[i];
      ASSERT_EQ(got[i], -opposite[i]) << "of " << x[i];
      ASSERT_TRUE(std::signbit(opposite[i])) << "of " << x[i];
      if (i % 10007 == 0) ASSERT_EQ(erf_of({x[i]})[0], got[i]) << "of " << x[i];
    }
  });
}

TEST(Erf, of_infinities_is_one_and_of_nan_nan) {
  const float infinity = std::numeric_limits<float>::infinity();
  on_every_target([&](const char*) {
    const std::vector<float> got =
        erf_of({infinity, -infinity, NAN, std::numeric_limits<float>::max(), 4, -1e-45f});
    EXPECT_EQ(got[0], 1);
    EXPECT_EQ(got[1], -1);
    EXPECT_TRUE(std::isnan(got[2]));
    EXPECT_EQ(got[3], 1);
    EXPECT_EQ(got[4], 1);
    EXPECT_EQ(got[5], -1e-45f);
  });
}

}  // namespace
}  // namespace nx
