// Rows of reductions and builders for the rules of other families. Attributes:
// graph::ReduceAttrs{axes}; the result drops the axes and keeps the element type.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

extern const graph::OpRow kReduceSum, kReduceProduct, kReduceMax, kReduceMin;
extern const graph::OpRow kReduceAll, kReduceAny;  // u8 predicates, 0 or 1

/// Index of the largest or smallest element along one axis; the first NaN wins.
struct ArgReduceAttrs {
  std::int64_t axis = 0;
  bool last_of_ties = false;  // tie_break "high"
  DType type = DType::s32;    // of the result
  template <class F>
  static void fields(F&& f) {
    f("axis", &ArgReduceAttrs::axis);
    f("last_of_ties", &ArgReduceAttrs::last_of_ties);
    f("type", &ArgReduceAttrs::type);
  }
};
extern const graph::OpRow kArgmax, kArgmin;

/// The type that numbers are added up in: f32 for narrower floats, else their own.
inline DType summing_type(DType type) {
  return is_float(type) && bits_of(type) < 32 ? DType::f32 : type;
}
/// Reduces `axes` (any order); nothing is emitted for none.
Tensor reduce_dims(const graph::OpRow& row, const Tensor& x, Dims axes);
/// A sum that keeps x's type: f16 and bf16 are added up in f32.
Tensor sum_dims(const Tensor& x, Dims axes);
/// The square root of a sum of squares, as a length or a deviation is one. Its gradient is 0 where
/// the sum is 0: of the slopes there it is the only one that favours no direction, and a NaN (0
/// times the infinite slope of the root) would spoil every gradient it meets.
Tensor root_of_squares(const Tensor& total);
/// The inverse of dropping `axes`: x repeated along them, to `dims`.
Tensor expand_reduced(const Tensor& x, const Dims& dims, const Dims& axes);

}  // namespace nx::ops
