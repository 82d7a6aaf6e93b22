// layer: ops
// C++ operators on tensors and numbers. Comparisons give tensors: use nx::testing to compare whole
// tensors. `&`, `|` and `^` are bitwise; `!` is logical.
#pragma once

#include "nx/binary.h"
#include "nx/select.h"
#include "nx/unary.h"

namespace nx {

inline Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return subtract(a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return multiply(a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return divide(a, b); }
inline Tensor operator%(const Operand& a, const Operand& b) { return remainder(a, b); }
inline Tensor operator-(const Operand& x) { return negate(x); }
inline Tensor operator&(const Operand& a, const Operand& b) { return bitwise_and(a, b); }
inline Tensor operator|(const Operand& a, const Operand& b) { return bitwise_or(a, b); }
inline Tensor operator^(const Operand& a, const Operand& b) { return bitwise_xor(a, b); }
inline Tensor operator~(const Operand& x) { return bitwise_not(x); }
inline Tensor operator<<(const Operand& a, const Operand& b) { return left_shift(a, b); }
inline Tensor operator>>(const Operand& a, const Operand& b) { return right_shift(a, b); }
inline Tensor operator!(const Operand& x) { return logical_not(x); }
inline Tensor operator==(const Operand& a, const Operand& b) { return equal(a, b); }
inline Tensor operator!=(const Operand& a, const Operand& b) { return not_equal(a, b); }
inline Tensor operator<(const Operand& a, const Operand& b) { return less(a, b); }
inline Tensor operator<=(const Operand& a, const Operand& b) { return less_equal(a, b); }
inline Tensor operator>(const Operand& a, const Operand& b) { return greater(a, b); }
inline Tensor operator>=(const Operand& a, const Operand& b) { return greater_equal(a, b); }

}  // namespace nx
