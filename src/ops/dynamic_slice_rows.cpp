// Rows that take a block out, or put one in, at starts that are values: dynamic_slice, put_slice.
#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/match.h"
#include "graph/trace.h"
#include "kernels/assemble.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/elementwise_rows.h"
#include "ops/indexing.h"
#include "ops/movement.h"
#include "ops/view_rows.h"

namespace nx::ops {
namespace {

using graph::Attrs;
using graph::GradCall;
using graph::KernelSpec;
using graph::LowerCall;
using graph::SimplifyCall;
using graph::Tensors;
using graph::TensorType;
using graph::TensorTypes;
using graph::VectorizeCall;
using stablehlo::Writer;

void check_starts(std::string_view operation, std::span<const TensorType> starts,
                  std::size_t rank) {
  if (starts.size() != rank)
    throw ShapeError(operation, fmt::format("expected {} starts, got {}", rank, starts.size()));
  for (const TensorType& start : starts) {
    if (!start.dims.empty())
      throw ShapeError(operation, fmt::format("a start must be a scalar, got {}",
                                              to_string(start.dims)));
    if (!is_integer(start.type))
      throw DTypeError(operation, fmt::format("a start must be an integer, got {}",
                                              name_of(start.type)));
  }
}

void check_block(std::string_view operation, const Dims& dims, const Dims& block) {
  bool fits = dims.size() == block.size();
  for (std::size_t i = 0; fits && i < dims.size(); ++i) fits = block[i] >= 0 && block[i] <= dims[i];
  if (!fits)
    throw ShapeError(operation, fmt::format("a block of {} does not fit into {}",
                                            to_string(block), to_string(dims)));
}

std::vector<DType> types_of(std::span<const TensorType> list) {
  std::vector<DType> types;
  for (const TensorType& type : list) types.push_back(type.type);
  return types;
}

TensorTypes infer_dynamic_slice(std::span<const TensorType> in, const Attrs& attrs) {
  const Dims& lengths = attrs.as<DynamicSliceAttrs>().lengths;
  check_block("slice", in[0].dims, lengths);
  check_starts("slice", in.subspan(1), in[0].dims.size());
  return {{in[0].type, lengths}};
}

Tensors with_starts(Tensors operands, std::span<const Tensor> starts) {
  operands.insert(operands.end(), starts.begin(), starts.end());
  return operands;
}

Tensors dynamic_slice_gradient(const GradCall& call) {
  Tensors gradients(call.in.size());
  const Tensor zeros = full_dims(Number(0), call.g[0].type(), dims_of(call.in[0]));
  gradients[0] = graph::emit(kPutSlice, with_starts({zeros, call.g[0]}, call.in.subspan(1)), {}, {});
  return gradients;
}

/// Indices [lead…, block…, rank] of every element of the block at the mapped, clamped starts.
Tensor block_indices(std::span<const Tensor> starts, const Dims& dims, const Dims& block,
                     int count) {
  const Dims mapped = dims_of(starts[0]);
  Dims all(mapped.begin(), mapped.begin() + count);
  all.insert(all.end(), block.begin(), block.end());
  Dims column = all;
  column.push_back(1);
  std::vector<Tensor> columns;
  for (std::size_t i = 0; i < block.size(); ++i) {
    const Tensor start = clamp_index(starts[i], dims[i] - block[i]);
    const Tensor from = broadcast_dims(start, all, iota_dims(at(count)));
    const Tensor step = iota_along(DType::s64, all, count + static_cast<std::int64_t>(i));
    columns.push_back(reshape_dims(add(from, step), column));
  }
  return concatenate_dims(columns, static_cast<std::int64_t>(all.size()));
}

Dims tail(const Tensor& x, int count) {
  const Dims dims = dims_of(x);
  return Dims(dims.begin() + count, dims.end());
}

Tensors vectorize_dynamic_slice(const VectorizeCall& call) {
  const Dims& lengths = call.attrs.as<DynamicSliceAttrs>().lengths;
  const Dims dims = tail(call.in[0], call.count);
  if (dims.empty()) return {call.in[0]};
  const Tensor indices = block_indices(call.in.subspan(1), dims, lengths, call.count);
  return {gather_dims(call.in[0], indices, {iota_dims(dims.size()), call.count, 0})};
}

std::vector<stablehlo::Value> lower_dynamic_slice(const LowerCall& call) {
  const Dims& lengths = call.attrs.as<DynamicSliceAttrs>().lengths;
  return lower_as(call, "dynamic_slice", "slice_sizes = " + Writer::array(lengths));
}

std::unique_ptr<kernels::PreparedKernel> prepare_dynamic_slice(const KernelSpec& spec) {
  return kernels::prepare_dynamic_slice(spec_of(spec.in[0]),
                                        spec.attrs.as<DynamicSliceAttrs>().lengths,
                                        types_of(spec.in.subspan(1)));
}

/// The starts when all of them are known, clamped to fit.
std::optional<Dims> known_starts(std::span<const Tensor> starts, const Dims& dims,
                                 const Dims& block) {
  Dims known;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto value = graph::splat_of(starts[i]);
    if (!value || !value->is_integer()) return std::nullopt;
    known.push_back(std::clamp<std::int64_t>(value->integer(), 0, dims[i] - block[i]));
  }
  return known;
}

Tensor simplify_dynamic_slice(const SimplifyCall& call) {
  const Dims& lengths = call.attrs.as<DynamicSliceAttrs>().lengths;
  const Dims dims = dims_of(call.in[0]);
  if (lengths == dims) return call.in[0];
  const auto starts = known_starts(call.in.subspan(1), dims, lengths);
  if (!starts) return {};
  Dims limits = *starts;
  for (std::size_t i = 0; i < limits.size(); ++i) limits[i] += lengths[i];
  return slice_dims(call.in[0], *starts, limits, Dims(dims.size(), 1));
}

TensorTypes infer_put_slice(std::span<const TensorType> in, const Attrs&) {
  check_same_type("put_slice", in[0], in[1]);
  check_block("put_slice", in[0].dims, in[1].dims);
  check_starts("put_slice", in.subspan(2), in[0].dims.size());
  return {in[0]};
}

Tensors put_slice_gradient(const GradCall& call) {
  Tensors gradients(call.in.size());
  const Tensor& g = call.g[0];
  const Dims block = dims_of(call.in[1]);
  const auto starts = call.in.subspan(2);
  if (call.wanted[0])
    gradients[0] = graph::emit(
        kPutSlice, with_starts({g, full_dims(Number(0), g.type(), block)}, starts), {}, {});
  if (call.wanted[1])
    gradients[1] = graph::emit(kDynamicSlice, with_starts({g}, starts),
                               Attrs::of(DynamicSliceAttrs{block}), {});
  return gradients;
}

Tensors vectorize_put_slice(const VectorizeCall& call) {
  const Dims dims = tail(call.in[0], call.count), block = tail(call.in[1], call.count);
  if (dims.empty()) return {call.in[1]};
  const Tensor indices = block_indices(call.in.subspan(2), dims, block, call.count);
  return {scatter_dims(kIndexedPut, call.in[0], indices, call.in[1],
                       {iota_dims(dims.size()), call.count, 0})};
}

std::vector<stablehlo::Value> lower_put_slice(const LowerCall& call) {
  const std::vector<stablehlo::Value> updated = lower_as(call, "dynamic_update_slice");
  // Without the barrier XLA's simplifier moves a later reshape in front of the update and then
  // writes over rows that a slice of the same operand still has to read (openxla/xla#49176).
  return {call.writer.op("optimization_barrier", {updated[0]}, updated[0].type)};
}

std::unique_ptr<kernels::PreparedKernel> prepare_put_slice(const KernelSpec& spec) {
  return kernels::prepare_put_slice(spec_of(spec.in[0]), spec.in[1].dims,
                                    types_of(spec.in.subspan(2)));
}

Tensor simplify_put_slice(const SimplifyCall& call) {
  const Dims dims = dims_of(call.in[0]), block = dims_of(call.in[1]);
  if (block == dims) return call.in[1];
  return element_count(block) == 0 ? call.in[0] : Tensor();
}

}  // namespace

const graph::OpRow kDynamicSlice{
    .name = "dynamic_slice",
    .infer = infer_dynamic_slice,
    .gradient = graph::Gradient(dynamic_slice_gradient),
    .vectorize = vectorize_dynamic_slice,
    .lower = lower_dynamic_slice,
    .host = graph::HostRule(graph::KernelRule{prepare_dynamic_slice}),
    .simplify = simplify_dynamic_slice,
};
const graph::OpRow kPutSlice{
    .name = "put_slice",
    .infer = infer_put_slice,
    .gradient = graph::Gradient(put_slice_gradient),
    .vectorize = vectorize_put_slice,
    .lower = lower_put_slice,
    .host = graph::HostRule(graph::KernelRule{prepare_put_slice, 0}),
    .simplify = simplify_put_slice,
};

}  // namespace nx::ops
