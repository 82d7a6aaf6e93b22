// Rows that put arrays together: concatenate and pad.
#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/match.h"
#include "graph/trace.h"
#include "kernels/assemble.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/elementwise_rows.h"
#include "ops/movement.h"
#include "ops/reduce.h"
#include "ops/view_rows.h"

namespace nx::ops {

void check_same_type(std::string_view operation, const graph::TensorType& a,
                     const graph::TensorType& b) {
  if (a.type != b.type)
    throw DTypeError(operation, fmt::format("expected one element type, got {} and {}",
                                            name_of(a.type), name_of(b.type)));
}

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
  return lower_as(call, "concatenate",
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
  return lower_as(call, "pad",
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

}  // namespace nx::ops
