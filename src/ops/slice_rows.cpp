// Rows whose result is part of the operand, read at strides: slice, reverse.
#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/match.h"
#include "graph/trace.h"
#include "ops/movement.h"
#include "ops/view_rows.h"

namespace nx::ops {
namespace {

using graph::Attrs;
using graph::GradCall;
using graph::LowerCall;
using graph::SimplifyCall;
using graph::Tensors;
using graph::TensorType;
using graph::TensorTypes;
using graph::VectorizeCall;
using stablehlo::Writer;
using View = graph::ViewRule::View;

// -- slice ------------------------------------------------------------------------------------

TensorTypes infer_slice(std::span<const TensorType> in, const Attrs& attrs) {
  const auto& [starts, limits, strides] = attrs.as<SliceAttrs>();
  const Dims& from = in[0].dims;
  if (starts.size() != from.size() || limits.size() != from.size() || strides.size() != from.size())
    throw ShapeError("slice",
                     fmt::format("expected {} starts, limits and strides, got {}, {} and "
                                 "{}",
                                 from.size(), starts.size(), limits.size(), strides.size()));
  TensorType out{in[0].type, {}};
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (starts[i] < 0 || limits[i] < starts[i] || limits[i] > from[i] || strides[i] < 1)
      throw ShapeError("slice", fmt::format("axis {} of {} has no elements {} to {} by {}", i,
                                            to_string(from), starts[i], limits[i], strides[i]));
    out.dims.push_back((limits[i] - starts[i] + strides[i] - 1) / strides[i]);
  }
  return {out};
}

Tensors slice_gradient(const GradCall& call) {
  const auto& [starts, limits, strides] = call.attrs.as<SliceAttrs>();
  const Dims from = dims_of(call.in[0]), to = dims_of(call.out[0]);
  Dims low = starts, high(from.size()), interior(from.size());
  for (std::size_t i = 0; i < from.size(); ++i) {
    interior[i] = strides[i] - 1;
    const std::int64_t covered = to[i] == 0 ? 0 : (to[i] - 1) * strides[i] + 1;
    high[i] = from[i] - starts[i] - covered;
  }
  return {pad_dims(call.g[0], {}, low, high, interior)};
}

Tensors vectorize_slice(const VectorizeCall& call) {
  auto [starts, limits, strides] = call.attrs.as<SliceAttrs>();
  const Dims dims = dims_of(call.in[0]);
  const auto count = at(call.count);
  const Dims zeros(count, 0), ones(count, 1);
  starts.insert(starts.begin(), zeros.begin(), zeros.end());
  limits.insert(limits.begin(), dims.begin(), dims.begin() + count);
  strides.insert(strides.begin(), ones.begin(), ones.end());
  return {slice_dims(call.in[0], starts, limits, strides)};
}

stablehlo::Value write_slice(Writer& w, const stablehlo::Value& x, const stablehlo::Type& type,
                             const SliceAttrs& of) {
  return w.op(
      "slice", {x}, type,
      fmt::format("start_indices = {}, limit_indices = {}, strides = {}", Writer::array(of.starts),
                  Writer::array(of.limits), Writer::array(of.strides)));
}

std::vector<stablehlo::Value> lower_slice(const LowerCall& call) {
  const TensorType& out = call.out_types[0];
  return {write_slice(call.writer, call.in[0], {out.type, out.dims}, call.attrs.as<SliceAttrs>())};
}

View view_slice(const TensorType& in, const TensorType&, const Attrs& attrs) {
  const auto& [starts, limits, steps] = attrs.as<SliceAttrs>();
  View view{0, row_major_strides(in.dims)};
  for (std::size_t i = 0; i < in.dims.size(); ++i) {
    view.offset += starts[i] * view.strides[i];
    view.strides[i] *= steps[i];
  }
  return view;
}

Tensor simplify_slice(const SimplifyCall& call) {
  const auto& [starts, limits, strides] = call.attrs.as<SliceAttrs>();
  const Tensor& x = call.in[0];
  if (call.out[0].dims == dims_of(x)) return x;
  if (const Tensor source = splat_operand(x); source.has_value())
    return broadcast_dims(source, call.out[0].dims, {});
  if (!graph::is_made_by(x, kSlice)) return {};
  const SliceAttrs inner = graph::producer(x)->attrs.as<SliceAttrs>();
  SliceAttrs merged = inner;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    merged.starts[i] = inner.starts[i] + starts[i] * inner.strides[i];
    merged.strides[i] = strides[i] * inner.strides[i];
    const std::int64_t size = call.out[0].dims[i];
    merged.limits[i] =
        size == 0 ? merged.starts[i] : merged.starts[i] + (size - 1) * merged.strides[i] + 1;
    if (size == 0) merged.limits[i] = merged.starts[i] = 0;
  }
  return slice_dims(graph::operand_of(x, 0), merged.starts, merged.limits, merged.strides);
}

