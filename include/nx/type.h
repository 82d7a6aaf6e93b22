// layer: ops
// Element types: casts and reinterpretation; the type names as constructors.
#pragma once

#include "nx/tensor.h"

namespace nx {

/// The values in another element type. Floats become integers by truncation, modulo 2^n; NaN gives
/// 0, infinities the bounds of the type.
NX_API Tensor as_type(const Operand& x, DType type);
/// The same bits read as another type of the same width (ArgumentError for another width).
NX_API Tensor bitcast(const Operand& x, DType type);

/// A type's name: converts to DType, and makes tensors: `nx::u8(3)`, `nx::f32(x)`.
struct TypeName {
  DType type;
  constexpr operator DType() const noexcept { return type; }
  /// A number as a scalar (ArgumentError when it does not fit), a tensor cast to the type.
  NX_API Tensor operator()(const Operand& x) const;
};

inline constexpr TypeName u2{DType::u2}, u4{DType::u4}, u8{DType::u8}, u16{DType::u16},
    u32{DType::u32}, u64{DType::u64}, s2{DType::s2}, s4{DType::s4}, s8{DType::s8},
    s16{DType::s16}, s32{DType::s32}, s64{DType::s64}, f8{DType::f8},
    f8_e4m3fn{DType::f8_e4m3fn}, bf16{DType::bf16}, f16{DType::f16}, f32{DType::f32},
    f64{DType::f64}, c64{DType::c64}, c128{DType::c128};

}  // namespace nx
