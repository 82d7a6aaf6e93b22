// layer: core
// A plain number as operations take it: it has a kind but no element type of its own ("weak").
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>

#include "nx/config.h"
#include "nx/dtype.h"

namespace nx {

namespace detail {
template <class T>
inline constexpr bool is_char_v =
    std::is_same_v<T, char> || std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
    std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;
/// Numbers that may stand for a tensor. bool and char are refused: they are nearly always slips.
template <class T>
concept PlainNumber = (std::is_integral_v<T> || std::is_floating_point_v<T>) &&
                      !std::is_same_v<T, bool> && !is_char_v<T>;
}  // namespace detail

class NX_API Number {
 public:
  enum class Kind : std::uint8_t { kInteger, kUnsigned, kFloat, kComplex };

  constexpr Number() noexcept : i_(0) {}
  template <detail::PlainNumber T>
  constexpr Number(T value) noexcept : i_(0) {
    if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::kFloat;
      f_ = static_cast<double>(value);
    } else if constexpr (std::is_unsigned_v<T>) {
      // Kept as signed when it fits, so that 1u and 1 are one number.
      kind_ = static_cast<std::uint64_t>(value) >> 63 ? Kind::kUnsigned : Kind::kInteger;
      i_ = static_cast<std::int64_t>(value);
    } else {
      i_ = static_cast<std::int64_t>(value);
    }
  }
  template <class T>
  constexpr Number(std::complex<T> value) noexcept
      : kind_(Kind::kComplex), f_(static_cast<double>(value.real())),
        imag_(static_cast<double>(value.imag())) {}

  constexpr Kind kind() const noexcept { return kind_; }
  constexpr bool is_integer() const noexcept { return kind_ <= Kind::kUnsigned; }
  /// The bits of an integer; for kUnsigned read them as u64.
  constexpr std::int64_t integer() const noexcept { return i_; }
  constexpr double real() const noexcept {
    if (kind_ == Kind::kInteger) return static_cast<double>(i_);
    if (kind_ == Kind::kUnsigned) return static_cast<double>(static_cast<std::uint64_t>(i_));
    return f_;
  }
  constexpr double imag() const noexcept { return imag_; }
  std::string to_string() const;
  /// Equal in kind and to the bit (NaN equals itself, -0.0 is not 0.0).
  friend bool operator==(const Number& a, const Number& b) noexcept {
    return a.kind_ == b.kind_ && a.i_ == b.i_ &&
           __builtin_memcmp(&a.imag_, &b.imag_, sizeof(double)) == 0;
  }

 private:
  Kind kind_ = Kind::kInteger;
  union {
    std::int64_t i_;
    double f_;
  };
  double imag_ = 0;
};

/// The type a number alone becomes as a tensor: s32 (s64 or u64 when it does not fit), f32, c64.
NX_API DType default_type(const Number& number) noexcept;
/// The type of an operation between a tensor of `type` and this number: Nx's weak rule
/// (u8 with 1 stays u8, u8 with 300 is u16, u8 with -1 is s16, integers with 1.5 are f32).
NX_API DType merge_with_number(DType type, const Number& number) noexcept;
/// Whether an integer number is representable in an integer type (true for inexact types).
NX_API bool fits(const Number& number, DType type) noexcept;

}  // namespace nx
