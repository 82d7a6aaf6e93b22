// layer: core
// Element types, their sizes and kinds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "nx/config.h"

namespace nx {

/// Element types. `f8` is e5m2. Types below a byte take one byte an element in memory and are
/// packed only in files, `to_binary` and on XLA devices.
enum class DType : std::uint8_t {
  u2, u4, u8, u16, u32, u64,
  s2, s4, s8, s16, s32, s64,
  f8, f8_e4m3fn, bf16, f16, f32, f64,
  c64, c128,
};

inline constexpr int kDTypeCount = 20;

/// The type's name as printed and parsed, such as `f32`.
NX_API std::string_view name_of(DType type) noexcept;
/// The type of that name, or nothing.
NX_API std::optional<DType> dtype_from_name(std::string_view name) noexcept;

/// Bits of one element when packed: 2, 4, 8, … 128.
constexpr int bits_of(DType type) noexcept {
  constexpr int kBits[kDTypeCount] = {2, 4, 8,  16, 32, 64, 2,  4,  8,  16,
                                      32, 64, 8, 8,  16, 16, 32, 64, 64, 128};
  return kBits[static_cast<int>(type)];
}
/// Bytes of one element in memory (1 for types below a byte).
constexpr std::size_t byte_size_of(DType type) noexcept {
  const int bits = bits_of(type);
  return bits < 8 ? 1 : static_cast<std::size_t>(bits) / 8;
}
constexpr bool is_unsigned(DType t) noexcept { return t <= DType::u64; }
constexpr bool is_signed_integer(DType t) noexcept { return t >= DType::s2 && t <= DType::s64; }
constexpr bool is_integer(DType t) noexcept { return t <= DType::s64; }
constexpr bool is_float(DType t) noexcept { return t >= DType::f8 && t <= DType::f64; }
constexpr bool is_complex(DType t) noexcept { return t >= DType::c64; }
constexpr bool is_inexact(DType t) noexcept { return t >= DType::f8; }
constexpr bool is_subbyte(DType t) noexcept { return bits_of(t) < 8; }

/// The type both operands are computed in: Nx's rules (u8 + s8 -> s16, u64 + s* -> s64,
/// integer + float -> the float, bf16 + f16 -> f16, c64 + f64 -> c128).
NX_API DType merge_types(DType a, DType b) noexcept;
/// The float type an integer is promoted to by functions such as `sin`: f32; others stay.
constexpr DType to_inexact(DType t) noexcept { return is_inexact(t) ? t : DType::f32; }

}  // namespace nx
