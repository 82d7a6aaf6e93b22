// Rows that put arrays together or take blocks out at starts that are values: concatenate, pad,
// dynamic_slice, put_slice.
#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/match.h"
#include "graph/trace.h"
#include "kernels/assemble.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/indexing.h"
#include "ops/movement.h"
#include "ops/reduce.h"

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
using kernels::ArraySpec;
using stablehlo::Writer;

ArraySpec spec_of(const TensorType& type) { return {type.type, type.dims}; }

std::vector<stablehlo::Value> lower_simple(const LowerCall& call, std::string_view name,
                                           const std::string& attributes) {
  return {call.writer.op(name, call.in, {call.out_types[0].type, call.out_types[0].dims},
                         attributes)};
}

void check_same_type(std::string_view operation, const TensorType& a, const TensorType& b) {
  if (a.type != b.type)
    throw DTypeError(operation, fmt::format("expected one element type, got {} and {}",
                                            name_of(a.type), name_of(b.type)));
}

// -- concatenate ------------------------------------------------------------------------------

TensorTypes infer_concatenate(std::span<const TensorType> in, const Attrs& attrs) {
  if (in.empty()) throw ArgumentError("concatenate", "expected at least one tensor");
  const auto axis = at(attrs.as<ConcatenateAttrs>().axis);
  TensorType out = in[0];
  if (axis >= out.dims.size())
    throw ShapeError("concatenate", fmt::format("axis {} is out of range for {}", axis,
                                                to_string(out.dims)));
  for (const TensorType& part : in.subspan(1)) {
    check_same_type("concatenate", in[0], part);
    bool fits = part.dims.size() == out.dims.size();
    for (std::size_t i = 0; fits && i < out.dims.size(); ++i)
      fits = i == axis || part.dims[i] == out.dims[i];
    if (!fits)
      throw ShapeError("concatenate",
                       fmt::format("all axes but axis {} must be equal, got {} and {}", axis,
                                   to_string(in[0].dims), to_string(part.dims)));
    out.dims[axis] += part.dims[axis];
  }
  return {out};
}

Tensors concatenate_gradient(const GradCall& call) {
  const auto axis = at(call.attrs.as<ConcatenateAttrs>().axis);
  Tensors gradients(call.in.size());
  const Dims whole = dims_of(call.g[0]);
  Dims starts(whole.size(), 0);
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    Dims limits = whole;
    limits[axis] = starts[axis] + dims_of(call.in[i])[axis];
    if (call.wanted[i])
      gradients[i] = slice_dims(call.g[0], starts, limits, Dims(whole.size(), 1));
    starts[axis] = limits[axis];
  }
  return gradients;
}

Tensors vectorize_concatenate(const VectorizeCall& call) {
  return {concatenate_dims(call.in, call.attrs.as<ConcatenateAttrs>().axis + call.count)};
}

std::vector<stablehlo::Value> lower_concatenate(const LowerCall& call) {
  return lower_simple(call, "concatenate",
                      fmt::format("dimension = {} : i64", call.attrs.as<ConcatenateAttrs>().axis));
}

std::unique_ptr<kernels::PreparedKernel> prepare_concatenate(const KernelSpec& spec) {
  std::vector<ArraySpec> parts;
  for (const TensorType& type : spec.in) parts.push_back(spec_of(type));
  return kernels::prepare_concatenate(
      parts, at(spec.attrs.as<ConcatenateAttrs>().axis));
}

Tensor simplify_concatenate(const SimplifyCall& call) {
  return call.in.size() == 1 ? call.in[0] : Tensor();
}

// -- pad --------------------------------------------------------------------------------------

TensorTypes infer_pad(std::span<const TensorType> in, const Attrs& attrs) {
  const auto& [low, high, interior] = attrs.as<PadAttrs>();
  check_same_type("pad", in[0], in[1]);
  if (!in[1].dims.empty())
    throw ShapeError("pad", fmt::format("the value must be a scalar, got {}",
                                        to_string(in[1].dims)));
  TensorType out = in[0];
  if (low.size() != out.dims.size() || high.size() != low.size() || interior.size() != low.size())
    throw ShapeError("pad", fmt::format("expected one padding for each of {} axes, got {}",
                                        out.dims.size(), low.size()));
  for (std::size_t i = 0; i < low.size(); ++i) {
    std::int64_t& size = out.dims[i];
    if (interior[i] < 0)
      throw ArgumentError("pad", fmt::format("interior padding must not be negative, got {}",
                                             interior[i]));
    if (size > 0) size += (size - 1) * interior[i];
    size += low[i] + high[i];
    if (size < 0)
      throw ShapeError("pad", fmt::format("axis {} of {} would have {} elements", i,
                                          to_string(in[0].dims), size));
  }
  element_count(out.dims);
  return {out};
}

