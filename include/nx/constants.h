// layer: ops
// Numbers with a type: `nx::constants::pi()`, `nx::constants::epsilon(nx::f64)`.
#pragma once

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx::constants {

NX_API Tensor e(DType type = DType::f32);
NX_API Tensor pi(DType type = DType::f32);
NX_API Tensor euler_gamma(DType type = DType::f32);
/// The imaginary unit.
NX_API Tensor i(DType type = DType::c64);
NX_API Tensor infinity(DType type = DType::f32);
NX_API Tensor neg_infinity(DType type = DType::f32);
NX_API Tensor nan(DType type = DType::f32);
/// The largest and smallest value: infinities for floats.
NX_API Tensor max(DType type);
NX_API Tensor min(DType type);
NX_API Tensor max_finite(DType type);
NX_API Tensor min_finite(DType type);
/// The step from 1 to the next number.
NX_API Tensor epsilon(DType type = DType::f32);
NX_API Tensor smallest_positive_normal(DType type = DType::f32);

}  // namespace nx::constants
