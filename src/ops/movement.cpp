// Public functions that give an operand other axes: reshape, transpose, broadcast and their kin.
#include "nx/movement.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "graph/trace.h"
#include "ops/movement.h"
#include "ops/operand.h"

namespace nx {

using graph::Attrs;
using ops::Plain;
using ops::plain_operand;
using ops::with_labels;

namespace {

bool contains(const Dims& list, std::int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

Tensor reshape(const Operand& x, const Dims& wanted, const ReshapeOptions& options) {
  const Plain plain = plain_operand("reshape", x);
  Dims dims = wanted;
  std::int64_t known = 1, open = -1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] != -1) {
      known *= dims[i];
      continue;
    }
    if (open >= 0) throw ShapeError("reshape", "only one size may be -1", plain.where);
    open = static_cast<std::int64_t>(i);
  }
  const std::int64_t count = element_count(plain.dims());
  if (open >= 0) {
    if (known <= 0 || count % known != 0)
      throw ShapeError("reshape", fmt::format("{} elements cannot be divided by {}", count,
                                              to_string(wanted)), plain.where);
    dims[at(open)] = count / known;
  } else if (element_count(dims) != count) {
    throw ShapeError("reshape", fmt::format("cannot reshape {} into {}; expected {} elements, got "
                                            "{}", to_string(plain.dims()), to_string(dims), count,
                                            element_count(dims)), plain.where);
  }
  ops::check_names("reshape", options.names, dims.size());
  return with_labels(ops::reshape_dims(plain.tensor, plain.with_lead(dims)), options.names,
                     plain.vector_axes);
}

Tensor squeeze(const Operand& x, const SqueezeOptions& options) {
  const Plain plain = plain_operand("squeeze", x);
  const Dims dims = plain.dims();
  Dims kept;
  Names names;
  Dims dropped;
  if (options.axes.is_given()) {
    dropped = options.axes.resolve("squeeze", plain.rank(), plain.names);
    for (const auto axis : dropped)
      if (dims[at(axis)] != 1)
        throw ShapeError("squeeze", fmt::format("axis {} of {} must have size 1", axis,
                                                to_string(dims)), plain.where);
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    if (options.axes.is_given() ? contains(dropped, axis) : dims[i] == 1) continue;
    kept.push_back(dims[i]);
    if (!plain.names.empty()) names.push_back(plain.names[i]);
  }
  return with_labels(ops::reshape_dims(plain.tensor, plain.with_lead(kept)), names,
                     plain.vector_axes);
}

Tensor new_axis(const Operand& x, std::int64_t axis, Name name) {
  const Plain plain = plain_operand("new_axis", x);
  const std::int64_t rank = plain.rank();
  if (axis < -rank - 1 || axis > rank)
    throw ShapeError("new_axis", fmt::format("expected an axis from {} to {}, got {}", -rank - 1,
                                             rank, axis), plain.where);
  if (axis < 0) axis += rank + 1;
  Dims dims = plain.dims();
  dims.insert(dims.begin() + axis, 1);
  Names names = plain.names;
  if (names.empty() && !name.empty()) names = Names(at(rank));
  if (!names.empty() || !name.empty()) names.insert(names.begin() + axis, name);
  ops::check_names("new_axis", names, dims.size());
  return with_labels(ops::reshape_dims(plain.tensor, plain.with_lead(dims)), names,
                     plain.vector_axes);
}

Tensor flatten(const Operand& x, const FlattenOptions& options) {
  const Plain plain = plain_operand("flatten", x);
  if (!options.axes.is_given())
    return with_labels(
        ops::reshape_dims(plain.tensor, plain.with_lead({element_count(plain.dims())})), {},
        plain.vector_axes);
  const Dims axes = options.axes.resolve("flatten", plain.rank(), plain.names);
  const Dims dims = plain.dims();
  for (std::size_t i = 1; i < axes.size(); ++i)
    if (axes[i] != axes[i - 1] + 1)
      throw ArgumentError("flatten", fmt::format("axes must be neighbours in order, got {}",
                                                 to_string(axes)), plain.where);
  if (axes.empty()) return with_labels(plain.tensor, plain.names, plain.vector_axes);
  Dims out(dims.begin(), dims.begin() + axes[0]);
  Names names;
  if (!plain.names.empty()) {
    names = Names(plain.names.begin(), plain.names.begin() + axes[0]);
    names.push_back(Name());
    names.insert(names.end(), plain.names.begin() + axes.back() + 1, plain.names.end());
  }
  std::int64_t merged = 1;
  for (const auto axis : axes) merged *= dims[at(axis)];
  out.push_back(merged);
  out.insert(out.end(), dims.begin() + axes.back() + 1, dims.end());
  return with_labels(ops::reshape_dims(plain.tensor, plain.with_lead(out)), names,
                     plain.vector_axes);
}

