// Functions and function rows of sorting and of what is found by it.
#include "nx/order.h"

#include <fmt/format.h>

#include <cmath>

#include "core/at.h"
#include "nx/indexing.h"
#include "nx/reduce.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/cumulative.h"
#include "ops/families.h"
#include "ops/movement.h"
#include "ops/operand.h"
#include "ops/order.h"
#include "ops/reduce.h"
#include "ops/row_values.h"

namespace nx {

using ops::Plain;
using ops::plain_operand;
using ops::with_labels;

namespace {

struct Line {
  Plain x;
  std::int64_t axis;  // of x.tensor
};
Line find_line(std::string_view operation, const Operand& operand, const Axis& axis) {
  Line line{plain_operand(operation, operand), 0};
  if (line.x.rank() == 0)
    throw ShapeError(operation, "the tensor must have at least one axis", line.x.where);
  line.axis = line.x.lead + axis.resolve(operation, line.x.rank(), line.x.names);
  return line;
}

bool is_descending(std::string_view operation, const std::string& direction,
                   const SourceLocation& where) {
  if (direction != "asc" && direction != "desc")
    throw ArgumentError(
        operation, fmt::format("direction; expected \"asc\" or \"desc\", got \"{}\"", direction),
        where);
  return direction == "desc";
}

/// All elements, or those of an axis, as one line each; and how the result is labelled.
struct Sample {
  Plain x;
  Tensor values;
  std::int64_t axis = 0, size = 0;
  bool keep = false;

