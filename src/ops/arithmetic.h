// The elementwise functions that the rules of structural operations use.
#pragma once

#include "nx/tensor.h"

namespace nx {
NX_API Tensor add(const Operand& a, const Operand& b);
NX_API Tensor subtract(const Operand& a, const Operand& b);
NX_API Tensor multiply(const Operand& a, const Operand& b);
NX_API Tensor divide(const Operand& a, const Operand& b);
NX_API Tensor equal(const Operand& a, const Operand& b);
NX_API Tensor max(const Operand& a, const Operand& b);
NX_API Tensor min(const Operand& a, const Operand& b);
NX_API Tensor select(const Operand& predicate, const Operand& on_true, const Operand& on_false);
NX_API Tensor as_type(const Operand& x, DType type);
}  // namespace nx