Tensor transpose(const Operand& x, const TransposeOptions& options) {
  const Plain plain = plain_operand("transpose", x);
  const auto rank = at(plain.rank());
  Dims axes = ops::iota_dims(rank);
  if (options.axes.is_given()) axes = options.axes.resolve("transpose", plain.rank(), plain.names);
  else std::reverse(axes.begin(), axes.end());
  if (axes.size() != rank)
    throw ShapeError("transpose", fmt::format("expected {} axes, got {}", rank, to_string(axes)),
                     plain.where);
  Names names;
  if (!plain.names.empty())
    for (const auto axis : axes) names.push_back(plain.names[at(axis)]);
  return with_labels(ops::transpose_dims(plain.tensor, ops::shift_axes(axes, plain.lead)), names,
                     plain.vector_axes);
}

Tensor broadcast(const Operand& x, const Dims& dims, const BroadcastOptions& options) {
  const Plain plain = plain_operand("broadcast", x);
  const Dims from = plain.dims();
  ops::check_names("broadcast", options.names, dims.size());
  Dims axes;
  if (options.axes.is_given()) {
    axes = options.axes.resolve("broadcast", static_cast<int>(dims.size()), options.names);
    if (axes.size() != from.size())
      throw ShapeError("broadcast", fmt::format("expected one axis for each of {}, got {}",
                                                to_string(from), to_string(axes)), plain.where);
    if (!std::is_sorted(axes.begin(), axes.end()))
      throw ShapeError("broadcast", fmt::format("axes must ascend, got {}", to_string(axes)),
                       plain.where);
  } else {
    if (from.size() > dims.size())
      throw ShapeError("broadcast", fmt::format("cannot broadcast {} to {}: it has more axes",
                                                to_string(from), to_string(dims)), plain.where);
    axes = ops::iota_dims(from.size());
    for (auto& axis : axes) axis += static_cast<std::int64_t>(dims.size() - from.size());
  }
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 && from[i] != dims[at(axes[i])])
      throw ShapeError("broadcast", fmt::format("cannot broadcast {} to {}", to_string(from),
                                                to_string(dims)), plain.where);
  const Tensor out = ops::broadcast_dims(plain.tensor, plain.with_lead(dims),
                                         ops::shift_axes(axes, plain.lead));
  return with_labels(out, options.names, plain.vector_axes);
}

Tensor reverse(const Operand& x, const ReverseOptions& options) {
  const Plain plain = plain_operand("reverse", x);
  return with_labels(ops::reverse_dims(plain.tensor, plain.resolve("reverse", options.axes)),
                     plain.names, plain.vector_axes);
}

Tensor tile(const Operand& x, const Dims& repetitions) {
  const Plain plain = plain_operand("tile", x);
  for (const auto times : repetitions)
    if (times < 1)
      throw ArgumentError("tile", fmt::format("repetitions must be positive, got {}",
                                              to_string(repetitions)), plain.where);
  // [n] repeated r times is [1, n] broadcast to [r, n] and flattened, on every axis at once.
  const Dims own = plain.dims();
  const std::size_t rank = std::max(own.size(), repetitions.size());
  Dims apart, repeated, joined;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t skip_own = rank - own.size(), skip_times = rank - repetitions.size();
    const std::int64_t size = i < skip_own ? 1 : own[i - skip_own];
    const std::int64_t times = i < skip_times ? 1 : repetitions[i - skip_times];
    for (const auto part : {std::int64_t{1}, size}) apart.push_back(part);
    for (const auto part : {times, size}) repeated.push_back(part);
    joined.push_back(times * size);
  }
  element_count(joined);
  Tensor out = ops::reshape_dims(plain.tensor, plain.with_lead(apart));
  out = ops::broadcast_to(out, plain.with_lead(repeated));
  return with_labels(ops::reshape_dims(out, plain.with_lead(joined)), {}, plain.vector_axes);
}

}  // namespace nx
