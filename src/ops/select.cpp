// Row and function of select, and clip.
#include "kernels/simd_targets.h"
#include "nx/select.h"
#include "ops/binary.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/select.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nx::ops::HWY_NAMESPACE {
namespace {

struct Pair64 {
  std::uint64_t low, high;
};

template <class T>
void select_tile(const kernels::TileCall& call) {
  const auto* const p = static_cast<const std::uint8_t*>(call.in[0]);
  const T* const a = static_cast<const T*>(call.in[1]);
  const T* const b = static_cast<const T*>(call.in[2]);
  T* const out = static_cast<T*>(call.out);
  NX_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < call.count; ++i) {
    const T x = a[i], y = b[i];  // both are read, so that the choice needs no branch
    out[i] = p[i] != 0 ? x : y;
  }
}

}  // namespace

/// By the width of an element: what the bits mean does not matter.
kernels::TileKernel select(DType type) {
  switch (byte_size_of(type)) {
    case 1: return &select_tile<std::uint8_t>;
    case 2: return &select_tile<std::uint16_t>;
    case 4: return &select_tile<std::uint32_t>;
    case 8: return &select_tile<std::uint64_t>;
    default: return &select_tile<Pair64>;
  }
}

}  // namespace nx::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include <array>

#include "graph/match.h"
#include "nx/binary.h"
#include "nx/type.h"
#include "ops/creation.h"
#include "ops/elementwise_functions.h"
#include "ops/elementwise_rows.h"
#include "ops/families.h"
#include "ops/labels.h"
#include "ops/movement.h"

namespace nx::ops {

NX_EXPORT_KERNEL(kSelect, select, 3)

namespace {

graph::TensorTypes infer_select(std::span<const graph::TensorType> in, const graph::Attrs&) {
  if (in.size() != 3 || in[0].type != DType::u8 || !(in[1] == in[2]) || in[0].dims != in[1].dims)
    throw InternalError("select", "expected a u8 predicate and two values of one type and shape");
  return {in[1]};
}

graph::Tensors select_gradient(const graph::GradCall& c) {
  const Tensor zero = full_dims(Number(0), c.g[0].type(), dims_of(c.g[0]));
  return {Tensor(), c.wanted[1] ? select(c.in[0], c.g[0], zero) : Tensor(),
          c.wanted[2] ? select(c.in[0], zero, c.g[0]) : Tensor()};
}

graph::Tensors vectorize_select(const graph::VectorizeCall& call) {
  return {graph::emit(kSelect, call.in, call.attrs, {})};
}

std::vector<stablehlo::Value> lower_select(const graph::LowerCall& call) {
  return {call.writer.select(call.in[0], call.in[1], call.in[2])};
}

kernels::TileKernel select_rule(std::span<const DType> in, DType) { return select_kernel(in[1]); }

Tensor simplify_select(const graph::SimplifyCall& call) {
  if (const auto known = graph::splat_of(call.in[0])) return call.in[known->real() != 0 ? 1 : 2];
  return {};
}

}  // namespace

constinit const graph::OpRow kSelect{
    .name = "select",
    .infer = infer_select,
    .gradient = graph::Gradient(select_gradient),
    .vectorize = vectorize_select,
    .lower = lower_select,
    .host = graph::HostRule(graph::ElementwiseRule{select_rule, 0.1f}),
    .simplify = simplify_select,
};

namespace {

const graph::OpRow* const kOps[] = {&kSelect};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "select",
                  .doc = "The second where the first is not 0, else the third.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(2, 1, 2, 3); },
                  .call = erase<&nx::select>}),
    function_row({.name = "clip",
                  .doc = "The element brought between two bounds.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(3, 5, 1, 3); },
                  .call = erase<&nx::clip>}),
};

}  // namespace

constinit const Family kSelectFamily{"select", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {
namespace {

bool has_names(const Operand& a, const Operand& b) {
  const auto named = [](const Operand& x) { return !x.is_number() && !x.tensor().names().empty(); };
  return named(a) || named(b);
}
Tensor without_names(const Operand& x) {
  if (x.is_number() || x.tensor().names().empty()) return x.is_number() ? Tensor() : x.tensor();
  return detail::Access::with_labels(x.tensor(), {}, x.tensor().vectorized_axes());
}

}  // namespace

Tensor select(const Operand& predicate, const Operand& on_true, const Operand& on_false) {
  const Operand values[] = {on_true, on_false};
  const DType type = ops::merge_operand_types(values);
  const bool is_mask = !predicate.is_number() && predicate.tensor().type() == DType::u8;
  const Tensor truth = is_mask ? Tensor() : not_equal(predicate, 0);
  const Operand mask = is_mask ? predicate : Operand(truth, predicate.where());
  const std::array<DType, 3> types = {DType::u8, type, type};
  if (mask.is_number() || mask.tensor().rank() == 0 || !has_names(on_true, on_false)) {
    const std::array<Operand, 3> operands = {mask, on_true, on_false};
    return ops::elementwise_typed(ops::kSelect, operands, types, type);
  }
  // The predicate gives the shape, and so the names.
  const Tensor a = without_names(on_true), b = without_names(on_false);
  const std::array<Operand, 3> operands = {mask, on_true.is_number() ? on_true : Operand(a),
                                           on_false.is_number() ? on_false : Operand(b)};
  return ops::elementwise_typed(ops::kSelect, operands, types, type);
}

Tensor clip(const Operand& x, const Operand& low, const Operand& high) {
  DType type = DType::u2;
  bool first = true;
  for (const Operand* const operand : {&x, &low, &high}) {
    const DType own = operand->is_number() ? default_type(operand->number())
                                           : graph::type_of(operand->tensor(), "clip").type;
    if (is_complex(own))
      throw DTypeError("clip", fmt::format("does not take {}", name_of(own)), x.where());
    if (operand != &x && !operand->is_number() && operand->tensor().rank() != 0)
      throw ShapeError("clip", fmt::format("bounds are scalars; got {}",
                                           to_string(own, operand->tensor().shape())), x.where());
    type = first ? own : merge_types(type, own);
    first = false;
  }
  const auto cast = [&](const Operand& operand) { return as_type(operand, type); };
  return min(max(cast(x), cast(low)), cast(high));
}

}  // namespace nx
#endif
