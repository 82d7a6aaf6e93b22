// Functions and rows of what describes a sample.
#include "nx/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/at.h"
#include "nx/contract.h"
#include "nx/reduce.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/labels.h"
#include "ops/movement.h"
#include "ops/operand.h"
#include "ops/reduce.h"
#include "ops/row_values.h"

namespace nx {

using ops::Plain;
using ops::plain_operand;
using ops::summing_type;
using ops::with_labels;

namespace {

/// Weights with the sizes of x's `axes` as a tensor of x's rank, ones elsewhere.
Tensor spread_weights(const Plain& x, const Plain& weights, const Axes& axes) {
  const Dims dims = x.dims(), own = weights.dims();
  if (dims == own) return with_labels(weights.tensor, {}, weights.vector_axes);
  Dims listed = axes.is_given() ? axes.resolve("weighted_mean", x.rank(), x.names) : Dims();
  std::sort(listed.begin(), listed.end());
  bool fits = listed.size() == own.size();
  for (std::size_t i = 0; fits && i < own.size(); ++i) fits = own[i] == dims[at(listed[i])];
  if (!fits)
    throw ShapeError("weighted_mean",
                     fmt::format("the weights have the tensor's shape or the sizes of the axes; "
                                 "expected {}, got {}",
                                 to_string(dims), to_string(own)),
                     x.where);
  Dims wide(dims.size(), 1);
  for (const auto axis : listed) wide[at(axis)] = dims[at(axis)];
  return with_labels(ops::reshape_dims(weights.tensor, weights.with_lead(wide)), {},
                     weights.vector_axes);
}

/// transpose(x) x of the last two axes, over n rows less ddof.
Tensor scatter_matrix(const Tensor& off, std::int64_t rows, std::int64_t ddof) {
  const int rank = off.rank();
  std::vector<Axis> batch;
  for (int i = 0; i < rank - 2; ++i) batch.emplace_back(i);
  const Axes lead = batch.empty() ? Axes() : Axes(batch);
  const Tensor product = dot(
      off, off, {.contract_a = rank - 2, .batch_a = lead, .contract_b = rank - 2, .batch_b = lead});
  return divide(product, rows - ddof);
}

Tensor covariance_around(const Operand& operand, const Operand* mean_operand,
                         const CovarianceOptions& options) {
  const Plain x = plain_operand("covariance", operand);
  const Dims dims = x.dims();
  if (dims.size() < 2)
    throw ShapeError("covariance",
                     fmt::format("expected [..., rows, columns], got {}", to_string(dims)),
                     x.where);
  if (options.ddof < 0)
    throw ArgumentError("covariance", fmt::format("ddof; expected 0 or more, got {}", options.ddof),
                        x.where);
  const auto rank = static_cast<int>(dims.size());
  DType type = to_inexact(x.tensor.type());
  if (mean_operand != nullptr) {
    const Operand both[] = {operand, *mean_operand};
    type = to_inexact(ops::merge_operand_types(both));
  }
  const Tensor values = as_type(with_labels(x.tensor, {}, x.vector_axes), summing_type(type));
  Tensor center;
  if (mean_operand == nullptr) {
    center = mean(values, {Axes(rank - 2), true});
  } else {
    const Plain given = plain_operand("covariance", *mean_operand);
    const Dims own = given.dims();
    if (own.empty() || own.back() != dims.back() || own.size() >= dims.size())
      throw ShapeError(
          "covariance",
          fmt::format("a mean for each column; expected [{}], got {}", dims.back(), to_string(own)),
          x.where);
    Dims wide = own;
    wide.insert(wide.end() - 1, 1);
    center =
        with_labels(ops::reshape_dims(given.tensor, given.with_lead(wide)), {}, given.vector_axes);
  }
  const Tensor off = subtract(values, as_type(center, summing_type(type)));
  return as_type(scatter_matrix(off, dims[at(rank - 2)], options.ddof), type);
}

}  // namespace

Tensor weighted_mean(const Operand& operand, const Operand& weight_operand,
                     const WeightedMeanOptions& options) {
  const Plain x = plain_operand("weighted_mean", operand);
  const Plain weights = plain_operand("weighted_mean", weight_operand);
  const Operand both[] = {operand, weight_operand};
  const DType type = to_inexact(ops::merge_operand_types(both));
  const Tensor values = as_type(with_labels(x.tensor, x.names, x.vector_axes), summing_type(type));
  // Every element has a weight of its own, so that both sums run over the same axes.
  const Tensor own = multiply(as_type(spread_weights(x, weights, options.axes), summing_type(type)),
                              ops::full_dims(Number(1), summing_type(type), x.dims()));
  const SumOptions sums{options.axes, options.keep_axes};
  Axes axes = options.axes;
  if (axes.is_given()) {
    std::vector<Axis> plain;  // the weights have no names
    for (const auto axis : axes.resolve("weighted_mean", x.rank(), x.names))
      plain.emplace_back(static_cast<int>(axis));
    axes = Axes(plain);
  }
  return as_type(divide(sum(multiply(values, own), sums), sum(own, {axes, options.keep_axes})),
                 type);
}

Tensor covariance(const Operand& x, const CovarianceOptions& options) {
  return covariance_around(x, nullptr, options);
}

Tensor covariance(const Operand& x, const Operand& mean, const CovarianceOptions& options) {
  return covariance_around(x, &mean, options);
}

Tensor all_close(const Operand& a, const Operand& b, const AllCloseOptions& options) {
  const Operand both[] = {a, b};
  const DType merged = ops::merge_operand_types(both);
  const DType type = is_integer(merged) ? DType::f64 : summing_type(merged);
  const auto wide = [&](const Operand& x) {
    return as_type(x.is_number() ? ops::scalar(x.number(), type) : x.tensor(), type);
  };
  const Tensor x = wide(a), y = wide(b);
  const Tensor near =
      less_equal(abs(subtract(x, y)), add(multiply(abs(y), options.rtol), options.atol));
  const Tensor infinite = logical_or(is_infinity(x), is_infinity(y));
  Tensor close = select(infinite, equal(x, y), near);
  if (options.equal_nan) close = logical_or(close, logical_and(is_nan(x), is_nan(y)));
  return all(close);
}

namespace ops {
namespace {

const float kNan = NAN;

/// (x) or (x, mean).
Value call_covariance(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 1, 2);
  const BoundOperand x(args[0]);
  const auto own = options_from<CovarianceOptions>(options);
  if (args.size() == 1) return to_value(nx::covariance(x.get(), own));
  const BoundOperand mean(args[1]);
  return to_value(nx::covariance(x.get(), mean.get(), own));
}

// Values from NumPy: average, cov (rows as observations), allclose.
const FunctionRow kFunctions[] = {
    {.name = "weighted_mean",
     .module = "Nx",
     .doc = "The mean along axes with a weight for each element.",
     .accepts = Accepts::kAnyButComplex,
     .names = NamesRule::kDropReduced,
     .accuracy = Accuracy{4},
     .examples = +[]() -> Examples {
       return {{{f({1, 2, 3}), f({3, 2, 1})}, {}, f(1.6666666666666667)},
               {{f({{1, 2}, {3, 4}}), f({1, 3})}, {{"axes", list(1)}}, f({1.75, 3.75})},
               {{f({{1, 2}, {3, 4}}), f({1, 3})},
                {{"axes", list(0)}, {"keep_axes", "true"}},
                f({{2.5, 3.5}})}};
     },
     .call = erase<&nx::weighted_mean>},
    {.name = "covariance",
     .module = "Nx",
     .doc = "The covariance matrix of columns, around their mean or a given one.",
     .accepts = Accepts::kAnyButComplex,
     .names = NamesRule::kDrop,
     .accuracy = Accuracy{8},
     .examples = +[]() -> Examples {
       return {
           {{f({{1, 2}, {3, 5}, {8, 4}})},
            {},
            f({{8.666666666666666, 1.6666666666666667}, {1.6666666666666667, 1.5555555555555556}})},
           {{f({{1, 2}, {3, 5}, {8, 4}})},
            {{"ddof", 1}},
            f({{13, 2.5}, {2.5, 2.3333333333333335}})},
           {{f({{1, 2}, {3, 4}, {5, 6}}), f({4, 3})},
            {},
            f({{3.6666666666666665, 1.6666666666666667},
               {1.6666666666666667, 3.6666666666666665}})}};
     },
     .call = call_covariance},
    {.name = "all_close",
     .module = "Nx",
     .doc = "1 when all elements of two tensors are close.",
     .accepts = Accepts::kAnyButComplex,
     .names = NamesRule::kDrop,
     .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2}), f({1, 2.00001})}, {}, t(1, {.type = u8})},
               {{f({1, 2}), f({1, 2.1})}, {}, t(0, {.type = u8})},
               {{f({1, kNan}), f({1, kNan})}, {{"equal_nan", "true"}}, t(1, {.type = u8})}};
     },
     .call = erase<&nx::all_close>,
     .differentiable = false},
};

}  // namespace

constinit const Family kStatisticsFamily{"statistics", {}, kFunctions};

}  // namespace ops
}  // namespace nx
