// Weak numbers: which element type they become, alone and beside a tensor.
#include "nx/number.h"

#include <fmt/format.h>

namespace nx {

std::string Number::to_string() const {
  switch (kind_) {
    case Kind::kInteger: return fmt::format("{}", i_);
    case Kind::kUnsigned: return fmt::format("{}", static_cast<std::uint64_t>(i_));
    case Kind::kFloat: return fmt::format("{}", f_);
    case Kind::kComplex: break;
  }
  return fmt::format("{}{:+}i", f_, imag_);
}

bool fits(const Number& number, DType type) noexcept {
  if (!number.is_integer() || is_inexact(type)) return true;
  const int bits = bits_of(type);
  if (number.kind() == Number::Kind::kUnsigned) return type == DType::u64;
  const std::int64_t value = number.integer();
  if (is_unsigned(type))
    return value >= 0 && (bits == 64 || static_cast<std::uint64_t>(value) >> bits == 0);
  if (bits == 64) return true;
  const std::int64_t half = std::int64_t{1} << (bits - 1);
  return value >= -half && value < half;
}

DType default_type(const Number& number) noexcept {
  switch (number.kind()) {
    case Number::Kind::kInteger: return fits(number, DType::s32) ? DType::s32 : DType::s64;
    case Number::Kind::kUnsigned: return DType::u64;
    case Number::Kind::kFloat: return DType::f32;
    case Number::Kind::kComplex: break;
  }
  return DType::c64;
}

DType merge_with_number(DType type, const Number& number) noexcept {
  if (number.kind() == Number::Kind::kComplex)
    return is_complex(type) ? type : merge_types(type, DType::c64);
  if (is_inexact(type)) return type;
  if (number.kind() == Number::Kind::kFloat) return DType::f32;
  if (fits(number, type)) return type;
  // The narrowest type of the number's own sign that holds it, merged as two tensors would be.
  const bool negative = number.kind() == Number::Kind::kInteger && number.integer() < 0;
  const bool is_signed = negative || is_signed_integer(type);
  DType own = is_signed ? DType::s2 : DType::u2;
  const DType widest = is_signed ? DType::s64 : DType::u64;
  while (own != widest && !fits(number, own)) own = static_cast<DType>(static_cast<int>(own) + 1);
  return merge_types(type, own);
}

}  // namespace nx
