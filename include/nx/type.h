// layer: ops
// Element types: casts and reinterpretation. The type names as constructors: nx/creation.h.
#pragma once

#include "nx/tensor.h"

namespace nx {

/// The values in another element type. Floats become integers by truncation, modulo 2^n; NaN gives
/// 0, infinities the bounds of the type.
NX_API Tensor as_type(const Operand& x, DType type);
/// The same bits read as another type of the same width (ArgumentError for another width).
NX_API Tensor bitcast(const Operand& x, DType type);

}  // namespace nx
