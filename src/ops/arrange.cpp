// Functions and rows of split, diff, borders and fill: compositions of slices, reversals,
// repetitions and concatenations.
#include "nx/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/at.h"
#include "nx/movement.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/movement.h"
#include "ops/operand.h"
#include "ops/row_values.h"

namespace nx {

using ops::Plain;
using ops::plain_operand;
using ops::with_labels;

namespace {

/// The elements of an axis at `indices`, in runs that ascend, descend or repeat one element: views
/// and one concatenation, so that the gradient needs no scatter.
Tensor pick(const Tensor& x, std::int64_t axis, const std::vector<std::int64_t>& indices) {
  std::vector<Tensor> runs;
  for (std::size_t first = 0; first < indices.size();) {
    std::size_t last = first;
    const std::int64_t step = first + 1 < indices.size() ? indices[first + 1] - indices[first] : 0;
    if (std::abs(step) <= 1)
      while (last + 1 < indices.size() && indices[last + 1] - indices[last] == step) ++last;
    const auto [low, high] = std::minmax(indices[first], indices[last]);
    Tensor run = ops::part_dims(x, axis, low, high + 1);
    if (step == -1 && last > first) run = ops::reverse_dims(run, {axis});
    if (step == 0 && last > first) {
      Dims dims = ops::dims_of(run);
      dims[at(axis)] = static_cast<std::int64_t>(last - first) + 1;
      run = ops::broadcast_to(run, dims);
    }
    runs.push_back(std::move(run));
    first = last + 1;
  }
  return runs.size() == 1 ? runs[0] : ops::concatenate_dims(runs, axis);
}

/// Where the element at `i`, inside or outside of 0 … size - 1, is taken from.
using Source = std::int64_t (*)(std::int64_t i, std::int64_t size);

std::int64_t modulo(std::int64_t i, std::int64_t n) { return (i % n + n) % n; }
std::int64_t cyclic(std::int64_t i, std::int64_t size) { return modulo(i, size); }
std::int64_t mirrored(std::int64_t i, std::int64_t size) {
  const std::int64_t place = modulo(i, 2 * size);
  return place < size ? place : 2 * size - 1 - place;
}
std::int64_t reflected(std::int64_t i, std::int64_t size) {
  if (size == 1) return 0;
  const std::int64_t place = modulo(i, 2 * (size - 1));
  return place < size ? place : 2 * (size - 1) - place;
}
std::int64_t replicated(std::int64_t i, std::int64_t size) {
  return std::clamp<std::int64_t>(i, 0, size - 1);
}

void check_count(std::string_view operation, const Plain& x, const std::vector<Border>& borders) {
  if (borders.size() != at(x.rank()))
    throw ArgumentError(
        operation,
        fmt::format("expected one border for each of {} axes, got {}", x.rank(), borders.size()),
        x.where);
}

Tensor with_borders(std::string_view operation, const Plain& x, const std::vector<Border>& borders,
                    Source source) {
  check_count(operation, x, borders);
  Tensor made = x.tensor;
  const Dims dims = x.dims();
  for (std::size_t i = 0; i < borders.size(); ++i) {
    const auto [low, high] = borders[i];
    if (low < 0 || high < 0)
      throw ArgumentError(
          operation, fmt::format("borders must not be negative, got ({}, {})", low, high), x.where);
    if (low == 0 && high == 0) continue;
    if (dims[i] == 0) throw ShapeError(operation, "an axis has no elements to repeat", x.where);
    std::vector<std::int64_t> indices;
    for (std::int64_t k = -low; k < dims[i] + high; ++k) indices.push_back(source(k, dims[i]));
    made = pick(made, x.lead + static_cast<std::int64_t>(i), indices);
  }
  return with_labels(made, x.names, x.vector_axes);
}

}  // namespace

std::pair<Tensor, Tensor> split(const Operand& operand, const Number& place,
                                const SplitOptions& options) {
  const Plain x = plain_operand("split", operand);
  const std::int64_t axis = options.axis.resolve("split", x.rank(), x.names);
  const std::int64_t size = x.dims()[at(axis)];
  std::int64_t index = 0;
  if (place.is_integer()) {
    index = place.integer() < 0 ? place.integer() + size : place.integer();
  } else {
    if (!(place.real() > 0 && place.real() < 1))
      throw ArgumentError("split",
                          fmt::format("a fraction lies between 0 and 1, got {}", place.to_string()),
                          x.where);
    index = static_cast<std::int64_t>(std::ceil(place.real() * static_cast<double>(size)));
  }
  if (index < 1 || index >= size)
    throw ArgumentError("split",
                        fmt::format("a place within an axis of {} elements; expected 1 to "
                                    "{}, got {}",
                                    size, size - 1, place.to_string()),
                        x.where);
  const std::int64_t own = x.lead + axis;
  return {with_labels(ops::part_dims(x.tensor, own, 0, index), x.names, x.vector_axes),
          with_labels(ops::part_dims(x.tensor, own, index, size), x.names, x.vector_axes)};
}

Tensor diff(const Operand& operand, const DiffOptions& options) {
  const Plain x = plain_operand("diff", operand);
  if (x.rank() == 0) throw ShapeError("diff", "the tensor must have at least one axis", x.where);
  const std::int64_t axis = options.axis.resolve("diff", x.rank(), x.names);
  const std::int64_t size = x.dims()[at(axis)];
  if (options.order < 0 || options.order >= std::max<std::int64_t>(size, 1))
    throw ArgumentError("diff",
                        fmt::format("order; expected 0 to {}, got {}",
                                    std::max<std::int64_t>(size - 1, 0), options.order),
                        x.where);
  Tensor made = x.tensor;
  const std::int64_t own = x.lead + axis;
  for (std::int64_t i = 0; i < options.order; ++i)
    made = subtract(ops::part_dims(made, own, 1, size - i),
                    ops::part_dims(made, own, 0, size - i - 1));
  return with_labels(made, x.names, x.vector_axes);
}

Tensor reflect(const Operand& x, const ReflectOptions& options) {
  return with_borders("reflect", plain_operand("reflect", x), options.padding_config, reflected);
}

Tensor pad_outer(const Operand& operand, const Operand& value, const std::vector<Border>& borders) {
  const Plain x = plain_operand("pad_outer", operand);
  check_count("pad_outer", x, borders);
  if (x.lead > 0) throw ShapeError("pad_outer", "the tensor must not be vectorized", x.where);
  std::vector<Padding> padding;
  for (const auto& [low, high] : borders) padding.push_back({low, high, 0});
  return pad(operand, value, padding);
}

Tensor pad_outer(const Operand& operand, const std::string& mode,
                 const std::vector<Border>& borders) {
  const Plain x = plain_operand("pad_outer", operand);
  if (x.lead > 0) throw ShapeError("pad_outer", "the tensor must not be vectorized", x.where);
  constexpr std::pair<std::string_view, Source> kModes[] = {
      {"cyclic", cyclic}, {"mirror", mirrored}, {"reflect", reflected}, {"replicate", replicated}};
  for (const auto& [name, source] : kModes)
    if (name == mode) return with_borders("pad_outer", x, borders, source);
  throw ArgumentError("pad_outer",
                      fmt::format("mode; expected \"cyclic\", \"mirror\", \"reflect\" or "
                                  "\"replicate\", got \"{}\"",
                                  mode),
                      x.where);
}

Tensor fill(const Operand& operand, const Operand& value, const FillOptions& options) {
  const Plain x = plain_operand("fill", operand), given = plain_operand("fill", value);
  if (given.rank() != 0 || given.lead > 0)
    throw ShapeError("fill",
                     fmt::format("the value must be a scalar, got {}", to_string(given.dims())),
                     x.where);
  const Operand both[] = {operand, value};
  const DType type = options.type.value_or(ops::merge_operand_types(both));
  const Tensor one =
      value.is_number() ? ops::scalar(value.number(), type) : as_type(given.tensor, type);
  return with_labels(ops::broadcast_dims(one, ops::dims_of(x.tensor), {}), x.names, x.vector_axes);
}

namespace ops {
namespace {

/// A value or the name of a mode.
Value call_pad_outer(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 3, 3);
  if (!options.empty()) throw ArgumentError("call", "pad_outer has no options");
  const BoundOperand x(args[0]);
  const auto borders = FromValue<std::vector<Border>>::get(args[2]);
  if (const auto* const mode = args[1].as<std::string>())
    return to_value(nx::pad_outer(x.get(), *mode, borders));
  const BoundOperand value(args[1]);
  return to_value(nx::pad_outer(x.get(), value.get(), borders));
}

Value borders(std::initializer_list<Border> given) {
  Value::List values;
  for (const auto& [low, high] : given) values.push_back(list(low, high));
  return Value(std::move(values));
}

// Values from NumPy: split, diff, and pad in the modes wrap, symmetric, reflect and edge.
const FunctionRow kFunctions[] = {
    {.name = "split",
     .module = "Nx",
     .doc = "The part of a tensor before a place, and the rest.",
     .accepts = Accepts::kAny,
     .names = NamesRule::kKeep,
     .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2, 3}), 1}, {}, list(f({1}), f({2, 3}))},
               {{f({{1, 2, 3}}), 0.5}, {{"axis", 1}}, list(f({{1, 2}}), f({{3}}))}};
     },
     .call = erase<&nx::split>},
    {.name = "diff",
     .module = "Nx",
     .doc = "Each element less the one before it.",
     .accepts = Accepts::kAny,
     .names = NamesRule::kKeep,
     .accuracy = Accuracy{2},
     .examples = +[]() -> Examples {
       return {{{f({1, 4, 9, 16})}, {}, f({3, 5, 7})},
               {{f({1, 4, 9, 16})}, {{"order", 2}}, f({2, 2})},
               {{f({{1, 2}, {3, 5}})}, {{"axis", 0}}, f({{2, 3}})}};
     },
     .call = erase<&nx::diff>},
    {.name = "reflect",
     .module = "Nx",
     .doc = "Borders mirrored at the edge elements.",
     .accepts = Accepts::kAny,
     .names = NamesRule::kKeep,
     .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({0, 1, 2})}, {{"padding_config", borders({{3, 1}})}}, f({1, 2, 1, 0, 1, 2, 1})}};
     },
     .call = erase<&nx::reflect>},
    {.name = "pad_outer",
     .module = "Nx",
     .doc = "Borders of one value or of the tensor's own elements.",
     .accepts = Accepts::kSpecial,
     .names = NamesRule::kKeep,
     .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2}), 9, borders({{1, 2}})}, {}, f({9, 1, 2, 9, 9})},
               {{f({1, 2, 3}), "cyclic", borders({{1, 2}})}, {}, f({3, 1, 2, 3, 1, 2})},
               {{f({1, 2, 3}), "mirror", borders({{2, 1}})}, {}, f({2, 1, 1, 2, 3, 3})},
               {{f({1, 2, 3}), "reflect", borders({{2, 1}})}, {}, f({3, 2, 1, 2, 3, 2})},
               {{f({1, 2, 3}), "replicate", borders({{2, 1}})}, {}, f({1, 1, 1, 2, 3, 3})}};
     },
     .call = call_pad_outer},
    {.name = "fill",
     .module = "Nx",
     .doc = "A tensor of the same shape, all elements one value.",
     .accepts = Accepts::kAny,
     .names = NamesRule::kKeep,
     .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2}), 3}, {}, f({3, 3})},
               {{t({1, 2}), 5}, {{"type", types(u8)}}, t({5, 5}, {.type = u8})}};
     },
     .call = erase<&nx::fill>},
};

}  // namespace

constinit const Family kArrangeFamily{"arrange", {}, kFunctions};

}  // namespace ops
}  // namespace nx
