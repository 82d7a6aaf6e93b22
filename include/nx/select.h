// layer: ops
// Choosing between values, element by element.
#pragma once

#include "nx/tensor.h"

namespace nx {

/// `on_true` where `predicate` is not 0, else `on_false`. The result has the shape of the
/// predicate, or, for a scalar predicate, that of the values broadcast together.
NX_API Tensor select(const Operand& predicate, const Operand& on_true, const Operand& on_false);
/// min(max(x, low), high), in the type all three merge to (numbers count as s32 or f32 here). `low`
/// and `high` are scalars.
NX_API Tensor clip(const Operand& x, const Operand& low, const Operand& high);

}  // namespace nx
