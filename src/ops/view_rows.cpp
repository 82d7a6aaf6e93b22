// Rows whose result is the operand read at strides, or its bytes under other dims: broadcast,
// transpose, reshape.
#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/match.h"
#include "graph/trace.h"
#include "ops/movement.h"
#include "ops/reduce.h"
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

bool is_iota(const Dims& axes) {
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] != static_cast<std::int64_t>(i)) return false;
  return true;
}

}  // namespace

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

void check_distinct(std::string_view operation, const Dims& axes, std::size_t rank) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || at(axes[i]) >= rank)
      throw ShapeError(operation, fmt::format("axis out of range; expected 0 to {}, got {}",
                                              static_cast<std::int64_t>(rank) - 1, axes[i]));
    if (std::find(axes.begin(), axes.begin() + i, axes[i]) != axes.begin() + i)
      throw ShapeError(operation, fmt::format("axis {} is given twice", axes[i]));
  }
}

Tensor splat_operand(const Tensor& x) {
  if (!graph::is_made_by(x, kBroadcast)) return {};
  const Tensor from = graph::operand_of(x, 0);
  return dims_of(from).empty() ? from : Tensor();
}

namespace {

// -- broadcast --------------------------------------------------------------------------------

TensorTypes infer_broadcast(std::span<const TensorType> in, const Attrs& attrs) {
  const auto& [dims, axes] = attrs.as<BroadcastAttrs>();
  element_count(dims);
  if (axes.size() != in[0].dims.size())
    throw ShapeError("broadcast", fmt::format("expected one axis for each of {} axes, got {}",
                                              in[0].dims.size(), to_string(axes)));
  check_distinct("broadcast", axes, dims.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t size = in[0].dims[i];
    if (size != 1 && size != dims[at(axes[i])])
      throw ShapeError("broadcast",
                       fmt::format("cannot broadcast {} to {} along axes {}",
                                   to_string(in[0].dims), to_string(dims), to_string(axes)));
  }
  return {{in[0].type, dims}};
}

Tensors broadcast_gradient(const GradCall& call) {
  const auto& [dims, axes] = call.attrs.as<BroadcastAttrs>();
  const Dims from = dims_of(call.in[0]);
  // Sum over what was repeated, then put the kept axes back into the operand's order.
  Dims summed;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto* const found = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    if (found == axes.end() || (from[at(found - axes.begin())] == 1 && dims[i] != 1))
      summed.push_back(static_cast<std::int64_t>(i));
  }
  const Tensor g = sum_dims(call.g[0], summed);
  Dims order;  // kept operand axes, in the order in which g has them
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto result_axis = static_cast<std::int64_t>(i);
    if (std::find(summed.begin(), summed.end(), result_axis) != summed.end()) continue;
    order.push_back(std::find(axes.begin(), axes.end(), result_axis) - axes.begin());
  }
  Dims sorted = order;
  std::sort(sorted.begin(), sorted.end());
  Dims permutation;
  for (const std::int64_t axis : sorted)
    permutation.push_back(std::find(order.begin(), order.end(), axis) - order.begin());
  return {reshape_dims(transpose_dims(g, permutation), from)};
}

Tensors vectorize_broadcast(const VectorizeCall& call) {
  const auto& [dims, axes] = call.attrs.as<BroadcastAttrs>();
  return {broadcast_dims(call.in[0], with_leading(call.in[0], call.count, dims),
                         shift_axes(axes, call.count))};
}

std::vector<stablehlo::Value> lower_broadcast(const LowerCall& call) {
  const auto& [dims, axes] = call.attrs.as<BroadcastAttrs>();
  return {call.writer.broadcast(call.in[0], dims, axes)};
}

View view_broadcast(const TensorType& in, const TensorType& out, const Attrs& attrs) {
  const Dims& axes = attrs.as<BroadcastAttrs>().axes;
  const Dims strides = row_major_strides(in.dims);
  View view{0, Dims(out.dims.size(), 0)};
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (in.dims[i] != 1) view.strides[at(axes[i])] = strides[i];
  return view;
}

Tensor simplify_broadcast(const SimplifyCall& call) {
  const auto& [dims, axes] = call.attrs.as<BroadcastAttrs>();
  const Tensor& x = call.in[0];
  const Dims from = dims_of(x);
  if (from == dims && is_iota(axes)) return x;
  if (graph::is_made_by(x, kBroadcast)) {
    const Dims& inner = graph::producer(x)->attrs.as<BroadcastAttrs>().axes;
    const Tensor source = graph::operand_of(x, 0);
    Dims merged;
    for (const std::int64_t axis : inner) merged.push_back(axes[at(axis)]);
    return broadcast_dims(source, dims, merged);
  }
  const bool ascending = std::is_sorted(axes.begin(), axes.end());
  if (ascending && element_count(from) == element_count(dims)) return reshape_dims(x, dims);
  return {};
}

// -- transpose --------------------------------------------------------------------------------

