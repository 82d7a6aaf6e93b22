// Public functions that take blocks out of tensors and put tensors together: slice, put_slice,
// concatenate, stack, pad.
#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/trace.h"
#include "nx/movement.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/elementwise.h"
#include "ops/labels.h"
#include "ops/movement.h"
#include "ops/operand.h"

namespace nx {

using graph::Attrs;
using ops::Plain;
using ops::plain_operand;
using ops::with_labels;

namespace {

bool any_tensor(const Starts& starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [](const Start& start) { return start.is_tensor(); });
}

void check_counts(std::string_view operation, const Plain& x, const Starts& starts) {
  if (starts.size() != at(x.rank()))
    throw ShapeError(operation, fmt::format("expected one start for each of {} axes, got {}",
                                            x.rank(), starts.size()), x.where);
}

/// A start's tensor, checked.
Plain plain_start(std::string_view operation, const Tensor& start, const SourceLocation& where) {
  Plain index = plain_operand(operation, Operand(start, where));
  if (!is_integer(index.tensor.type()))
    throw DTypeError(operation, fmt::format("a start must be an integer, got {}",
                                            name_of(index.tensor.type())), where);
  if (index.rank() != 0)
    throw ShapeError(operation, fmt::format("a start must be a scalar, got {}",
                                            to_string(index.dims())), where);
  return index;
}

/// Starts as operands: 0 for the vectorised axes, scalars for the rest.
std::vector<Tensor> start_tensors(std::string_view operation, const Plain& x,
                                  const Starts& starts) {
  std::vector<Tensor> list(at(x.lead), Tensor());
  for (auto& lead : list) lead = ops::scalar(Number(0), DType::s64);
  for (const Start& start : starts) {
    if (!start.is_tensor()) {
      list.push_back(ops::scalar(Number(start.index()), DType::s64));
      continue;
    }
    const Plain index = plain_start(operation, start.tensor(), x.where);
    if (index.lead > 0)
      throw ShapeError(operation, "a start must not be vectorized", x.where);
    list.push_back(as_type(index.tensor, DType::s64));
  }
  return list;
}

bool any_vectorized(const Starts& starts) {
  return std::any_of(starts.begin(), starts.end(), [](const Start& start) {
    return start.is_tensor() && detail::Access::vector_rank(start.tensor()) > 0;
  });
}

/// Every lane has its own starts: the rule that maps the row over leading axes does it.
Tensor slice_lanes(const Operand& operand, const Plain& x, const Starts& starts,
                   const Dims& lengths, const SliceOptions& options) {
  std::vector<Tensor> operands{operand.is_number() ? x.tensor : operand.tensor()};
  for (const Start& start : starts) {
    if (start.is_tensor()) plain_start("slice", start.tensor(), x.where);
    operands.push_back(start.is_tensor() ? as_type(start.tensor(), DType::s64)
                                         : ops::scalar(Number(start.index()), DType::s64));
  }
  const VectorAxes axes = ops::merge_vector_axes("slice", operands, x.where);
  for (Tensor& t : operands) t = ops::align_vector_axes(t, axes, 0, true);
  const Attrs attrs = Attrs::of(ops::DynamicSliceAttrs{lengths});
  const Tensor block =
      (*ops::kDynamicSlice.vectorize)({operands, attrs, static_cast<int>(axes.size())})[0];
  return slice(with_labels(block, x.names, axes), Starts(lengths.size(), Start(0)), lengths,
               options);
}

Dims clamped(const Starts& starts, const Dims& dims, const Dims& block) {
  Dims list;
  for (std::size_t i = 0; i < dims.size(); ++i)
    list.push_back(std::clamp<std::int64_t>(starts[i].index(), 0, dims[i] - block[i]));
  return list;
}

}  // namespace