  /// `found` has size 1 along the axis.
  Tensor finish(const Tensor& found) const {
    Dims dims = ops::dims_of(found);
    Names names = axis - x.lead < static_cast<std::int64_t>(x.names.size()) && values_keep_names()
                      ? x.names
                      : Names();
    if (!keep) {
      dims.erase(dims.begin() + axis);
      if (!names.empty()) names.erase(names.begin() + (axis - x.lead));
    }
    return with_labels(ops::reshape_dims(found, dims), names, x.vector_axes);
  }
  bool values_keep_names() const {
    return ops::dims_of(values).size() == ops::dims_of(x.tensor).size();
  }
};
Sample take_sample(std::string_view operation, const Operand& operand,
                   const MedianOptions& options) {
  Sample sample{plain_operand(operation, operand), {}};
  const Plain& x = sample.x;
  if (options.axis) {
    sample.axis = x.lead + options.axis->resolve(operation, x.rank(), x.names);
    sample.values = x.tensor;
    sample.keep = options.keep_axis;
  } else {
    sample.axis = x.lead;
    sample.values = ops::reshape_dims(x.tensor, x.with_lead({element_count(x.dims())}));
    sample.x.names = {};
  }
  sample.size = ops::dims_of(sample.values)[at(sample.axis)];
  if (sample.size == 0)
    throw ShapeError(operation, fmt::format("there are no elements in {}", to_string(x.dims())),
                     x.where);
  return sample;
}

}  // namespace

Tensor sort(const Operand& operand, const SortOptions& options) {
  const auto [x, axis] = find_line("sort", operand, options.axis);
  const bool descending = is_descending("sort", options.direction, x.where);
  return with_labels(ops::sort_dims(x.tensor, axis, descending), x.names, x.vector_axes);
}

Tensor argsort(const Operand& operand, const ArgsortOptions& options) {
  const auto [x, axis] = find_line("argsort", operand, options.axis);
  const bool descending = is_descending("argsort", options.direction, x.where);
  const bool direct = is_integer(options.type) && !is_subbyte(options.type);
  const Tensor order =
      ops::argsort_dims(x.tensor, axis, descending, direct ? options.type : DType::s32);
  return with_labels(as_type(order, options.type), x.names, x.vector_axes);
}

std::pair<Tensor, Tensor> top_k(const Operand& operand, const TopKOptions& options) {
  const auto [x, axis] = find_line("top_k", operand, Axis(-1));
  const std::int64_t size = x.dims().back();
  if (options.k < 1 || options.k > size)
    throw ArgumentError("top_k", fmt::format("k; expected 1 to {}, got {}", size, options.k),
                        x.where);
  const Tensor order = ops::argsort_dims(x.tensor, axis, true, DType::s32);
  const Tensor indices = ops::part_dims(order, axis, 0, options.k);
  const Tensor values = take_along_axis(x.tensor, indices, {.axis = static_cast<int>(axis)});
  return {with_labels(values, x.names, x.vector_axes),
          with_labels(indices, x.names, x.vector_axes)};
}

Tensor median(const Operand& operand, const MedianOptions& options) {
  const Sample sample = take_sample("median", operand, options);
  const Tensor sorted = ops::sort_dims(sample.values, sample.axis, false);
  const std::int64_t middle = sample.size / 2;
  const Tensor upper = ops::part_dims(sorted, sample.axis, middle, middle + 1);
  if (sample.size % 2 == 1) return sample.finish(upper);
  const DType type = to_inexact(sorted.type());
  const Tensor lower = ops::part_dims(sorted, sample.axis, middle - 1, middle);
  const DType wide = ops::summing_type(type);
  const Tensor both = add(as_type(lower, wide), as_type(upper, wide));
  return sample.finish(as_type(divide(both, 2), type));
}

Tensor mode(const Operand& operand, const ModeOptions& options) {
  const Sample sample = take_sample("mode", operand, options);
  const std::int64_t axis = sample.axis, size = sample.size;
  const Tensor sorted = ops::sort_dims(sample.values, axis, false);
  if (size == 1) return sample.finish(sorted);
  // Where the run of equal elements begins that an element is in: the last beginning so far.
  const Dims dims = ops::dims_of(sorted);
  const Tensor place = ops::iota_along(DType::s32, dims, axis);
  const Tensor begins =
      not_equal(ops::part_dims(sorted, axis, 1, size), ops::part_dims(sorted, axis, 0, size - 1));
  const Tensor first = ops::part_dims(place, axis, 0, 1);
  const Tensor parts[] = {first, select(begins, ops::part_dims(place, axis, 1, size), 0)};
  const Tensor begin =
      ops::cumulate_dims(ops::kCumulativeMax, ops::concatenate_dims(parts, axis), {axis});
  // The first of the longest runs is complete at its last element.
  const Tensor longest =
      argmax(subtract(place, begin), {.axis = static_cast<int>(axis), .keep_axis = true});
  return sample.finish(take_along_axis(sorted, longest, {.axis = static_cast<int>(axis)}));
}

namespace ops {
namespace {

const float kInf = INFINITY, kNan = NAN;

// Values from NumPy: sort, argsort (stable), median; mode from SciPy.
const FunctionRow kFunctions[] = {
    {.name = "sort",
     .module = "Nx",
     .doc = "The elements along an axis in order, NaN last.",
     .accepts = Accepts::kAnyButComplex,
     .names = NamesRule::kKeep,
     .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({16, 23, 4, 8})}, {}, f({4, 8, 16, 23})},
               {{f({{3, 1, 2}, {6, 5, 7}})},
                {{"axis", 1}, {"direction", "desc"}},
                f({{3, 2, 1}, {7, 6, 5}})},
               {{f({kNan, -kInf, 0, kInf})}, {}, f({-kInf, 0, kInf, kNan})}};
     },
     .call = erase<&nx::sort>},
    {.name = "argsort",
     .module = "Nx",
     .doc = "Where the elements in order are taken from.",
     .accepts = Accepts::kAnyButComplex,
     .names = NamesRule::kKeep,
     .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({16, 23, 4, 8})}, {}, t({2, 3, 0, 1})},
               {{f({2, 1, 2, 1})}, {{"direction", "desc"}}, t({0, 2, 1, 3})}};
     },
     .call = erase<&nx::argsort>,
     .differentiable = false},
    {.name = "top_k",
     .module = "Nx",
     .doc = "The largest elements of the last axis, and where.",
     .accepts = Accepts::kAnyButComplex,
     .names = NamesRule::kKeep,
     .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 5, 3}, {9, 2, 4}})},
                {{"k", 2}},
                list(f({{5, 3}, {9, 4}}), t({{1, 2}, {0, 2}}))}};
     },
     .call = erase<&nx::top_k>},
    {.name = "median",
     .module = "Nx",
     .doc = "The middle element in order.",
     .accepts = Accepts::kAnyButComplex,
     .names = NamesRule::kDropReduced,
     .accuracy = Accuracy{1},
     .examples = +[]() -> Examples {
       return {{{f({1, 9, 2})}, {}, f(2)},
               {{t({4, 1, 3, 2})}, {}, f(2.5)},
               {{f({{1, 4}, {3, 8}, {2, 7}})}, {{"axis", 0}, {"keep_axis", "true"}}, f({{2, 7}})}};
     },
     .call = erase<&nx::median>},
    {.name = "mode",
     .module = "Nx",
     .doc = "The most frequent element.",
     .accepts = Accepts::kAnyButComplex,
     .names = NamesRule::kDropReduced,
     .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2, 2, 3, 5})}, {}, f(2)},
               {{f({{3, 3, 1, 1}, {7, 8, 8, 9}})}, {{"axis", 1}}, f({1, 8})}};
     },
     .call = erase<&nx::mode>},
};

const graph::OpRow* const kRows[] = {&kSort, &kArgsort};

}  // namespace

const Family kOrderFamily{"order", kRows, kFunctions};

}  // namespace ops
}  // namespace nx