// -- reverse ----------------------------------------------------------------------------------

TensorTypes infer_reverse(std::span<const TensorType> in, const Attrs& attrs) {
  check_distinct("reverse", attrs.as<ReverseAttrs>().axes, in[0].dims.size());
  return {in[0]};
}

Tensors reverse_gradient(const GradCall& call) {
  return {reverse_dims(call.g[0], call.attrs.as<ReverseAttrs>().axes)};
}

Tensors vectorize_reverse(const VectorizeCall& call) {
  return {reverse_dims(call.in[0], shift_axes(call.attrs.as<ReverseAttrs>().axes, call.count))};
}

std::vector<stablehlo::Value> lower_reverse(const LowerCall& call) {
  return {call.writer.op(
      "reverse", {call.in[0]}, call.in[0].type,
      fmt::format("dimensions = {}", Writer::array(call.attrs.as<ReverseAttrs>().axes)))};
}

View view_reverse(const TensorType& in, const TensorType&, const Attrs& attrs) {
  View view{0, row_major_strides(in.dims)};
  for (const std::int64_t axis : attrs.as<ReverseAttrs>().axes) {
    std::int64_t& stride = view.strides[at(axis)];
    view.offset += (in.dims[at(axis)] - 1) * stride;
    stride = -stride;
  }
  return view;
}

Tensor simplify_reverse(const SimplifyCall& call) {
  const Dims& axes = call.attrs.as<ReverseAttrs>().axes;
  const Tensor& x = call.in[0];
  if (splat_operand(x).has_value()) return x;
  Dims needed;
  const Dims dims = dims_of(x);
  for (const std::int64_t axis : axes)
    if (dims[at(axis)] > 1) needed.push_back(axis);
  if (needed.size() < axes.size()) return reverse_dims(x, needed);
  if (graph::is_made_by(x, kReverse) && graph::producer(x)->attrs.as<ReverseAttrs>().axes == axes)
    return graph::operand_of(x, 0);
  return {};
}

}  // namespace

stablehlo::Value lower_part(Writer& writer, const stablehlo::Value& x, std::int64_t axis,
                            std::int64_t from, std::int64_t to) {
  const std::size_t rank = x.type.dims.size();
  SliceAttrs part{Dims(rank, 0), x.type.dims, Dims(rank, 1)};
  part.starts[at(axis)] = from;
  part.limits[at(axis)] = to;
  stablehlo::Type type = x.type;
  type.dims[at(axis)] = to - from;
  return write_slice(writer, x, type, part);
}

const graph::OpRow kSlice{
    .name = "slice",
    .infer = infer_slice,
    .gradient = graph::Gradient(slice_gradient),
    .vectorize = vectorize_slice,
    .lower = lower_slice,
    .host = graph::HostRule(graph::ViewRule{view_slice}),
    .simplify = simplify_slice,
};
const graph::OpRow kReverse{
    .name = "reverse",
    .infer = infer_reverse,
    .gradient = graph::Gradient(reverse_gradient),
    .vectorize = vectorize_reverse,
    .lower = lower_reverse,
    .host = graph::HostRule(graph::ViewRule{view_reverse}),
    .simplify = simplify_reverse,
};

}  // namespace nx::ops
