// Rounding and expanding of floats narrower than f32 (IEEE 754-2019 binary16 and the OCP 8-bit
// formats e5m2 and e4m3fn).
#include "nx/element.h"

#include <cmath>

namespace nx::detail {

std::uint32_t round_float_bits(float value, int exponent, int mantissa, bool has_infinity) {
  const auto all = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (all >> 31) << (exponent + mantissa);
  const std::uint32_t magnitude = all & 0x7fffffffu;
  const std::uint32_t exponent_mask = ((1u << exponent) - 1u) << mantissa;
  const std::uint32_t mantissa_mask = (1u << mantissa) - 1u;
  if (magnitude > 0x7f800000u)  // NaN: quiet for IEEE formats, all ones for e4m3fn
    return sign | exponent_mask | (has_infinity ? 1u << (mantissa - 1) : mantissa_mask);
  const std::uint32_t largest =
      has_infinity ? exponent_mask : (exponent_mask | (mantissa_mask - 1u));
  if (magnitude == 0x7f800000u) return sign | largest;

  const int bias = (1 << (exponent - 1)) - 1;
  const int e = static_cast<int>(magnitude >> 23) - 127 + bias;
  std::uint64_t significand = magnitude & 0x7fffffu;
  int drop = 23 - mantissa;
  std::uint32_t result = 0;
  if (e >= 1) {
    significand |= static_cast<std::uint64_t>(e) << 23;  // a carry runs into the exponent
  } else {
    if (magnitude >> 23 == 0) return sign;  // f32 subnormals are below half of every smallest one
    significand |= 0x800000u;
    drop += 1 - e;
    if (drop > 40) return sign;
  }
  const std::uint64_t half = std::uint64_t{1} << (drop - 1);
  const std::uint64_t rest = significand & ((half << 1) - 1);
  std::uint64_t rounded = significand >> drop;
  if (rest > half || (rest == half && (rounded & 1u))) ++rounded;
  result = rounded > largest ? largest : static_cast<std::uint32_t>(rounded);
  return sign | result;
}

float expand_float_bits(std::uint32_t bits, int exponent, int mantissa, bool has_infinity) {
  const std::uint32_t sign = (bits >> (exponent + mantissa)) & 1u;
  const int e = static_cast<int>((bits >> mantissa) & ((1u << exponent) - 1u));
  const std::uint32_t m = bits & ((1u << mantissa) - 1u);
  const int top = (1 << exponent) - 1;
  const int bias = (1 << (exponent - 1)) - 1;
  float value;
  if (e == top && has_infinity) {
    value = m ? NAN : INFINITY;
  } else if (e == top && m == (1u << mantissa) - 1u) {
    value = NAN;
  } else if (e == 0) {
    value = std::ldexp(static_cast<float>(m), 1 - bias - mantissa);
  } else {
    value = std::ldexp(static_cast<float>(m | (1u << mantissa)), e - bias - mantissa);
  }
  return sign ? -value : value;
}

}  // namespace nx::detail
