// Cumulative reductions of plain tensors, for the functions of other families.
#pragma once

#include "nx/tensor.h"

namespace nx::ops {

using Combine = Tensor (*)(const Operand& a, const Operand& b);
/// combine(x[0], …, x[i]) for every i of the axis, in about log2(n) combinations of whole arrays.
Tensor cumulate_dims(Combine combine, Tensor x, std::int64_t axis, bool reverse);

}  // namespace nx::ops
