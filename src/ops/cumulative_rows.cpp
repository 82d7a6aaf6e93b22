// The rows of cumulative reductions. The host's kernel makes one pass; gradients and lowerings are
// those of about log2(n) steps, each of which combines every element with the one 1, 2, 4, … places
// before it (W. D. Hillis, G. L. Steele, "Data parallel algorithms", CACM 29, 1986).
#include <fmt/format.h>

#include "core/at.h"
#include "graph/trace.h"
#include "kernels/cumulative.h"
#include "ops/arithmetic.h"
#include "ops/binary.h"
#include "ops/cumulative.h"
#include "ops/movement.h"
#include "ops/view_rows.h"

namespace nx::ops {
namespace {

using graph::Attrs;
using graph::GradCall;
using graph::LowerCall;
using graph::OpRow;
using graph::Tensors;
using graph::TensorType;
using graph::TensorTypes;
using graph::VectorizeCall;
using kernels::Reduction;
using stablehlo::Value;

template <const OpRow& kRow, const OpRow& kCombine>
TensorTypes infer(std::span<const TensorType> in, const Attrs& attrs) {
  const std::int64_t axis = attrs.as<CumulativeAttrs>().axis;
  if (axis < 0 || axis >= static_cast<std::int64_t>(in[0].dims.size()))
    throw ShapeError(kRow.name,
                     fmt::format("axis {} is out of range for {}", axis, to_string(in[0].dims)));
  if (is_float(in[0].type) && bits_of(in[0].type) < 32)
    throw DTypeError(kRow.name, fmt::format("does not take {}", name_of(in[0].type)));
  return (*kCombine.infer)(TensorTypes{in[0], in[0]}, {});
}

Tensors sum_gradient(const GradCall& call) {
  const auto& [axis, reverse] = call.attrs.as<CumulativeAttrs>();
  return {cumulate_dims(kCumulativeSum, call.g[0], {axis, !reverse})};
}

/// Back through the steps.
template <const OpRow& kCombine>
Tensors gradient(const GradCall& call) {
  const auto [axis, reverse] = call.attrs.as<CumulativeAttrs>();
  const std::int64_t size = dims_of(call.in[0])[at(axis)];
  const auto part = [&, along = axis](const Tensor& x, std::int64_t from, std::int64_t to) {
    return part_dims(x, along, from, to);
  };
  struct Step {
    std::int64_t distance;
    Tensor near, far;
  };
  std::vector<Step> steps;
  Tensor x = call.in[0];
  for (std::int64_t d = 1; d < size; d *= 2) {
    steps.push_back({d, part(x, 0, size - d), part(x, d, size)});
    const Tensor combined = graph::emit(kCombine, {steps.back().near, steps.back().far}, {}, {});
    const Tensor forward[] = {part(x, 0, d), combined},
                 back[] = {combined, part(x, size - d, size)};
    x = concatenate_dims(reverse ? back : forward, axis);
  }
  Tensor g = call.g[0];
  const bool wanted[] = {true, true};
  const Dims none(dims_of(x).size(), 0);
  for (; !steps.empty(); steps.pop_back()) {
    const auto& [d, near, far] = steps.back();
    const Tensor in[] = {near, far};
    const Tensor of_combined[] = {reverse ? part(g, 0, size - d) : part(g, d, size)};
    const Tensors made = kCombine.gradient->fn({in, {}, of_combined, {}, wanted});
    Dims shift = none;
    shift[at(axis)] = d;
    const Tensor forward[] = {part(g, 0, d), made[1]}, back[] = {made[0], part(g, size - d, size)};
    g = add(concatenate_dims(reverse ? back : forward, axis),
            reverse ? pad_dims(made[1], {}, shift, none, none)
                    : pad_dims(made[0], {}, none, shift, none));
  }
  return {g};
}

template <const OpRow& kRow>
Tensors vectorize(const VectorizeCall& call) {
  const auto& [axis, reverse] = call.attrs.as<CumulativeAttrs>();
  return {cumulate_dims(kRow, call.in[0], {axis + call.count, reverse})};
}

template <const OpRow& kCombine>
std::vector<Value> lower(const LowerCall& call) {
  const auto [axis, reverse] = call.attrs.as<CumulativeAttrs>();
  const TensorType& type = call.in_types[0];
  const std::int64_t size = type.dims[at(axis)];
  Value x = call.in[0];
  const auto part = [&, along = axis](std::int64_t from, std::int64_t to) {
    return lower_part(call.writer, x, along, from, to);
  };
  for (std::int64_t d = 1; d < size; d *= 2) {
    const Value in[] = {part(0, size - d), part(d, size)};
    const TensorType types[] = {{type.type, in[0].type.dims}, {type.type, in[0].type.dims}};
    const Value combined =
        (*kCombine.lower)({call.writer, in, types, {types, 1}, call.attrs}).front();
    const Value other = reverse ? part(size - d, size) : part(0, d);
    x = call.writer.op("concatenate", {reverse ? combined : other, reverse ? other : combined},
                       {type.type, type.dims}, fmt::format("dimension = {} : i64", axis));
  }
  return {x};
}

template <Reduction kReduction>
std::unique_ptr<kernels::PreparedKernel> prepare(const graph::KernelSpec& spec) {
  const auto& [axis, reverse] = spec.attrs.as<CumulativeAttrs>();
  return kernels::prepare_cumulative(spec_of(spec.in[0]), {kReduction, at(axis), reverse});
}

template <const OpRow& kRow, const OpRow& kCombine, Reduction kReduction>
constexpr OpRow row(std::string_view name, graph::GradFn grad) {
  return {
      .name = name,
      .infer = infer<kRow, kCombine>,
      .gradient = graph::Gradient(grad),
      .vectorize = vectorize<kRow>,
      .lower = lower<kCombine>,
      .host = graph::HostRule(
          graph::KernelRule{.prepare = prepare<kReduction>, .outruns_xla = graph::is_from<1024>}),
  };
}

}  // namespace

constinit const OpRow kCumulativeSum =
    row<kCumulativeSum, kAdd, Reduction::kSum>("cumulative_sum", sum_gradient);
constinit const OpRow kCumulativeProduct = row<kCumulativeProduct, kMultiply, Reduction::kProduct>(
    "cumulative_product", gradient<kMultiply>);
constinit const OpRow kCumulativeMax =
    row<kCumulativeMax, kMax, Reduction::kMax>("cumulative_max", gradient<kMax>);
constinit const OpRow kCumulativeMin =
    row<kCumulativeMin, kMin, Reduction::kMin>("cumulative_min", gradient<kMin>);

Tensor cumulate_dims(const OpRow& row, const Tensor& x, CumulativeAttrs attrs,
                     SourceLocation where) {
  if (dims_of(x)[at(attrs.axis)] <= 1) return x;
  return graph::emit(row, {x}, Attrs::of(attrs), where);
}

}  // namespace nx::ops