/// The elements of the padded `x` that came from an operand of `from`.
Tensor unpad(const Tensor& x, const Dims& from, const PadAttrs& attrs) {
  const auto& [low, high, interior] = attrs;
  Dims cut_low, cut_high, strides, limits;
  for (std::size_t i = 0; i < from.size(); ++i) {
    cut_low.push_back(-low[i]);
    cut_high.push_back(-high[i]);
    strides.push_back(interior[i] + 1);
    limits.push_back(from[i] == 0 ? 0 : (from[i] - 1) * strides[i] + 1);
  }
  const Dims zeros(from.size(), 0);
  return slice_dims(pad_dims(x, {}, cut_low, cut_high, zeros), zeros, limits, strides);
}

Tensors pad_gradient(const GradCall& call) {
  const auto& attrs = call.attrs.as<PadAttrs>();
  const Dims from = dims_of(call.in[0]);
  const Tensor& g = call.g[0];
  Tensors gradients(2);
  if (call.wanted[0]) gradients[0] = unpad(g, from, attrs);
  if (call.wanted[1]) {
    // What the value reached: everything but the places of the operand's elements.
    const Dims zeros(from.size(), 0);
    const Tensor holes = pad_dims(full_dims(Number(0), g.type(), from),
                                  scalar(Number(1), g.type()), attrs.low, attrs.high,
                                  attrs.interior);
    gradients[1] = sum_dims(multiply(g, holes), iota_dims(from.size()));
  }
  return gradients;
}

Tensors vectorize_pad(const VectorizeCall& call) {
  auto [low, high, interior] = call.attrs.as<PadAttrs>();
  const Dims lead(at(call.count), 0);
  for (Dims* const list : {&low, &high, &interior})
    list->insert(list->begin(), lead.begin(), lead.end());
  const Tensor& x = call.in[0];
  // Every lane has its own value: pad with 0, then select the value in the holes.
  const Tensor padded = pad_dims(x, {}, low, high, interior);
  const Tensor holes = pad_dims(full_dims(Number(0), DType::u8, dims_of(x)),
                                scalar(Number(1), DType::u8), low, high, interior);
  const Tensor values =
      broadcast_dims(call.in[1], dims_of(padded), iota_dims(at(call.count)));
  return {select(holes, values, padded)};
}

std::vector<stablehlo::Value> lower_pad(const LowerCall& call) {
  const auto& [low, high, interior] = call.attrs.as<PadAttrs>();
  return lower_simple(call, "pad",
                      fmt::format("edge_padding_low = {}, edge_padding_high = {}, "
                                  "interior_padding = {}",
                                  Writer::array(low), Writer::array(high),
                                  Writer::array(interior)));
}

std::unique_ptr<kernels::PreparedKernel> prepare_pad(const KernelSpec& spec) {
  const auto& [low, high, interior] = spec.attrs.as<PadAttrs>();
  return kernels::prepare_pad(spec_of(spec.in[0]), low, high, interior);
}

Tensor simplify_pad(const SimplifyCall& call) {
  const auto& [low, high, interior] = call.attrs.as<PadAttrs>();
  const Dims zeros(low.size(), 0);
  const Dims dims = dims_of(call.in[0]);
  if (low == zeros && high == zeros && interior == zeros) return call.in[0];
  if (element_count(dims) == 0) return broadcast_dims(call.in[1], call.out[0].dims, {});
  // Only cuts: a slice, which is a view.
  Dims starts, limits;
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (low[i] > 0 || high[i] > 0 || interior[i] != 0) return {};
    starts.push_back(-low[i]);
    limits.push_back(dims[i] + high[i]);
  }
  return slice_dims(call.in[0], starts, limits, Dims(low.size(), 1));
}

// -- dynamic slice and its update -------------------------------------------------------------

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
  return lower_simple(call, "dynamic_slice", "slice_sizes = " + Writer::array(lengths));
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
  const std::vector<stablehlo::Value> updated = lower_simple(call, "dynamic_update_slice", "");
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

const graph::OpRow kConcatenate{
    .name = "concatenate",
    .infer = infer_concatenate,
    .gradient = graph::Gradient(concatenate_gradient),
    .vectorize = vectorize_concatenate,
    .lower = lower_concatenate,
    .host = graph::HostRule(graph::KernelRule{prepare_concatenate}),
    .simplify = simplify_concatenate,
};
const graph::OpRow kPad{
    .name = "pad",
    .infer = infer_pad,
    .gradient = graph::Gradient(pad_gradient),
    .vectorize = vectorize_pad,
    .lower = lower_pad,
    .host = graph::HostRule(graph::KernelRule{prepare_pad}),
    .simplify = simplify_pad,
};
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
