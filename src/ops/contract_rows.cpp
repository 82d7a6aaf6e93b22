// The row of dot.
#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/match.h"
#include "graph/trace.h"
#include "kernels/dot.h"
#include "ops/contract.h"
#include "ops/movement.h"

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

bool contains(const Dims& list, std::int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

void check_axes(const char* side, const Dims& dims, const Dims& contract, const Dims& batch) {
  Dims all = contract;
  all.insert(all.end(), batch.begin(), batch.end());
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i] < 0 || at(all[i]) >= dims.size())
      throw ShapeError("dot", fmt::format("operand {} of {} has no axis {}", side,
                                          to_string(dims), all[i]));
    if (i > 0 && all[i] == all[i - 1])
      throw ShapeError("dot", fmt::format("axis {} of operand {} is given twice", all[i], side));
  }
}

void check_pairs(const char* what, const TensorType& a, const Dims& axes_a, const TensorType& b,
                 const Dims& axes_b) {
  if (axes_a.size() != axes_b.size())
    throw ShapeError("dot", fmt::format("expected as many {} axes on both sides, got {} and {}",
                                        what, to_string(axes_a), to_string(axes_b)));
  for (std::size_t i = 0; i < axes_a.size(); ++i)
    if (a.dims[at(axes_a[i])] != b.dims[at(axes_b[i])])
      throw ShapeError("dot", fmt::format("{} axes must have one size: axis {} of {} is {}, axis "
                                          "{} of {} is {}",
                                          what, axes_a[i], to_string(a.dims),
                                          a.dims[at(axes_a[i])], axes_b[i], to_string(b.dims),
                                          b.dims[at(axes_b[i])]));
}

TensorTypes infer_dot(std::span<const TensorType> in, const Attrs& attrs) {
  const auto& [contract_a, batch_a, contract_b, batch_b] = attrs.as<DotAttrs>();
  const TensorType &a = in[0], &b = in[1];
  if (a.type != b.type)
    throw DTypeError("dot", fmt::format("expected one element type, got {} and {}",
                                        name_of(a.type), name_of(b.type)));
  check_axes("a", a.dims, contract_a, batch_a);
  check_axes("b", b.dims, contract_b, batch_b);
  check_pairs("contracted", a, contract_a, b, contract_b);
  check_pairs("batch", a, batch_a, b, batch_b);
  TensorType out{a.type, {}};
  for (const auto axis : batch_a) out.dims.push_back(a.dims[at(axis)]);
  for (const auto axis : free_axes(static_cast<int>(a.dims.size()), contract_a, batch_a))
    out.dims.push_back(a.dims[at(axis)]);
  for (const auto axis : free_axes(static_cast<int>(b.dims.size()), contract_b, batch_b))
    out.dims.push_back(b.dims[at(axis)]);
  element_count(out.dims);
  return {out};
}

Dims count_from(std::int64_t first, std::size_t count) {
  Dims axes;
  for (std::size_t i = 0; i < count; ++i) axes.push_back(first + static_cast<std::int64_t>(i));
  return axes;
}

/// Axes of `other` in ascending order, each as its partner in `mine`.
Dims partners_in_order(const Dims& mine, const Dims& other) {
  Dims order = count_from(0, other.size());
  std::sort(order.begin(), order.end(),
            [&](std::int64_t x, std::int64_t y) { return other[at(x)] < other[at(y)]; });
  Dims axes;
  for (const auto i : order) axes.push_back(mine[at(i)]);
  return axes;
}

/// A tensor whose axes are the axes `have` of an operand, as that operand.
Tensor in_order(const Tensor& x, const Dims& have) {
  Dims permutation(have.size());
  for (std::size_t i = 0; i < have.size(); ++i)
    permutation[at(have[i])] = static_cast<std::int64_t>(i);
  return transpose_dims(x, permutation);
}

// With out = [batch, free a, free b]: the gradient of a is g contracted with b over b's free axes,
// that of b is a contracted with g over a's free axes. Both come out without a transposition for
// plain matrix products.
Tensors dot_gradient(const GradCall& call) {
  const auto& [contract_a, batch_a, contract_b, batch_b] = call.attrs.as<DotAttrs>();
  const Tensor &a = call.in[0], &b = call.in[1], &g = call.g[0];
  const Dims free_a = free_axes(static_cast<int>(dims_of(a).size()), contract_a, batch_a);
  const Dims free_b = free_axes(static_cast<int>(dims_of(b).size()), contract_b, batch_b);
  const auto batches = static_cast<std::int64_t>(batch_a.size());
  const Dims g_batch = count_from(0, batch_a.size());
  const Dims g_a = count_from(batches, free_a.size());
  const Dims g_b = count_from(batches + static_cast<std::int64_t>(free_a.size()), free_b.size());
  Tensors gradients(2);
  if (call.wanted[0]) {
    Dims have = batch_a;
    const Dims rest = partners_in_order(contract_a, contract_b);
    have.insert(have.end(), free_a.begin(), free_a.end());
    have.insert(have.end(), rest.begin(), rest.end());
    gradients[0] = in_order(dot_dims(g, b, {g_b, g_batch, free_b, batch_b}), have);
  }
  if (call.wanted[1]) {
    Dims have = batch_b;
    const Dims rest = partners_in_order(contract_b, contract_a);
    have.insert(have.end(), rest.begin(), rest.end());
    have.insert(have.end(), free_b.begin(), free_b.end());
    gradients[1] = in_order(dot_dims(a, g, {free_a, batch_a, g_a, g_batch}), have);
  }
  return gradients;
}

