// Rows of gather, indexed_add and indexed_put.
#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/trace.h"
#include "kernels/gather.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/indexing.h"
#include "ops/movement.h"

namespace nx::ops {
namespace {

using graph::Attrs;
using graph::GradCall;
using graph::LowerCall;
using graph::Tensors;
using graph::TensorType;
using graph::TensorTypes;
using graph::VectorizeCall;
using kernels::Scatter;
using stablehlo::Writer;

kernels::GatherSpec spec_of(std::span<const TensorType> in, const GatherAttrs& attrs) {
  return {{in[0].type, in[0].dims}, {in[1].type, in[1].dims}, attrs.axes, attrs.batch,
          attrs.offset};
}

Dims check(std::string_view name, std::span<const TensorType> in, const Attrs& given) {
  const auto& attrs = given.as<GatherAttrs>();
  const Dims &x = in[0].dims, &indices = in[1].dims;
  if (!is_integer(in[1].type))
    throw DTypeError(name, fmt::format("indices must be integers, got {}", name_of(in[1].type)));
  const auto batch = at(attrs.batch);
  if (x.size() < batch || indices.size() < batch + 1)
    throw ShapeError(name, fmt::format("indices of {} need a last axis that lists positions",
                                       to_string(indices)));
  if (!std::equal(x.begin(), x.begin() + batch, indices.begin()))
    throw ShapeError(name, fmt::format("batch axes of {} and {} differ", to_string(x),
                                       to_string(indices)));
  const auto own = static_cast<std::int64_t>(x.size() - batch);
  for (std::size_t i = 0; i < attrs.axes.size(); ++i)
    if (attrs.axes[i] < 0 || attrs.axes[i] >= own ||
        std::find(attrs.axes.begin(), attrs.axes.begin() + i, attrs.axes[i]) !=
            attrs.axes.begin() + i)
      throw ShapeError(name, fmt::format("axes {} are not distinct axes of {}",
                                         to_string(attrs.axes), to_string(x)));
  if (indices.back() != static_cast<std::int64_t>(attrs.axes.size()))
    throw ShapeError(name, fmt::format("the last axis of the indices lists positions on {} axes; "
                                       "expected {}, got {}", attrs.axes.size(),
                                       attrs.axes.size(), indices.back()));
  for (const auto axis : attrs.axes)
    if (x[batch + at(axis)] == 0 && element_count(indices) > 0)
      throw ShapeError(name, fmt::format("axis {} of {} is empty", axis, to_string(x)));
  if (attrs.offset < 0 || attrs.offset > own - static_cast<std::int64_t>(attrs.axes.size()))
    throw ShapeError(name, fmt::format("offset {} is out of range", attrs.offset));
  return kernels::gathered_dims(spec_of(in, attrs));
}

TensorTypes infer_gather(std::span<const TensorType> in, const Attrs& attrs) {
  return {{in[0].type, check("gather", in, attrs)}};
}

TensorTypes infer_scatter(std::string_view name, std::span<const TensorType> in,
                          const Attrs& attrs) {
  const Dims expected = check(name, in, attrs);
  if (!(in[2].dims == expected))
    throw ShapeError(name, fmt::format("shape of the updates; expected {}, got {}",
                                       to_string(expected), to_string(in[2].dims)));
  if (in[0].type != in[2].type)
    throw DTypeError(name, fmt::format("expected one element type, got {} and {}",
                                       name_of(in[0].type), name_of(in[2].type)));
  return {in[0]};
}
TensorTypes infer_add(std::span<const TensorType> in, const Attrs& attrs) {
  return infer_scatter("indexed_add", in, attrs);
}
TensorTypes infer_put(std::span<const TensorType> in, const Attrs& attrs) {
  return infer_scatter("indexed_put", in, attrs);
}

Tensors gather_gradient(const GradCall& call) {
  const Tensor& g = call.g[0];
  return {scatter_dims(kIndexedAdd, full_dims(Number(0), g.type(), dims_of(call.in[0])),
                       call.in[1], g, call.attrs.as<GatherAttrs>()),
          {}};
}

Tensors add_gradient(const GradCall& call) {
  return {call.g[0], {}, gather_dims(call.g[0], call.in[1], call.attrs.as<GatherAttrs>())};
}

Tensors put_gradient(const GradCall& call) {
  const auto& attrs = call.attrs.as<GatherAttrs>();
  const Tensor& g = call.g[0];
  const Tensor zeros = full_dims(Number(0), g.type(), dims_of(call.in[2]));
  return {scatter_dims(kIndexedPut, g, call.in[1], zeros, attrs), {},
          gather_dims(g, call.in[1], attrs)};
}

template <const graph::OpRow& kRow>
Tensors vectorize(const VectorizeCall& call) {
  GatherAttrs attrs = call.attrs.as<GatherAttrs>();
  attrs.batch += call.count;
  return {graph::emit(kRow, call.in, Attrs::of(std::move(attrs)), {})};
}

/// Axes of the slices that come from the operand (not from batch or indices).
Dims window_axes(const LowerCall& call, const GatherAttrs& attrs) {
  const std::size_t rows = call.in_types[1].dims.size() - at(attrs.batch) - 1;
  const std::size_t windows =
      call.in_types[0].dims.size() - at(attrs.batch) - attrs.axes.size();
  Dims axes;
  for (std::size_t i = 0; i < windows; ++i) {
    const std::size_t axis = at(attrs.batch) + i + (i < at(attrs.offset) ? 0 : rows);
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  return axes;
}

Dims shifted(const Dims& axes, int by, bool sorted) {
  Dims out = axes;
  for (auto& axis : out) axis += by;
  if (sorted) std::sort(out.begin(), out.end());
  return out;
}

/// Clamps each position to its axis: StableHLO's scatter would skip what is out of range.
stablehlo::Value clamp_indices(const LowerCall& call, const GatherAttrs& attrs) {
  Writer& w = call.writer;
  const TensorType& type = call.in_types[1];
  std::vector<stablehlo::Value> columns;
  for (const auto axis : attrs.axes)
    columns.push_back(w.constant(Number(call.in_types[0].dims[at(attrs.batch + axis)] - 1),
                                 DType::s64, {1}));
  if (columns.empty()) return call.in[1];
  const std::int64_t last_axis[] = {static_cast<std::int64_t>(type.dims.size()) - 1};
  const stablehlo::Value limits =
      w.op("concatenate", columns, {DType::s64, {static_cast<std::int64_t>(columns.size())}},
           "dimension = 0 : i64");
  const stablehlo::Value wide = w.convert(call.in[1], DType::s64);
  return w.op("clamp", {w.constant(Number(0), DType::s64, type.dims), wide,
                        w.broadcast(limits, type.dims, last_axis)},
              {DType::s64, type.dims});
}

std::vector<stablehlo::Value> lower_gather(const LowerCall& call) {
  const auto& attrs = call.attrs.as<GatherAttrs>();
  const Dims& x = call.in_types[0].dims;
  const Dims batch = iota_dims(at(attrs.batch));
  Dims sizes = x;
  for (const auto axis : batch) sizes[at(axis)] = 1;
  for (const auto axis : attrs.axes) sizes[at(axis + attrs.batch)] = 1;
  return {call.writer.op(
      "gather", {call.in[0], call.in[1]}, {call.out_types[0].type, call.out_types[0].dims},
      fmt::format("dimension_numbers = #stablehlo.gather<offset_dims = {}, collapsed_slice_dims = "
                  "{}, operand_batching_dims = {}, start_indices_batching_dims = {}, "
                  "start_index_map = {}, index_vector_dim = {}>, slice_sizes = {}, "
                  "indices_are_sorted = false",
                  Writer::list(window_axes(call, attrs)),
                  Writer::list(shifted(attrs.axes, attrs.batch, true)), Writer::list(batch),
                  Writer::list(batch), Writer::list(shifted(attrs.axes, attrs.batch, false)),
                  call.in_types[1].dims.size() - 1, Writer::array(sizes)))};
}

template <Scatter kMode>
std::vector<stablehlo::Value> lower_scatter(const LowerCall& call) {
  const auto& attrs = call.attrs.as<GatherAttrs>();
  const stablehlo::Type scalar{call.in_types[0].type, {}};
  const std::vector<stablehlo::Type> arguments = {scalar, scalar};
  const Writer::Region region = [&](Writer& w, std::span<const stablehlo::Value> in) {
    return std::vector<stablehlo::Value>{kMode == Scatter::kAdd ? w.op("add", in, scalar) : in[1]};
  };
  const Dims batch = iota_dims(at(attrs.batch));
  const stablehlo::Value operands[] = {call.in[0], clamp_indices(call, attrs), call.in[2]};
  const stablehlo::Type result{call.out_types[0].type, call.out_types[0].dims};
  return call.writer.op_with_regions(
      "scatter", operands, {&result, 1},
      fmt::format("scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = {}, "
                  "inserted_window_dims = {}, input_batching_dims = {}, "
                  "scatter_indices_batching_dims = {}, scatter_dims_to_operand_dims = {}, "
                  "index_vector_dim = {}>, indices_are_sorted = false, unique_indices = false",
                  Writer::list(window_axes(call, attrs)),
                  Writer::list(shifted(attrs.axes, attrs.batch, true)), Writer::list(batch),
                  Writer::list(batch), Writer::list(shifted(attrs.axes, attrs.batch, false)),
                  call.in_types[1].dims.size() - 1),
      {&arguments, 1}, {&region, 1});
}

std::unique_ptr<kernels::PreparedKernel> prepare_gather(const graph::KernelSpec& spec) {
  return kernels::prepare_gather(spec_of(spec.in, spec.attrs.as<GatherAttrs>()));
}
template <Scatter kMode>
std::unique_ptr<kernels::PreparedKernel> prepare_scatter(const graph::KernelSpec& spec) {
  return kernels::prepare_scatter(spec_of(spec.in, spec.attrs.as<GatherAttrs>()), kMode);
}

}  // namespace

Tensor gather_dims(const Tensor& x, const Tensor& indices, GatherAttrs attrs,
                   const graph::Caller& caller) {
  return graph::emit(kGather, {x, indices}, Attrs::of(std::move(attrs)), caller);
}

Tensor scatter_dims(const graph::OpRow& row, const Tensor& x, const Tensor& indices,
                    const Tensor& updates, GatherAttrs attrs, const graph::Caller& caller) {
  return graph::emit(row, {x, indices, updates}, Attrs::of(std::move(attrs)), caller);
}

Tensor clamp_index(const Tensor& index, std::int64_t last) {
  return max(min(as_type(index, DType::s64), last), 0);
}

const graph::OpRow kGather{
    .name = "gather",
    .infer = infer_gather,
    .gradient = graph::Gradient(gather_gradient),
    .vectorize = vectorize<kGather>,
    .lower = lower_gather,
    .host = graph::HostRule(graph::KernelRule{prepare_gather}),
};
const graph::OpRow kIndexedAdd{
    .name = "indexed_add",
    .infer = infer_add,
    .gradient = graph::Gradient(add_gradient),
    .vectorize = vectorize<kIndexedAdd>,
    .lower = lower_scatter<Scatter::kAdd>,
    .host = graph::HostRule(graph::KernelRule{prepare_scatter<Scatter::kAdd>, 0}),
};
const graph::OpRow kIndexedPut{
    .name = "indexed_put",
    .infer = infer_put,
    .gradient = graph::Gradient(put_gradient),
    .vectorize = vectorize<kIndexedPut>,
    .lower = lower_scatter<Scatter::kPut>,
    .host = graph::HostRule(graph::KernelRule{prepare_scatter<Scatter::kPut>, 0}),
};

}  // namespace nx::ops