TensorTypes infer_transpose(std::span<const TensorType> in, const Attrs& attrs) {
  const Dims& permutation = attrs.as<TransposeAttrs>().permutation;
  if (permutation.size() != in[0].dims.size())
    throw ShapeError("transpose", fmt::format("expected {} axes, got {}", in[0].dims.size(),
                                              to_string(permutation)));
  check_distinct("transpose", permutation, in[0].dims.size());
  TensorType out{in[0].type, {}};
  for (const std::int64_t axis : permutation) out.dims.push_back(in[0].dims[at(axis)]);
  return {out};
}

Tensors transpose_gradient(const GradCall& call) {
  const Dims& permutation = call.attrs.as<TransposeAttrs>().permutation;
  Dims inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i)
    inverse[at(permutation[i])] = static_cast<std::int64_t>(i);
  return {transpose_dims(call.g[0], inverse)};
}

Tensors vectorize_transpose(const VectorizeCall& call) {
  return {transpose_dims(call.in[0],
                         shift_axes(call.attrs.as<TransposeAttrs>().permutation, call.count))};
}

std::vector<stablehlo::Value> lower_transpose(const LowerCall& call) {
  return {call.writer.transpose(call.in[0], call.attrs.as<TransposeAttrs>().permutation)};
}

View view_transpose(const TensorType& in, const TensorType&, const Attrs& attrs) {
  const Dims strides = row_major_strides(in.dims);
  View view;
  for (const std::int64_t axis : attrs.as<TransposeAttrs>().permutation)
    view.strides.push_back(strides[at(axis)]);
  return view;
}

Tensor simplify_transpose(const SimplifyCall& call) {
  const Dims& permutation = call.attrs.as<TransposeAttrs>().permutation;
  const Tensor& x = call.in[0];
  if (is_iota(permutation)) return x;
  const Dims from = dims_of(x);
  if (graph::is_made_by(x, kTranspose)) {
    const Dims& inner = graph::producer(x)->attrs.as<TransposeAttrs>().permutation;
    Dims merged;
    for (const std::int64_t axis : permutation) merged.push_back(inner[at(axis)]);
    return transpose_dims(graph::operand_of(x, 0), merged);
  }
  if (const Tensor source = splat_operand(x); source.has_value())
    return broadcast_dims(source, call.out[0].dims, {});
  // Only axes of size 1 change places: the order of elements is the same.
  std::int64_t last = -1;
  for (const std::int64_t axis : permutation) {
    if (from[at(axis)] == 1) continue;
    if (axis < last) return {};
    last = axis;
  }
  return reshape_dims(x, call.out[0].dims);
}

// -- reshape ----------------------------------------------------------------------------------

TensorTypes infer_reshape(std::span<const TensorType> in, const Attrs& attrs) {
  const Dims& dims = attrs.as<ReshapeAttrs>().dims;
  if (element_count(dims) != element_count(in[0].dims))
    throw ShapeError("reshape", fmt::format("cannot reshape {} into {}: {} elements against {}",
                                            to_string(in[0].dims), to_string(dims),
                                            element_count(in[0].dims), element_count(dims)));
  return {{in[0].type, dims}};
}

Tensors reshape_gradient(const GradCall& call) {
  return {reshape_dims(call.g[0], dims_of(call.in[0]))};
}

Tensors vectorize_reshape(const VectorizeCall& call) {
  return {reshape_dims(call.in[0], with_leading(call.in[0], call.count,
                                                call.attrs.as<ReshapeAttrs>().dims))};
}

std::vector<stablehlo::Value> lower_reshape(const LowerCall& call) {
  return {call.writer.reshape(call.in[0], call.attrs.as<ReshapeAttrs>().dims)};
}

Tensor simplify_reshape(const SimplifyCall& call) {
  const Dims& dims = call.attrs.as<ReshapeAttrs>().dims;
  const Tensor& x = call.in[0];
  if (dims_of(x) == dims) return x;
  if (graph::is_made_by(x, kReshape)) return reshape_dims(graph::operand_of(x, 0), dims);
  if (const Tensor source = splat_operand(x); source.has_value())
    return broadcast_dims(source, dims, {});
  return {};
}

}  // namespace

const graph::OpRow kBroadcast{
    .name = "broadcast",
    .infer = infer_broadcast,
    .gradient = graph::Gradient(broadcast_gradient),
    .vectorize = vectorize_broadcast,
    .lower = lower_broadcast,
    .host = graph::HostRule(graph::ViewRule{view_broadcast}),
    .simplify = simplify_broadcast,
};
const graph::OpRow kTranspose{
    .name = "transpose",
    .infer = infer_transpose,
    .gradient = graph::Gradient(transpose_gradient),
    .vectorize = vectorize_transpose,
    .lower = lower_transpose,
    .host = graph::HostRule(graph::ViewRule{view_transpose}),
    .simplify = simplify_transpose,
};
const graph::OpRow kReshape{
    .name = "reshape",
    .infer = infer_reshape,
    .gradient = graph::Gradient(reshape_gradient),
    .vectorize = vectorize_reshape,
    .lower = lower_reshape,
    .host = graph::HostRule(graph::RelabelRule{}),
    .simplify = simplify_reshape,
};

}  // namespace nx::ops
