// layer: core
// The C++ types of elements in memory, for the types C++ has no name for.
#pragma once

#include <bit>
#include <complex>
#include <cstdint>

#include "nx/config.h"
#include "nx/dtype.h"

namespace nx {

namespace detail {
/// Rounds f32 bits to a float of `exponent` and `mantissa` bits, to nearest even. With
/// `has_infinity` overflow gives it; else (e4m3fn) it saturates to the largest finite value.
NX_API std::uint32_t round_float_bits(float value, int exponent, int mantissa, bool has_infinity);
NX_API float expand_float_bits(std::uint32_t bits, int exponent, int mantissa, bool has_infinity);
}  // namespace detail

/// A float kept in few bits; computed with as f32. Conversion to it rounds to nearest even.
template <class Bits, int kExponent, int kMantissa, bool kHasInfinity>
struct SmallFloat {
  Bits bits = 0;
  SmallFloat() = default;
  SmallFloat(float value)
      : bits(static_cast<Bits>(
            detail::round_float_bits(value, kExponent, kMantissa, kHasInfinity))) {}
  operator float() const {
    return detail::expand_float_bits(bits, kExponent, kMantissa, kHasInfinity);
  }
  static SmallFloat from_bits(Bits bits) {
    SmallFloat value;
    value.bits = bits;
    return value;
  }
};

using Float16 = SmallFloat<std::uint16_t, 5, 10, true>;
using Float8E5M2 = SmallFloat<std::uint8_t, 5, 2, true>;
using Float8E4M3 = SmallFloat<std::uint8_t, 4, 3, false>;

/// bf16: the upper half of an f32.
struct BFloat16 {
  std::uint16_t bits = 0;
  BFloat16() = default;
  BFloat16(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    if ((all & 0x7fffffffu) > 0x7f800000u) {
      bits = static_cast<std::uint16_t>((all >> 16) | 0x40u);  // a NaN stays one
    } else {
      bits = static_cast<std::uint16_t>((all + 0x7fffu + ((all >> 16) & 1u)) >> 16);
    }
  }
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

/// Calls `f` with a value-initialised element of the C++ type that holds `type` in memory
/// (u2 and u4 are in `uint8_t`, s2 and s4 in `int8_t`).
template <class F>
decltype(auto) visit_element(DType type, F&& f) {
  switch (type) {
    case DType::u2: case DType::u4: case DType::u8: return f(std::uint8_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u64: return f(std::uint64_t{});
    case DType::s2: case DType::s4: case DType::s8: return f(std::int8_t{});
    case DType::s16: return f(std::int16_t{});
    case DType::s32: return f(std::int32_t{});
    case DType::s64: return f(std::int64_t{});
    case DType::f8: return f(Float8E5M2{});
    case DType::f8_e4m3fn: return f(Float8E4M3{});
    case DType::bf16: return f(BFloat16{});
    case DType::f16: return f(Float16{});
    case DType::f32: return f(float{});
    case DType::f64: return f(double{});
    case DType::c64: return f(std::complex<float>{});
    case DType::c128: break;
  }
  return f(std::complex<double>{});
}

/// The element type of a C++ type, for `span`s and `vector`s given as data.
template <class T> struct DTypeOf;
#define NX_DTYPE_OF_(Type, value) \
  template <> struct DTypeOf<Type> { static constexpr DType kType = DType::value; }
NX_DTYPE_OF_(std::uint8_t, u8);
NX_DTYPE_OF_(std::uint16_t, u16);
NX_DTYPE_OF_(std::uint32_t, u32);
NX_DTYPE_OF_(std::uint64_t, u64);
NX_DTYPE_OF_(std::int8_t, s8);
NX_DTYPE_OF_(std::int16_t, s16);
NX_DTYPE_OF_(std::int32_t, s32);
NX_DTYPE_OF_(std::int64_t, s64);
NX_DTYPE_OF_(Float8E5M2, f8);
NX_DTYPE_OF_(Float8E4M3, f8_e4m3fn);
NX_DTYPE_OF_(BFloat16, bf16);
NX_DTYPE_OF_(Float16, f16);
NX_DTYPE_OF_(float, f32);
NX_DTYPE_OF_(double, f64);
NX_DTYPE_OF_(std::complex<float>, c64);
NX_DTYPE_OF_(std::complex<double>, c128);
#undef NX_DTYPE_OF_

}  // namespace nx