Tensor slice(const Operand& operand, const Starts& starts, const Dims& lengths,
             const SliceOptions& options) {
  const Plain x = plain_operand("slice", operand);
  const Dims dims = x.dims();
  check_counts("slice", x, starts);
  if (lengths.size() != dims.size())
    throw ShapeError("slice", fmt::format("expected one length for each of {} axes, got {}",
                                          dims.size(), lengths.size()), x.where);
  Dims strides = options.strides.empty() ? Dims(dims.size(), 1) : options.strides;
  if (strides.size() != dims.size())
    throw ShapeError("slice", fmt::format("expected one stride for each of {} axes, got {}",
                                          dims.size(), strides.size()), x.where);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (lengths[i] < 1 || lengths[i] > dims[i])
      throw ShapeError("slice", fmt::format("length of axis {}; expected 1 to {}, got {}", i,
                                            dims[i], lengths[i]), x.where);
    if (strides[i] < 1)
      throw ArgumentError("slice", fmt::format("strides must be positive, got {}",
                                               to_string(strides)), x.where);
  }
  if (any_vectorized(starts)) return slice_lanes(operand, x, starts, lengths, options);
  Tensor block = x.tensor;
  Dims from(dims.size(), 0);
  if (any_tensor(starts)) {
    std::vector<Tensor> operands = start_tensors("slice", x, starts);
    operands.insert(operands.begin(), x.tensor);
    block = graph::emit(ops::kDynamicSlice, operands,
                        Attrs::of(ops::DynamicSliceAttrs{x.with_lead(lengths)}), x.where);
  } else {
    from = clamped(starts, dims, lengths);
  }
  // The static part: everything, or what strides leave of the block.
  const auto lead = at(x.lead);
  Dims begin(lead, 0), steps(lead, 1);
  Dims end = x.with_lead({});
  for (std::size_t i = 0; i < dims.size(); ++i) {
    begin.push_back(from[i]);
    end.push_back(from[i] + lengths[i]);
    steps.push_back(strides[i]);
  }
  return with_labels(ops::slice_dims(block, begin, end, steps), x.names, x.vector_axes);
}

Tensor slice_along_axis(const Operand& operand, const Start& start, std::int64_t length,
                        const SliceAlongAxisOptions& options) {
  const Plain x = plain_operand("slice_along_axis", operand);
  const int axis = options.axis.resolve("slice_along_axis", x.rank(), x.names);
  Starts starts(at(x.rank()), Start(0));
  Dims lengths = x.dims(), strides(at(x.rank()), 1);
  starts[at(axis)] = start;
  lengths[at(axis)] = length;
  strides[at(axis)] = options.strides;
  return slice(operand, starts, lengths, {.strides = strides});
}

Tensor put_slice(const Operand& operand, const Starts& starts, const Operand& update_operand) {
  const Plain given = plain_operand("put_slice", operand);
  const Plain update = plain_operand("put_slice", update_operand);
  check_counts("put_slice", given, starts);
  const Dims dims = given.dims(), block = update.dims();
  bool fits = block.size() == dims.size();
  for (std::size_t i = 0; fits && i < dims.size(); ++i) fits = block[i] <= dims[i];
  if (!fits)
    throw ShapeError("put_slice", fmt::format("an update of {} does not fit into {}",
                                              to_string(block), to_string(dims)), given.where);
  const Operand both[] = {operand, update_operand};
  const DType type = ops::merge_operand_types(both);
  Names names = ops::merge_names("put_slice", given.names, dims.size(), update.names, block.size(),
                                 given.where);
  // Both in the same lanes and the same type.
  Plain x = given;
  Tensor value = update.tensor;
  if (!given.vector_axes.empty() || !update.vector_axes.empty()) {
    const Tensor labelled[] = {with_labels(given.tensor, {}, given.vector_axes),
                               with_labels(update.tensor, {}, update.vector_axes)};
    x.vector_axes = ops::merge_vector_axes("put_slice", labelled, given.where);
    x.lead = static_cast<int>(x.vector_axes.size());
    x.tensor = ops::align_vector_axes(labelled[0], x.vector_axes, dims.size(), true);
    value = ops::align_vector_axes(labelled[1], x.vector_axes, dims.size(), true);
  }
  x.tensor = as_type(x.tensor, type);
  std::vector<Tensor> operands{x.tensor, as_type(value, type)};
  if (dims.empty() && x.lead == 0) return with_labels(operands[1], names, {});
  for (Tensor& start : start_tensors("put_slice", x, starts)) operands.push_back(std::move(start));
  return with_labels(graph::emit(ops::kPutSlice, operands, {}, x.where), names, x.vector_axes);
}

