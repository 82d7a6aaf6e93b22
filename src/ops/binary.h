// Rows of binary and ternary elementwise operations.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

extern const graph::OpRow kAdd, kSubtract, kMultiply, kDivide, kMax, kMin;
extern const graph::OpRow kPow, kAtan2, kRemainder, kQuotient;
extern const graph::OpRow kBitwiseAnd, kBitwiseOr, kBitwiseXor, kLeftShift, kRightShift;
extern const graph::OpRow kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual;
extern const graph::OpRow kLogicalAnd, kLogicalOr, kLogicalXor;

/// Operands: a u8 predicate (anything but 0 is true), the value where it holds, the other value.
extern const graph::OpRow kSelect;

}  // namespace nx::ops
