// Public functions that read and write at indices.
#include "nx/indexing.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/trace.h"
#include "ops/arithmetic.h"
#include "ops/elementwise.h"
#include "ops/indexing.h"
#include "ops/labels.h"
#include "ops/movement.h"
#include "ops/operand.h"

namespace nx {

using ops::GatherAttrs;
using ops::Plain;
using ops::plain_operand;
using ops::with_labels;

namespace {

void check_indices(std::string_view operation, const Plain& indices) {
  if (!is_integer(indices.tensor.type()))
    throw DTypeError(operation, fmt::format("indices must be integers, got {}",
                                            name_of(indices.tensor.type())), indices.where);
}

/// Throws when there are indices of an axis that has no elements.
void check_not_empty(std::string_view operation, const Plain& x, const Dims& axes,
                     const Plain& indices) {
  if (element_count(indices.dims()) == 0) return;
  const Dims dims = x.dims();
  for (const auto axis : axes)
    if (dims[at(axis)] == 0)
      throw ShapeError(operation, fmt::format("axis {} of {} is empty: no index is in range", axis,
                                              to_string(dims)), x.where);
}

/// All of them in the same lanes (nothing happens when none is vectorised).
void align(std::string_view operation, std::initializer_list<Plain*> list) {
  std::vector<Tensor> labelled;
  bool any = false;
  for (const Plain* plain : list) {
    any = any || plain->lead > 0;
    labelled.push_back(with_labels(plain->tensor, {}, plain->vector_axes));
  }
  if (!any) return;
  const VectorAxes axes = ops::merge_vector_axes(operation, labelled, (*list.begin())->where);
  std::size_t i = 0;
  for (Plain* const plain : list) {
    plain->tensor = ops::align_vector_axes(labelled[i++], axes, 0, true);
    plain->vector_axes = axes;
    plain->lead = static_cast<int>(axes.size());
  }
}

/// `axes` as given, else the first as many as the last axis of the indices lists.
Dims listed_axes(std::string_view operation, const Plain& x, const Plain& indices,
                 const Axes& axes) {
  if (indices.rank() < 1)
    throw ShapeError(operation, "indices must have at least one axis", indices.where);
  if (axes.is_given()) {
    const Dims given = axes.resolve(operation, x.rank(), x.names);
    if (!std::is_sorted(given.begin(), given.end()))
      throw ArgumentError(operation, fmt::format("axes must ascend, got {}", to_string(given)),
                          x.where);
    return given;
  }
  const std::int64_t count = indices.dims().back();
  if (count > x.rank() || count < 1)
    throw ShapeError(operation, fmt::format("the last axis of the indices lists positions; "
                                            "expected 1 to {}, got {}", x.rank(), count),
                     indices.where);
  return ops::iota_dims(at(count));
}

Tensor scatter(std::string_view name, const graph::OpRow& row, const Operand& operand,
               const Operand& index_operand, const Operand& update_operand, const Axes& axes) {
  Plain x = plain_operand(name, operand), indices = plain_operand(name, index_operand);
  Plain updates = plain_operand(name, update_operand);
  check_indices(name, indices);
  if (indices.rank() > 2)
    throw ShapeError(name, fmt::format("indices are one row of positions or a list of rows, got "
                                       "{}", to_string(indices.dims())), indices.where);
  const Dims own = listed_axes(name, x, indices, axes);
  check_not_empty(name, x, own, indices);
  const Operand both[] = {operand, update_operand};
  const DType type = ops::merge_operand_types(both);
  align(name, {&x, &indices, &updates});
  return with_labels(ops::scatter_dims(row, as_type(x.tensor, type), indices.tensor,
                                       as_type(updates.tensor, type), {own, x.lead, 0}, x.where),
                     x.names, x.vector_axes);
}

}  // namespace

Tensor take(const Operand& operand, const Operand& index_operand, const TakeOptions& options) {
  Plain x = plain_operand("take", operand), indices = plain_operand("take", index_operand);
  check_indices("take", indices);
  if (x.rank() == 0) throw ShapeError("take", "the tensor must have at least one axis", x.where);
  const int axis = options.axis.resolve("take", x.rank(), x.names);
  check_not_empty("take", x, {axis}, indices);
  const Dims index_dims = indices.dims();
  Names names;
  if (!x.names.empty() || !indices.names.empty()) {
    const auto named = [](const Plain& p) {
      return p.names.empty() ? Names(at(p.rank())) : p.names;
    };
    names = named(x);
    Names inner = named(indices);
    // One axis for one axis: their names must agree.
    if (inner.size() == 1)
      inner = ops::merge_names("take", {names[at(axis)]}, 1, inner, 1, x.where);
    names.erase(names.begin() + axis);
    names.insert(names.begin() + axis, inner.begin(), inner.end());
  }
  GatherAttrs attrs{{axis}, 0, axis};
  if (indices.lead > 0) {
    align("take", {&x, &indices});
    attrs.batch = x.lead;
  } else {  // the tensor's lanes are axes like any other
    attrs = {{axis + x.lead}, 0, axis + x.lead};
  }
  Dims listed = ops::dims_of(indices.tensor);
  listed.push_back(1);
  const Tensor rows = ops::reshape_dims(indices.tensor, listed);
  return with_labels(ops::gather_dims(x.tensor, rows, attrs, {x.where, "take"}), names,
                     x.vector_axes);
}

Tensor take_along_axis(const Operand& operand, const Operand& index_operand,
                       const TakeAlongAxisOptions& options) {
  Plain x = plain_operand("take_along_axis", operand);
  Plain indices = plain_operand("take_along_axis", index_operand);
  check_indices("take_along_axis", indices);
  const int axis = options.axis.resolve("take_along_axis", x.rank(), x.names);
  const Dims dims = x.dims(), index_dims = indices.dims();
  bool fits = dims.size() == index_dims.size();
  for (std::size_t i = 0; fits && i < dims.size(); ++i)
    fits = static_cast<int>(i) == axis || dims[i] == index_dims[i];
  if (!fits)
    throw ShapeError("take_along_axis",
                     fmt::format("indices must have the tensor's sizes but on axis {}; expected "
                                 "{}, got {}", axis, to_string(dims), to_string(index_dims)),
                     x.where);
  check_not_empty("take_along_axis", x, {axis}, indices);
  align("take_along_axis", {&x, &indices});
  // The axis last: then all others are batch axes.
  const int last = x.lead + x.rank() - 1;
  Dims order = ops::iota_dims(at(last) + 1), back = order;
  order.erase(order.begin() + x.lead + axis);
  order.push_back(x.lead + axis);
  for (std::size_t i = 0; i < order.size(); ++i) back[at(order[i])] = static_cast<std::int64_t>(i);
  const Tensor moved = ops::transpose_dims(indices.tensor, order);
  Dims listed = ops::dims_of(moved);
  listed.push_back(1);
  const Tensor taken =
      ops::gather_dims(ops::transpose_dims(x.tensor, order), ops::reshape_dims(moved, listed),
                       {{0}, last, 0}, {x.where, "take_along_axis"});
  return with_labels(ops::transpose_dims(taken, back), x.names, x.vector_axes);
}

Tensor gather(const Operand& operand, const Operand& index_operand, const GatherOptions& options) {
  Plain x = plain_operand("gather", operand), indices = plain_operand("gather", index_operand);
  check_indices("gather", indices);
  const Dims axes = listed_axes("gather", x, indices, options.axes);
  check_not_empty("gather", x, axes, indices);
  align("gather", {&x, &indices});
  return with_labels(ops::gather_dims(x.tensor, indices.tensor, {axes, x.lead, 0}, x.where), {},
                     x.vector_axes);
}

Tensor indexed_add(const Operand& x, const Operand& indices, const Operand& updates,
                   const IndexedAddOptions& options) {
  return scatter("indexed_add", ops::kIndexedAdd, x, indices, updates, options.axes);
}

Tensor indexed_put(const Operand& x, const Operand& indices, const Operand& updates,
                   const IndexedPutOptions& options) {
  return scatter("indexed_put", ops::kIndexedPut, x, indices, updates, options.axes);
}

}  // namespace nx
