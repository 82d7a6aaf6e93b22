// Names of element types and the rules of type promotion.
#include "nx/dtype.h"

#include <algorithm>
#include <array>

namespace nx {
namespace {

constexpr std::array<std::string_view, kDTypeCount> kNames = {
    "u2", "u4",        "u8",   "u16", "u32", "u64", "s2", "s4",  "s8", "s16", "s32",
    "s64", "f8", "f8_e4m3fn", "bf16", "f16", "f32", "f64", "c64", "c128"};

DType integer_of(bool is_signed, int bits) {
  const int base = static_cast<int>(is_signed ? DType::s2 : DType::u2);
  int step = 0;
  while ((2 << step) < bits) ++step;
  return static_cast<DType>(base + step);
}

DType merge_integers(DType a, DType b) {
  if (is_unsigned(a) == is_unsigned(b)) return bits_of(a) >= bits_of(b) ? a : b;
  const DType u = is_unsigned(a) ? a : b;
  const DType s = is_unsigned(a) ? b : a;
  // A signed type that holds both needs one bit more than the unsigned one; 64 is the widest.
  return integer_of(true, std::min(64, std::max(bits_of(u) * 2, bits_of(s))));
}

DType merge_floats(DType a, DType b) {
  if (a == b) return a;
  if (bits_of(a) != bits_of(b)) return bits_of(a) > bits_of(b) ? a : b;
  return DType::f16;  // bf16 with f16, and f8 with f8_e4m3fn, in either order
}

}  // namespace

std::string_view name_of(DType type) noexcept { return kNames[static_cast<std::size_t>(type)]; }

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  if (at == kNames.end()) return std::nullopt;
  return static_cast<DType>(at - kNames.begin());
}

DType merge_types(DType a, DType b) noexcept {
  if (a == b) return a;
  if (is_integer(a) && is_integer(b)) return merge_integers(a, b);
  if (is_complex(a) || is_complex(b)) {
    const auto wide = [](DType t) { return t == DType::c128 || t == DType::f64; };
    return wide(a) || wide(b) ? DType::c128 : DType::c64;
  }
  if (is_integer(a)) return b;
  if (is_integer(b)) return a;
  return merge_floats(a, b);
}

}  // namespace nx
