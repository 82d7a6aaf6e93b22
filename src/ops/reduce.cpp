// Public reductions.
#include "nx/reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/at.h"
#include "graph/trace.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/movement.h"
#include "ops/operand.h"
#include "ops/reduce.h"

namespace nx {

using graph::OpRow;
using ops::Plain;
using ops::plain_operand;
using ops::with_labels;

namespace {

/// The type sums and products are computed in.
DType wide_type(DType type) {
  if (is_integer(type) && bits_of(type) < 64) return is_unsigned(type) ? DType::u32 : DType::s32;
  return ops::summing_type(type);
}
/// The type sums and products have.
DType sum_type(DType type) { return is_integer(type) ? wide_type(type) : type; }

/// Drops `axes` (of the plain tensor) from the labels' side of a result, or keeps them as ones.
Tensor finish(const Plain& x, const Tensor& reduced, const Dims& axes, bool keep) {
  Names names;
  Dims kept = ops::dims_of(x.tensor);
  for (const auto axis : axes) kept[at(axis)] = 1;
  if (!x.names.empty())
    for (int i = 0; i < x.rank(); ++i)
      if (keep || std::find(axes.begin(), axes.end(), i + x.lead) == axes.end())
        names.push_back(x.names[at(i)]);
  return with_labels(keep ? ops::reshape_dims(reduced, kept) : reduced, names, x.vector_axes);
}

Tensor reduce(std::string_view name, const OpRow& row, const Operand& operand, const Axes& axes,
              bool keep, DType (*compute)(DType), DType (*result)(DType)) {
  const Plain x = plain_operand(name, operand);
  const DType type = x.tensor.type();
  const Dims own = x.resolve(name, axes);
  const Tensor reduced = ops::reduce_dims(row, as_type(x.tensor, compute(type)), own);
  return finish(x, as_type(reduced, result(type)), own, keep);
}

DType same_type(DType type) { return type; }

std::int64_t count_of(const Plain& x, const Dims& axes) {
  const Dims dims = ops::dims_of(x.tensor);
  std::int64_t count = 1;
  for (const auto axis : axes) count *= dims[at(axis)];
  return count;
}

Tensor predicate(std::string_view name, const OpRow& row, const Operand& operand, const Axes& axes,
                 bool keep) {
  const Plain x = plain_operand(name, operand);
  const Dims own = x.resolve(name, axes);
  return finish(x, ops::reduce_dims(row, not_equal(x.tensor, 0), own), own, keep);
}

Tensor arg(std::string_view name, const OpRow& row, const Operand& operand,
           const ArgmaxOptions& options) {
  Plain x = plain_operand(name, operand);
  if (options.tie_break != "low" && options.tie_break != "high")
    throw ArgumentError(name, fmt::format("tie_break; expected \"low\" or \"high\", got \"{}\"",
                                          options.tie_break), x.where);
  Tensor searched = x.tensor;
  Dims axes = x.resolve(name, {});
  std::int64_t axis = x.lead;
  if (options.axis) {
    axis += options.axis->resolve(name, x.rank(), x.names);
    axes = {axis};
  } else {
    searched = ops::reshape_dims(x.tensor, x.with_lead({element_count(x.dims())}));
  }
  const ops::ArgReduceAttrs attrs{axis, options.tie_break == "high", options.type};
  return finish(x, graph::emit(row, {searched}, graph::Attrs::of(attrs), x.where), axes,
                options.keep_axis && options.axis.has_value());
}

}  // namespace

// Both branches stay finite: what is not selected counts for nothing in a gradient only then.
Tensor ops::root_of_squares(const Tensor& total) {
  const Tensor none = equal(total, 0);
  return select(none, 0, sqrt(select(none, 1, total)));
}

Tensor sum(const Operand& x, const SumOptions& options) {
  return reduce("sum", ops::kReduceSum, x, options.axes, options.keep_axes, wide_type, sum_type);
}

Tensor product(const Operand& x, const ProductOptions& options) {
  return reduce("product", ops::kReduceProduct, x, options.axes, options.keep_axes, wide_type,
                sum_type);
}

Tensor reduce_max(const Operand& x, const ReduceMaxOptions& options) {
  return reduce("reduce_max", ops::kReduceMax, x, options.axes, options.keep_axes, same_type,
                same_type);
}

Tensor reduce_min(const Operand& x, const ReduceMinOptions& options) {
  return reduce("reduce_min", ops::kReduceMin, x, options.axes, options.keep_axes, same_type,
                same_type);
}

Tensor mean(const Operand& operand, const MeanOptions& options) {
  const Plain x = plain_operand("mean", operand);
  const Dims axes = x.resolve("mean", options.axes);
  const DType type = to_inexact(x.tensor.type());
  const Tensor total = ops::reduce_dims(ops::kReduceSum, as_type(x.tensor, wide_type(type)), axes);
  return finish(x, as_type(divide(total, count_of(x, axes)), type), axes, options.keep_axes);
}

Tensor all(const Operand& x, const AllOptions& options) {
  return predicate("all", ops::kReduceAll, x, options.axes, options.keep_axes);
}

Tensor any(const Operand& x, const AnyOptions& options) {
  return predicate("any", ops::kReduceAny, x, options.axes, options.keep_axes);
}

Tensor argmax(const Operand& x, const ArgmaxOptions& options) {
  return arg("argmax", ops::kArgmax, x, options);
}

Tensor argmin(const Operand& x, const ArgminOptions& options) {
  return arg("argmin", ops::kArgmin, x, options);
}

Tensor logsumexp(const Operand& operand, const LogsumexpOptions& options) {
  const Plain plain = plain_operand("logsumexp", operand);
  const DType type = to_inexact(plain.tensor.type());
  const Tensor x = as_type(with_labels(plain.tensor, plain.names, plain.vector_axes),
                           wide_type(type));
  const Tensor most = reduce_max(x, {options.axes, true});
  // An infinite maximum is not taken off: infinity - infinity would be NaN.
  const Tensor shift = select(is_infinity(most), 0, most);
  Tensor terms = exp(subtract(x, shift));
  if (options.exp_scaling_factor) terms = multiply(terms, *options.exp_scaling_factor);
  // Elements that are all -infinity give -infinity, and have a gradient of 0.
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const Tensor none = equal(most, kNothing);
  const Tensor sums = select(none, 1, sum(terms, {options.axes, true}));
  const Tensor total = select(none, kNothing, add(log(sums), shift));
  const Plain kept = plain_operand("logsumexp", total);
  const Dims axes = plain.resolve("logsumexp", options.axes);
  if (options.keep_axes) return as_type(total, type);
  Dims dims = ops::dims_of(plain.tensor), dropped;
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end())
      dropped.push_back(dims[i]);
  return finish(plain, as_type(ops::reshape_dims(kept.tensor, dropped), type), axes, false);
}

Tensor variance(const Operand& operand, const VarianceOptions& options) {
  const Plain x = plain_operand("variance", operand);
  const Dims axes = x.resolve("variance", options.axes), dims = ops::dims_of(x.tensor);
  const DType type = to_inexact(x.tensor.type());
  const Tensor values = as_type(x.tensor, wide_type(type));
  const std::int64_t count = count_of(x, axes);
  const Tensor center = divide(ops::reduce_dims(ops::kReduceSum, values, axes), count);
  const Tensor off = subtract(values, ops::expand_reduced(center, dims, axes));
  const Tensor squares = ops::reduce_dims(ops::kReduceSum, multiply(off, off), axes);
  return finish(x, as_type(divide(squares, count - options.ddof), type), axes, options.keep_axes);
}

Tensor standard_deviation(const Operand& x, const StandardDeviationOptions& options) {
  return ops::root_of_squares(variance(x, options));
}

}  // namespace nx
