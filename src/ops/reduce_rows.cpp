// Rows of the reductions (sum, product, max, min, all, any) and of argmax and argmin.
#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/match.h"
#include "graph/trace.h"
#include "kernels/reduce.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/movement.h"
#include "ops/reduce.h"

namespace nx::ops {
namespace {

using graph::Attrs;
using graph::GradCall;
using graph::LowerCall;
using graph::ReduceAttrs;
using graph::SimplifyCall;
using graph::Tensors;
using graph::TensorType;
using graph::TensorTypes;
using graph::VectorizeCall;
using kernels::Reduction;

bool contains(const Dims& list, std::int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

// -- shape and type ---------------------------------------------------------------------------

TensorTypes infer(std::string_view name, Reduction reduction, std::span<const TensorType> in,
                  const Attrs& attrs) {
  const Dims& axes = attrs.as<ReduceAttrs>().axes;
  TensorType out{in[0].type, {}};
  for (std::size_t i = 0; i < axes.size(); ++i)
    if (axes[i] < 0 || axes[i] >= static_cast<std::int64_t>(in[0].dims.size()) ||
        (i > 0 && axes[i] <= axes[i - 1]))
      throw ShapeError(name, fmt::format("axes {} are not ascending axes of {}", to_string(axes),
                                         to_string(in[0].dims)));
  for (std::size_t i = 0; i < in[0].dims.size(); ++i)
    if (!contains(axes, static_cast<std::int64_t>(i))) out.dims.push_back(in[0].dims[i]);
  if (kernels::combine_kernel(reduction, in[0].type) == nullptr)
    throw DTypeError(name, fmt::format("does not take {}", name_of(in[0].type)));
  return {out};
}

template <Reduction kReduction>
struct Names;
template <> struct Names<Reduction::kSum> { static constexpr const char *kName = "sum", *kBody = "add"; };
template <> struct Names<Reduction::kProduct> { static constexpr const char *kName = "product", *kBody = "multiply"; };
template <> struct Names<Reduction::kMax> { static constexpr const char *kName = "reduce_max", *kBody = "maximum"; };
template <> struct Names<Reduction::kMin> { static constexpr const char *kName = "reduce_min", *kBody = "minimum"; };
template <> struct Names<Reduction::kAll> { static constexpr const char *kName = "all", *kBody = "and"; };
template <> struct Names<Reduction::kAny> { static constexpr const char *kName = "any", *kBody = "or"; };

template <Reduction kReduction>
TensorTypes infer_reduce(std::span<const TensorType> in, const Attrs& attrs) {
  return infer(Names<kReduction>::kName, kReduction, in, attrs);
}

// -- gradients --------------------------------------------------------------------------------

Tensor expand_like(const GradCall& call, const Tensor& reduced) {
  return expand_reduced(reduced, dims_of(call.in[0]), call.attrs.as<ReduceAttrs>().axes);
}

Tensors sum_gradient(const GradCall& call) { return {expand_like(call, call.g[0])}; }

// The upstream gradient goes to the extreme elements, in equal parts.
Tensors extreme_gradient(const GradCall& call) {
  const Tensor& x = call.in[0];
  const Tensor hit = as_type(equal(x, expand_like(call, call.out[0])), x.type());
  const Tensor share = divide(call.g[0], sum_dims(hit, call.attrs.as<ReduceAttrs>().axes));
  return {multiply(hit, expand_like(call, share))};
}

// d(product)/dx_i is the product of the others. By division only where no factor is 0: it is the
// product of all elements before and after i, found by halving the axis again and again.
Tensor products_of_others(const Tensor& x) {  // along axis 0
  const Dims dims = dims_of(x);
  const std::int64_t count = dims[0];
  if (count <= 1) return full_dims(Number(1), x.type(), dims);
  Dims starts(dims.size(), 0), middle = dims;
  const Dims strides(dims.size(), 1);
  const std::int64_t half = count / 2;
  middle[0] = half;
  Dims second = starts;
  second[0] = half;
  const Tensor low = slice_dims(x, starts, middle, strides);
  const Tensor high = slice_dims(x, second, dims, strides);
  const Tensor low_product = reduce_dims(kReduceProduct, low, {0});
  const Tensor high_product = reduce_dims(kReduceProduct, high, {0});
  const Tensor parts[] = {
      multiply(products_of_others(low), expand_reduced(high_product, middle, {0})),
      multiply(products_of_others(high), expand_reduced(low_product, dims_of(high), {0}))};
  return concatenate_dims(parts, 0);
}

Tensors product_gradient(const GradCall& call) {
  const Tensor& x = call.in[0];
  const Dims dims = dims_of(x);
  const Dims& axes = call.attrs.as<ReduceAttrs>().axes;
  Dims order = axes, flat{1}, inverse(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (!contains(axes, static_cast<std::int64_t>(i))) order.push_back(static_cast<std::int64_t>(i));
  Dims moved;
  for (std::size_t i = 0; i < order.size(); ++i) {
    inverse[at(order[i])] = static_cast<std::int64_t>(i);
    moved.push_back(dims[at(order[i])]);
    if (i < axes.size()) flat[0] *= moved.back();
    else flat.push_back(moved.back());
  }
  const Tensor others = products_of_others(reshape_dims(transpose_dims(x, order), flat));
  const Tensor back = transpose_dims(reshape_dims(others, moved), inverse);
  return {multiply(back, expand_like(call, call.g[0]))};
}

// -- vectorise, lower, simplify ---------------------------------------------------------------

template <const graph::OpRow& kRow>
Tensors vectorize_reduce(const VectorizeCall& call) {
  Dims axes = call.attrs.as<ReduceAttrs>().axes;
  for (auto& axis : axes) axis += call.count;
  return {reduce_dims(kRow, call.in[0], axes)};
}

template <Reduction kReduction>
std::vector<stablehlo::Value> lower_reduce(const LowerCall& call) {
  const DType type = call.in_types[0].type;
  const auto init = call.writer.constant(kernels::reduction_identity(kReduction, type), type);
  return {call.writer.reduce(call.in[0], init, call.attrs.as<ReduceAttrs>().axes,
                             Names<kReduction>::kBody)};
}

template <const graph::OpRow& kRow>
Tensor simplify_reduce(const SimplifyCall& call) {
  const Dims& axes = call.attrs.as<ReduceAttrs>().axes;
  const Tensor& x = call.in[0];
  const Dims dims = dims_of(x);
  bool ones = true;  // one element is its own sum, product, maximum …
  for (const std::int64_t axis : axes) ones = ones && dims[at(axis)] == 1;
  if (ones) return reshape_dims(x, call.out[0].dims);
  return {};
}

template <Reduction kReduction>
kernels::TileKernel combine(DType type) {
  return kernels::combine_kernel(kReduction, type);
}
template <Reduction kReduction>
kernels::RowReduceKernel row(DType type) {
  return kernels::row_reduce_kernel(kReduction, type);
}
template <Reduction kReduction>
Number identity(DType type) {
  return kernels::reduction_identity(kReduction, type);
}

template <Reduction kReduction>
constexpr graph::HostRule host_rule() {
  return graph::HostRule(
      graph::ReduceRule{combine<kReduction>, row<kReduction>, identity<kReduction>});
}

// -- argmax and argmin ------------------------------------------------------------------------

TensorTypes infer_arg(std::string_view name, std::span<const TensorType> in, const Attrs& attrs) {
  const auto& [axis, last, type] = attrs.as<ArgReduceAttrs>();
  if (is_complex(in[0].type))
    throw DTypeError(name, fmt::format("does not take {}", name_of(in[0].type)));
  Dims dims = in[0].dims;
  if (axis < 0 || axis >= static_cast<std::int64_t>(dims.size()))
    throw ShapeError(name, fmt::format("axis {} is out of range for {}", axis, to_string(dims)));
  if (dims[at(axis)] == 0)
    throw ShapeError(name, fmt::format("axis {} of {} is empty", axis, to_string(dims)));
  dims.erase(dims.begin() + axis);
  return {{type, dims}};
}
TensorTypes infer_argmax(std::span<const TensorType> in, const Attrs& attrs) {
  return infer_arg("argmax", in, attrs);
}
TensorTypes infer_argmin(std::span<const TensorType> in, const Attrs& attrs) {
  return infer_arg("argmin", in, attrs);
}

template <const graph::OpRow& kRow>
Tensors vectorize_arg(const VectorizeCall& call) {
  ArgReduceAttrs attrs = call.attrs.as<ArgReduceAttrs>();
  attrs.axis += call.count;
  return {graph::emit(kRow, call.in, Attrs::of(attrs), {})};
}

// A reduction of (value, index) pairs. NaN is above everything, then the better value, then the
// place that tie_break asks for.
template <bool kLargest>
std::vector<stablehlo::Value> lower_arg(const LowerCall& call) {
  using stablehlo::Type;
  using stablehlo::Value;
  stablehlo::Writer& w = call.writer;
  const ArgReduceAttrs attrs = call.attrs.as<ArgReduceAttrs>();
  const DType type = call.in_types[0].type;
  const Value index = w.op("iota", {}, {DType::s64, call.in_types[0].dims},
                           fmt::format("iota_dimension = {} : i64", attrs.axis));
  const Reduction reduction = kLargest ? Reduction::kMax : Reduction::kMin;
  const Value operands[] = {call.in[0], index,
                            w.constant(kernels::reduction_identity(reduction, type), type),
                            w.constant(Number(attrs.last_of_ties ? -1 : INT64_MAX), DType::s64)};
  const Type results[] = {{type, call.out_types[0].dims}, {DType::s64, call.out_types[0].dims}};
  const std::vector<Type> arguments = {{type, {}}, {DType::s64, {}}, {type, {}}, {DType::s64, {}}};
  const stablehlo::Writer::Region region = [&](stablehlo::Writer& r, std::span<const Value> in) {
    const Type bit{DType::u8, {}, true};
    const auto both = [&](const Value& p, const Value& q) { return r.op("and", {p, q}, bit); };
    const auto either = [&](const Value& p, const Value& q) { return r.op("or", {p, q}, bit); };
    const Value first = r.compare(attrs.last_of_ties ? "GT" : "LT", in[1], in[3]);
    Value a_wins = either(r.compare(kLargest ? "GT" : "LT", in[0], in[2]),
                          both(r.compare("EQ", in[0], in[2]), first));
    if (is_inexact(type)) {
      const Value a_nan = r.compare("NE", in[0], in[0]), b_nan = r.compare("NE", in[2], in[2]);
      const Value a_before = r.compare("LT", in[1], in[3]);
      const Value not_b_nan = r.op("not", {b_nan}, bit);
      a_wins = either(both(a_nan, either(not_b_nan, a_before)), both(not_b_nan, a_wins));
    }
    return std::vector<Value>{r.op("select", {a_wins, in[0], in[2]}, {type, {}}),
                              r.op("select", {a_wins, in[1], in[3]}, {DType::s64, {}})};
  };
  const std::int64_t axis[] = {attrs.axis};
  const auto both = w.op_with_regions("reduce", operands, results,
                                      "dimensions = " + stablehlo::Writer::array(axis),
                                      {&arguments, 1}, {&region, 1});
  return {w.convert(both[1], attrs.type)};
}

template <bool kLargest>
std::unique_ptr<kernels::PreparedKernel> prepare_arg(const graph::KernelSpec& spec) {
  const auto& [axis, last, type] = spec.attrs.as<ArgReduceAttrs>();
  return kernels::prepare_arg_reduce({spec.in[0].type, spec.in[0].dims},
                                     {at(axis), kLargest, last, type});
}

}  // namespace

Tensor reduce_dims(const graph::OpRow& row, const Tensor& x, Dims axes) {
  if (axes.empty()) return x;
  std::sort(axes.begin(), axes.end());
  return graph::emit(row, {x}, Attrs::of(ReduceAttrs{std::move(axes)}), {});
}

Tensor sum_dims(const Tensor& x, Dims axes) {
  if (axes.empty()) return x;
  const DType type = x.type();
  if (!is_float(type) || bits_of(type) >= 32) return reduce_dims(kReduceSum, x, std::move(axes));
  return as_type(reduce_dims(kReduceSum, as_type(x, DType::f32), std::move(axes)), type);
}

Tensor expand_reduced(const Tensor& x, const Dims& dims, const Dims& axes) {
  Dims kept;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (!contains(axes, static_cast<std::int64_t>(i))) kept.push_back(static_cast<std::int64_t>(i));
  return broadcast_dims(x, dims, kept);
}

const graph::OpRow kReduceSum{
    .name = "sum",
    .infer = infer_reduce<Reduction::kSum>,
    .gradient = graph::Gradient(sum_gradient),
    .vectorize = vectorize_reduce<kReduceSum>,
    .lower = lower_reduce<Reduction::kSum>,
    .host = host_rule<Reduction::kSum>(),
    .simplify = simplify_reduce<kReduceSum>,
};
const graph::OpRow kReduceProduct{
    .name = "product",
    .infer = infer_reduce<Reduction::kProduct>,
    .gradient = graph::Gradient(product_gradient),
    .vectorize = vectorize_reduce<kReduceProduct>,
    .lower = lower_reduce<Reduction::kProduct>,
    .host = host_rule<Reduction::kProduct>(),
    .simplify = simplify_reduce<kReduceProduct>,
};
const graph::OpRow kReduceMax{
    .name = "reduce_max",
    .infer = infer_reduce<Reduction::kMax>,
    .gradient = graph::Gradient(extreme_gradient),
    .vectorize = vectorize_reduce<kReduceMax>,
    .lower = lower_reduce<Reduction::kMax>,
    .host = host_rule<Reduction::kMax>(),
    .simplify = simplify_reduce<kReduceMax>,
};
const graph::OpRow kReduceMin{
    .name = "reduce_min",
    .infer = infer_reduce<Reduction::kMin>,
    .gradient = graph::Gradient(extreme_gradient),
    .vectorize = vectorize_reduce<kReduceMin>,
    .lower = lower_reduce<Reduction::kMin>,
    .host = host_rule<Reduction::kMin>(),
    .simplify = simplify_reduce<kReduceMin>,
};
const graph::OpRow kReduceAll{
    .name = "all",
    .infer = infer_reduce<Reduction::kAll>,
    .gradient = graph::Gradient(graph::zero_gradient_rule),
    .vectorize = vectorize_reduce<kReduceAll>,
    .lower = lower_reduce<Reduction::kAll>,
    .host = host_rule<Reduction::kAll>(),
    .simplify = simplify_reduce<kReduceAll>,
};
const graph::OpRow kReduceAny{
    .name = "any",
    .infer = infer_reduce<Reduction::kAny>,
    .gradient = graph::Gradient(graph::zero_gradient_rule),
    .vectorize = vectorize_reduce<kReduceAny>,
    .lower = lower_reduce<Reduction::kAny>,
    .host = host_rule<Reduction::kAny>(),
    .simplify = simplify_reduce<kReduceAny>,
};
const graph::OpRow kArgmax{
    .name = "argmax",
    .infer = infer_argmax,
    .gradient = graph::Gradient(graph::zero_gradient_rule),
    .vectorize = vectorize_arg<kArgmax>,
    .lower = lower_arg<true>,
    .host = graph::HostRule(graph::KernelRule{prepare_arg<true>}),
};
const graph::OpRow kArgmin{
    .name = "argmin",
    .infer = infer_argmin,
    .gradient = graph::Gradient(graph::zero_gradient_rule),
    .vectorize = vectorize_arg<kArgmin>,
    .lower = lower_arg<false>,
    .host = graph::HostRule(graph::KernelRule{prepare_arg<false>}),
};

}  // namespace nx::ops
