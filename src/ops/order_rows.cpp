// The rows of sort and argsort.
#include <fmt/format.h>

#include "core/at.h"
#include "graph/trace.h"
#include "kernels/sort.h"
#include "nx/indexing.h"
#include "ops/families.h"
#include "ops/order.h"

namespace nx::ops {
namespace {

using graph::Attrs;
using graph::GradCall;
using graph::LowerCall;
using graph::Tensors;
using graph::TensorType;
using graph::TensorTypes;
using graph::VectorizeCall;
using stablehlo::Type;
using stablehlo::Value;
using stablehlo::Writer;

void check_operand(std::string_view operation, const TensorType& in, std::int64_t axis) {
  if (axis < 0 || axis >= static_cast<std::int64_t>(in.dims.size()))
    throw ShapeError(operation,
                     fmt::format("axis {} is out of range for {}", axis, to_string(in.dims)));
  if (is_complex(in.type))
    throw DTypeError(operation,
                     fmt::format("complex numbers have no order, got {}", name_of(in.type)));
}

TensorTypes infer_sort(std::span<const TensorType> in, const Attrs& attrs) {
  check_operand("sort", in[0], attrs.as<SortAttrs>().axis);
  return {in[0]};
}
TensorTypes infer_argsort(std::span<const TensorType> in, const Attrs& attrs) {
  const SortAttrs& own = attrs.as<SortAttrs>();
  check_operand("argsort", in[0], own.axis);
  if (!is_integer(own.index_type) || is_subbyte(own.index_type))
    throw DTypeError("argsort", fmt::format("indices are integers of a byte or more, got {}",
                                            name_of(own.index_type)));
  return {{own.index_type, in[0].dims}};
}

/// Element i of the operand went to place argsort(argsort(x))[i]: its gradient comes from there.
Tensors sort_gradient(const GradCall& call) {
  const SortAttrs& own = call.attrs.as<SortAttrs>();
  const Tensor order = argsort_dims(call.in[0], own.axis, own.descending, DType::s64);
  const Tensor places = argsort_dims(order, own.axis, false, DType::s64);
  return {take_along_axis(call.g[0], places, {.axis = static_cast<int>(own.axis)})};
}

template <const graph::OpRow& kRow>
Tensors vectorize(const VectorizeCall& call) {
  SortAttrs attrs = call.attrs.as<SortAttrs>();
  attrs.axis += call.count;
  return {graph::emit(kRow, call.in, Attrs::of(attrs), {})};
}

/// Whether the first key comes before the second.
Value comes_before(Writer& r, const Value& a, const Value& b, DType type, bool descending) {
  const Value before = r.compare(descending ? "GT" : "LT", a, b);
  if (!is_inexact(type)) return before;
  const Type bit{DType::u8, {}, true};
  const Value a_nan = r.compare("NE", a, a), b_nan = r.compare("NE", b, b);
  const Value& nan_first = descending ? a_nan : b_nan;
  const Value number = r.op("not", {descending ? b_nan : a_nan}, bit);
  return r.op("or", {before, r.op("and", {nan_first, number}, bit)}, bit);
}

template <bool kIndices>
std::vector<Value> lower(const LowerCall& call) {
  Writer& w = call.writer;
  const SortAttrs& own = call.attrs.as<SortAttrs>();
  const DType type = call.in_types[0].type;
  std::vector<Value> operands{call.in[0]};
  std::vector<Type> results{{type, call.in_types[0].dims}};
  std::vector<Type> arguments{{type, {}}, {type, {}}};
  if (kIndices) {
    results.push_back({own.index_type, call.in_types[0].dims});
    operands.push_back(
        w.op("iota", {}, results.back(), fmt::format("iota_dimension = {} : i64", own.axis)));
    arguments.push_back({own.index_type, {}});
    arguments.push_back({own.index_type, {}});
  }
  const Writer::Region region = [&](Writer& r, std::span<const Value> in) {
    return std::vector<Value>{comes_before(r, in[0], in[1], type, own.descending)};
  };
  const auto sorted = w.op_with_regions(
      "sort", operands, results, fmt::format("dimension = {} : i64, is_stable = true", own.axis),
      {&arguments, 1}, {&region, 1});
  return {sorted.back()};
}

template <bool kIndices>
std::unique_ptr<kernels::PreparedKernel> prepare(const graph::KernelSpec& spec) {
  const auto& [axis, descending, index_type] = spec.attrs.as<SortAttrs>();
  return kernels::prepare_sort({spec.in[0].type, spec.in[0].dims},
                               {at(axis), descending, kIndices, index_type});
}

}  // namespace

const graph::OpRow kSort{
    .name = "sort",
    .infer = infer_sort,
    .gradient = graph::Gradient(sort_gradient),
    .vectorize = vectorize<kSort>,
    .lower = lower<false>,
    .host = graph::HostRule(
        graph::KernelRule{.prepare = prepare<false>, .outruns_xla = graph::is_from<1024>}),
};
const graph::OpRow kArgsort{
    .name = "argsort",
    .infer = infer_argsort,
    .gradient = graph::Gradient(graph::zero_gradient_rule),
    .vectorize = vectorize<kArgsort>,
    .lower = lower<true>,
    .host = graph::HostRule(
        graph::KernelRule{.prepare = prepare<true>, .outruns_xla = graph::is_from<1024>}),
};

Tensor sort_dims(const Tensor& x, std::int64_t axis, bool descending) {
  return graph::emit(kSort, {x}, Attrs::of(SortAttrs{axis, descending}), {});
}
Tensor argsort_dims(const Tensor& x, std::int64_t axis, bool descending, DType index_type) {
  return graph::emit(kArgsort, {x}, Attrs::of(SortAttrs{axis, descending, index_type}), {});
}

}  // namespace nx::ops
