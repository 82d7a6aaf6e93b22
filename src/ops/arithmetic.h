// The elementwise functions that the rules of structural operations use.
#pragma once

#include "nx/tensor.h"

namespace nx {
NX_API Tensor add(const Operand& a, const Operand& b);
NX_API Tensor subtract(const Operand& a, const Operand& b);
NX_API Tensor multiply(const Operand& a, const Operand& b);
NX_API Tensor divide(const Operand& a, const Operand& b);
NX_API Tensor equal(const Operand& a, const Operand& b);
NX_API Tensor not_equal(const Operand& a, const Operand& b);
NX_API Tensor quotient(const Operand& a, const Operand& b);
NX_API Tensor remainder(const Operand& a, const Operand& b);
NX_API Tensor bitwise_and(const Operand& a, const Operand& b);
NX_API Tensor bitwise_or(const Operand& a, const Operand& b);
NX_API Tensor left_shift(const Operand& a, const Operand& b);
NX_API Tensor right_shift(const Operand& a, const Operand& b);
NX_API Tensor exp(const Operand& x);
NX_API Tensor log(const Operand& x);
NX_API Tensor sqrt(const Operand& x);
NX_API Tensor erf_inv(const Operand& x);
NX_API Tensor is_infinity(const Operand& x);
NX_API Tensor complex(const Operand& real, const Operand& imag);
NX_API Tensor bitcast(const Operand& x, DType type);
NX_API Tensor max(const Operand& a, const Operand& b);
NX_API Tensor min(const Operand& a, const Operand& b);
NX_API Tensor select(const Operand& predicate, const Operand& on_true, const Operand& on_false);
NX_API Tensor as_type(const Operand& x, DType type);
}  // namespace nx
