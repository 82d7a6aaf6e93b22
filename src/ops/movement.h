// Rows that move elements without computing on them, their attributes, and builders for the rules
// of other families. Graph level: dims hold all axes (vectorised ones lead), nothing has a name.
#pragma once

#include <cstdint>

#include "core/body.h"
#include "graph/op_row.h"

namespace nx::ops {

/// As stablehlo.broadcast_in_dim: axis i of the operand is axis `axes[i]` of the result; it has
/// that axis' size or 1.
struct BroadcastAttrs {
  Dims dims, axes;
  template <class F>
  static void fields(F&& f) {
    f("dims", &BroadcastAttrs::dims);
    f("axes", &BroadcastAttrs::axes);
  }
};
/// Axis i of the result is axis `permutation[i]` of the operand.
struct TransposeAttrs {
  Dims permutation;
  template <class F>
  static void fields(F&& f) {
    f("permutation", &TransposeAttrs::permutation);
  }
};
struct ReshapeAttrs {
  Dims dims;
  template <class F>
  static void fields(F&& f) {
    f("dims", &ReshapeAttrs::dims);
  }
};
/// Elements starts, starts + strides, … below limits, all within the operand.
struct SliceAttrs {
  Dims starts, limits, strides;
  template <class F>
  static void fields(F&& f) {
    f("starts", &SliceAttrs::starts);
    f("limits", &SliceAttrs::limits);
    f("strides", &SliceAttrs::strides);
  }
};
struct ReverseAttrs {
  Dims axes;
  template <class F>
  static void fields(F&& f) {
    f("axes", &ReverseAttrs::axes);
  }
};
/// Operands: the array and a scalar. Negative `low` and `high` cut off.
struct PadAttrs {
  Dims low, high, interior;
  template <class F>
  static void fields(F&& f) {
    f("low", &PadAttrs::low);
    f("high", &PadAttrs::high);
    f("interior", &PadAttrs::interior);
  }
};
struct ConcatenateAttrs {
  std::int64_t axis = 0;
  template <class F>
  static void fields(F&& f) {
    f("axis", &ConcatenateAttrs::axis);
  }
};
/// Operands: the array and one scalar start for each axis; starts are clamped to fit.
struct DynamicSliceAttrs {
  Dims lengths;
  template <class F>
  static void fields(F&& f) {
    f("lengths", &DynamicSliceAttrs::lengths);
  }
};

extern const graph::OpRow kBroadcast, kTranspose, kReshape, kSlice, kReverse;  // views
extern const graph::OpRow kConcatenate, kPad;
extern const graph::OpRow kDynamicSlice;  // operands: array, starts…
extern const graph::OpRow kPutSlice;      // operands: array, update, starts…; no attributes

// Builders for gradient, vectorise and simplify rules. What changes nothing is not emitted.
Tensor broadcast_dims(const Tensor& x, Dims dims, Dims axes);
/// To `dims` by the usual rule: axes match from the right.
Tensor broadcast_to(const Tensor& x, const Dims& dims);
Tensor transpose_dims(const Tensor& x, Dims permutation);
Tensor reshape_dims(const Tensor& x, Dims dims);
Tensor slice_dims(const Tensor& x, Dims starts, Dims limits, Dims strides);
/// Elements `from` to `to` (not included) of one axis.
Tensor part_dims(const Tensor& x, std::int64_t axis, std::int64_t from, std::int64_t to);
Tensor reverse_dims(const Tensor& x, Dims axes);
/// An empty `value` stands for 0.
Tensor pad_dims(const Tensor& x, const Tensor& value, Dims low, Dims high, Dims interior);
Tensor concatenate_dims(std::span<const Tensor> parts, std::int64_t axis);

/// 0, 1, … count - 1.
Dims iota_dims(std::size_t count);
/// `count` leading axes 0 … count-1, then `axes` shifted past them.
Dims shift_axes(const Dims& axes, int count);
/// The leading `count` sizes of `x`, then `dims`.
Dims with_leading(const Tensor& x, int count, const Dims& dims);
inline Dims dims_of(const Tensor& x) { return detail::Access::body(x)->dims; }

}  // namespace nx::ops