Tensors vectorize_dot(const VectorizeCall& call) {
  DotAttrs attrs = call.attrs.as<DotAttrs>();
  for (Dims* const contract : {&attrs.contract_a, &attrs.contract_b})
    for (auto& axis : *contract) axis += call.count;
  attrs.batch_a = shift_axes(attrs.batch_a, call.count);
  attrs.batch_b = shift_axes(attrs.batch_b, call.count);
  return {dot_dims(call.in[0], call.in[1], std::move(attrs))};
}

std::vector<stablehlo::Value> lower_dot(const LowerCall& call) {
  const auto& [contract_a, batch_a, contract_b, batch_b] = call.attrs.as<DotAttrs>();
  return {call.writer.op(
      "dot_general", {call.in[0], call.in[1]}, {call.out_types[0].type, call.out_types[0].dims},
      fmt::format("dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = {}, "
                  "rhs_batching_dimensions = {}, lhs_contracting_dimensions = {}, "
                  "rhs_contracting_dimensions = {}>, precision_config = "
                  "[#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]",
                  Writer::list(batch_a), Writer::list(batch_b), Writer::list(contract_a),
                  Writer::list(contract_b)))};
}

kernels::DotSpec dot_spec(const graph::KernelSpec& spec) {
  const auto& [contract_a, batch_a, contract_b, batch_b] = spec.attrs.as<DotAttrs>();
  return {{spec.in[0].type, spec.in[0].dims},
          {spec.in[1].type, spec.in[1].dims},
          contract_a, batch_a, contract_b, batch_b};
}

std::unique_ptr<kernels::PreparedKernel> prepare(const graph::KernelSpec& spec) {
  return kernels::prepare_dot(dot_spec(spec));
}

/// Of products that our own kernel takes those where its lead pays for the call (decision 14).
bool outruns_xla(const graph::KernelSpec& spec) {
  constexpr double kLeastProducts = 1 << 18;
  double products = static_cast<double>(spec.out[0].count());
  for (const std::int64_t axis : spec.attrs.as<DotAttrs>().contract_a)
    products *= static_cast<double>(spec.in[0].dims[at(axis)]);
  return products >= kLeastProducts && kernels::is_small_dot(dot_spec(spec));
}

/// Replaces a transposed operand by what it transposes: dot reads any strides. Not when that
/// changed the order of the free axes in the result.
bool fold_transpose(Tensor& x, Dims& contract, Dims& batch) {
  if (!graph::is_made_by(x, kTranspose)) return false;
  const Dims permutation = graph::producer(x)->attrs.as<TransposeAttrs>().permutation;
  std::int64_t last = -1;
  for (const auto axis : free_axes(static_cast<int>(permutation.size()), contract, batch)) {
    if (permutation[at(axis)] < last) return false;
    last = permutation[at(axis)];
  }
  for (Dims* const axes : {&contract, &batch})
    for (auto& axis : *axes) axis = permutation[at(axis)];
  x = graph::operand_of(x, 0);
  return true;
}

Tensor simplify_dot(const SimplifyCall& call) {
  DotAttrs attrs = call.attrs.as<DotAttrs>();
  Tensor a = call.in[0], b = call.in[1];
  const bool left = fold_transpose(a, attrs.contract_a, attrs.batch_a);
  const bool right = fold_transpose(b, attrs.contract_b, attrs.batch_b);
  return left || right ? dot_dims(a, b, std::move(attrs)) : Tensor();
}

}  // namespace

Dims free_axes(int rank, const Dims& contract, const Dims& batch) {
  Dims axes;
  for (std::int64_t i = 0; i < rank; ++i)
    if (!contains(contract, i) && !contains(batch, i)) axes.push_back(i);
  return axes;
}

Tensor dot_dims(const Tensor& a, const Tensor& b, DotAttrs attrs) {
  return graph::emit(kDot, {a, b}, Attrs::of(std::move(attrs)), {});
}

const graph::OpRow kDot{
    .name = "dot",
    .infer = infer_dot,
    .gradient = graph::Gradient(dot_gradient),
    .vectorize = vectorize_dot,
    .lower = lower_dot,
    .host = graph::HostRule(graph::KernelRule{.prepare = prepare, .outruns_xla = outruns_xla}),
    .simplify = simplify_dot,
};

}  // namespace nx::ops