Tensor concatenate(std::span<const Tensor> tensors, const ConcatenateOptions& options) {
  if (tensors.empty()) throw ArgumentError("concatenate", "expected at least one tensor");
  std::vector<Operand> operands;
  Names names;
  const int rank = tensors[0].rank();
  for (const Tensor& t : tensors) {
    detail::Access::checked(t, "concatenate");
    operands.emplace_back(t, SourceLocation());
    if (t.rank() != rank)
      throw ShapeError("concatenate", fmt::format("all tensors must have one rank, got {} and {}",
                                                  to_string(tensors[0].shape()),
                                                  to_string(t.shape())));
    names = ops::merge_names("concatenate", names, at(rank), t.names(), at(rank), {});
  }
  const int axis = options.axis.resolve("concatenate", rank, names);
  const DType type = ops::merge_operand_types(operands);
  const VectorAxes axes = ops::merge_vector_axes("concatenate", tensors, {});
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors)
    parts.push_back(as_type(ops::align_vector_axes(t, axes, at(rank), true), type));
  const auto lead = static_cast<std::int64_t>(axes.size());
  return with_labels(ops::concatenate_dims(parts, axis + lead), names, axes);
}

Tensor stack(std::span<const Tensor> tensors, const StackOptions& options) {
  if (tensors.empty()) throw ArgumentError("stack", "expected at least one tensor");
  std::vector<Tensor> parts;
  const Shape shape = tensors[0].shape();
  for (const Tensor& t : tensors) {
    detail::Access::checked(t, "stack");
    if (!(t.shape() == shape))
      throw ShapeError("stack", fmt::format("all tensors must have one shape, got {} and {}",
                                            to_string(shape), to_string(t.shape())));
    parts.push_back(new_axis(t, options.axis, options.name));
  }
  const auto rank = static_cast<std::int64_t>(shape.size()) + 1;
  return concatenate(parts, {.axis = Axis(options.axis < 0 ? options.axis + rank : options.axis)});
}

Tensor pad(const Operand& operand, const Operand& value, std::span<const Padding> padding) {
  const Plain given = plain_operand("pad", operand);
  const Plain fill = plain_operand("pad", value);
  if (padding.size() != at(given.rank()))
    throw ShapeError("pad", fmt::format("expected one padding for each of {} axes, got {}",
                                        given.rank(), padding.size()), given.where);
  if (fill.rank() != 0)
    throw ShapeError("pad", fmt::format("the value must be a scalar, got {}",
                                        to_string(fill.dims())), given.where);
  if (fill.lead > 0) throw ShapeError("pad", "the value must not be vectorized", given.where);
  const DType type = given.tensor.type();  // the value is brought to it
  const Dims lead(at(given.lead), 0);
  Dims low = lead, high = lead, interior = lead;
  for (const Padding& p : padding) {
    low.push_back(p.low);
    high.push_back(p.high);
    interior.push_back(p.interior);
  }
  const Tensor filler = value.is_number() ? ops::scalar(value.number(), type)
                                          : as_type(fill.tensor, type);
  return with_labels(ops::pad_dims(given.tensor, filler, low, high, interior), given.names,
                     given.vector_axes);
}

}  // namespace nx
