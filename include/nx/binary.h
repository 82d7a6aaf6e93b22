// layer: ops
// Elementwise functions of two operands. Shapes broadcast from the right, types merge by the
// promotion rules (numbers are weak), names and vectorised axes must agree.
#pragma once

#include "nx/tensor.h"

namespace nx {

/// a + b. Integers wrap.
NX_API Tensor add(const Operand& a, const Operand& b);
/// a - b. Integers wrap.
NX_API Tensor subtract(const Operand& a, const Operand& b);
/// a * b. Integers wrap.
NX_API Tensor multiply(const Operand& a, const Operand& b);
/// a / b; integers become f32.
NX_API Tensor divide(const Operand& a, const Operand& b);
/// Integer division that truncates towards zero. Division by zero throws ArgumentError in eager
/// code and gives 0 in compiled code.
NX_API Tensor quotient(const Operand& a, const Operand& b);
/// What truncating division leaves over; it has the sign of `a`. An integer remainder by zero
/// throws ArgumentError in eager code and gives `a` in compiled code.
NX_API Tensor remainder(const Operand& a, const Operand& b);
/// a to the power of b. Integers stay integers and wrap.
NX_API Tensor pow(const Operand& a, const Operand& b);
/// The angle of the point (b, a), in (-pi, pi]; integers become f32.
NX_API Tensor atan2(const Operand& a, const Operand& b);
/// The larger of both; NaN if either is.
NX_API Tensor max(const Operand& a, const Operand& b);
/// The smaller of both; NaN if either is.
NX_API Tensor min(const Operand& a, const Operand& b);

/// Bit by bit; integers only (DTypeError).
NX_API Tensor bitwise_and(const Operand& a, const Operand& b);
NX_API Tensor bitwise_or(const Operand& a, const Operand& b);
NX_API Tensor bitwise_xor(const Operand& a, const Operand& b);
/// Shifts by the width or more give 0. A negative shift throws ArgumentError in eager code.
NX_API Tensor left_shift(const Operand& a, const Operand& b);
/// Keeps the sign of signed integers: shifts by the width or more give 0 or -1.
NX_API Tensor right_shift(const Operand& a, const Operand& b);

/// Comparisons give 0 and 1 in u8. s64 and u64 are compared exactly. NaN is unequal to all.
NX_API Tensor equal(const Operand& a, const Operand& b);
NX_API Tensor not_equal(const Operand& a, const Operand& b);
NX_API Tensor less(const Operand& a, const Operand& b);
NX_API Tensor less_equal(const Operand& a, const Operand& b);
NX_API Tensor greater(const Operand& a, const Operand& b);
NX_API Tensor greater_equal(const Operand& a, const Operand& b);

/// 0 and 1 in u8; everything but 0 counts as true, NaN too.
NX_API Tensor logical_and(const Operand& a, const Operand& b);
NX_API Tensor logical_or(const Operand& a, const Operand& b);
NX_API Tensor logical_xor(const Operand& a, const Operand& b);

}  // namespace nx
