// The row of iota, and scalars and constants for the rules of all families.
#include <fmt/format.h>

#include <cstring>

#include "core/at.h"
#include "graph/dispatch.h"
#include "graph/trace.h"
#include "kernels/iota.h"
#include "ops/creation.h"
#include "ops/elementwise.h"
#include "ops/movement.h"

namespace nx::ops {
namespace {

using graph::Attrs;
using graph::LowerCall;
using graph::Tensors;
using graph::TensorType;
using graph::TensorTypes;
using graph::VectorizeCall;

TensorTypes infer_iota(std::span<const TensorType>, const Attrs& attrs) {
  const auto& [type, dims, axis] = attrs.as<IotaAttrs>();
  element_count(dims);
  if (axis < -1 || axis >= static_cast<std::int64_t>(dims.size()))
    throw ShapeError("iota", fmt::format("axis {} is out of range for {}", axis, to_string(dims)));
  return {{type, dims}};
}

// It has no operands: the same values serve every lane.
Tensors vectorize_iota(const VectorizeCall&) { return {}; }

std::vector<stablehlo::Value> lower_iota(const LowerCall& call) {
  const auto& [type, dims, axis] = call.attrs.as<IotaAttrs>();
  if (axis >= 0)
    return {call.writer.op("iota", {}, {type, dims}, fmt::format("iota_dimension = {} : i64", axis))};
  const stablehlo::Value flat =
      call.writer.op("iota", {}, {type, {element_count(dims)}}, "iota_dimension = 0 : i64");
  return {call.writer.reshape(flat, dims)};
}

void fill_iota(const TensorType& out, const Attrs& attrs, std::int64_t first, std::size_t count,
               void* to) {
  const std::int64_t axis = attrs.as<IotaAttrs>().axis;
  std::int64_t inner = 1, size = out.count();
  if (axis >= 0) {
    size = out.dims[at(axis)];
    for (std::size_t i = at(axis) + 1; i < out.dims.size(); ++i) inner *= out.dims[i];
  }
  kernels::fill_iota(out.type, size, inner, first, count, to);
}

/// The number as the element type can hold it, so that equal constants have equal attributes.
Number as_element(const Number& number, DType type) {
  alignas(16) unsigned char bytes[16];
  write_number(number, type, bytes);
  return visit_element(type, [&](auto element) -> Number {
    std::memcpy(&element, bytes, sizeof element);
    if constexpr (std::is_class_v<decltype(element)> && sizeof(element) <= 2)
      return Number(static_cast<float>(element));
    else
      return Number(element);
  });
}

}  // namespace

const graph::OpRow kIota{
    .name = "iota",
    .infer = infer_iota,
    .gradient = graph::Gradient(graph::zero_gradient_rule),
    .vectorize = vectorize_iota,
    .lower = lower_iota,
    .host = graph::HostRule(graph::GenerateRule{fill_iota}),
};

Tensor scalar(const Number& value, DType type) {
  if (graph::Trace* const trace = graph::current_trace())
    return trace->literal(as_element(value, type), type);
  Tensor made = graph::new_tensor(type, {});
  write_number(value, type, graph::data_of(made));
  return made;
}

Tensor full_dims(const Number& value, DType type, const Dims& dims) {
  return broadcast_dims(scalar(value, type), dims, {});
}

Tensor iota_along(DType type, Dims dims, std::int64_t axis) {
  return graph::emit(kIota, std::span<const Tensor>(),
                     Attrs::of(IotaAttrs{type, std::move(dims), axis}), {});
}

}  // namespace nx::ops
