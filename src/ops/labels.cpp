// Merging of axis names and vectorised axes.
#include "ops/labels.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/movement.h"

namespace nx::ops {

using detail::Access;

Names merge_names(std::string_view operation, const Names& a, std::size_t rank_a, const Names& b,
                  std::size_t rank_b, SourceLocation where) {
  if (a.empty() && b.empty()) return {};
  const std::size_t rank = std::max(rank_a, rank_b);
  Names merged(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const auto name_at = [&](const Names& names, std::size_t own) {
      return names.empty() || i + own < rank ? Name() : names[i + own - rank];
    };
    const Name left = name_at(a, rank_a), right = name_at(b, rank_b);
    if (!left.empty() && !right.empty() && !(left == right))
      throw ShapeError(operation, fmt::format("names of axis {} do not agree; expected \"{}\", got "
                                              "\"{}\"", i, left.view(), right.view()), where);
    merged[i] = left.empty() ? right : left;
  }
  return merged;
}

VectorAxes merge_vector_axes(std::string_view operation, std::span<const Tensor> operands,
                             SourceLocation where) {
  VectorAxes merged;
  for (const Tensor& t : operands) {
    const detail::Labels* const labels = labels_of(t);
    if (labels == nullptr) continue;
    for (const VectorAxis& axis : labels->vector_axes) {
      auto* const found = std::find_if(merged.begin(), merged.end(),
                                       [&](const VectorAxis& m) { return m.name == axis.name; });
      if (found == merged.end()) {
        merged.push_back(axis);
      } else if (found->size == 1) {
        found->size = axis.size;
      } else if (axis.size != 1 && axis.size != found->size) {
        throw ShapeError(operation, fmt::format("vectorized axis \"{}\" has two sizes; expected "
                                                "{}, got {}", axis.name.view(), found->size,
                                                axis.size), where);
      }
    }
  }
  return merged;
}

Tensor without_labels(const Tensor& t) {
  return has_labels(t) ? Access::with_labels(t, {}, {}) : t;
}

Tensor align_vector_axes(const Tensor& operand, const VectorAxes& axes, std::size_t rank,
                         bool expand) {
  const detail::Labels* const labels = labels_of(operand);
  const VectorAxes own = labels ? labels->vector_axes : VectorAxes();
  const Dims dims = dims_of(operand);
  const std::size_t inner = dims.size() - own.size();
  rank = std::max(rank, inner);
  // Own vectorised axes into the order of `axes`, then ones where it has none.
  Dims permutation, leading;
  for (const VectorAxis& axis : axes) {
    std::int64_t size = 1;
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (!(own[k].name == axis.name)) continue;
      permutation.push_back(static_cast<std::int64_t>(k));
      size = own[k].size;
    }
    leading.push_back(size);
  }
  for (std::size_t i = 0; i < inner; ++i)
    permutation.push_back(static_cast<std::int64_t>(own.size() + i));
  Dims shape = leading;
  shape.resize(axes.size() + rank - inner, 1);
  shape.insert(shape.end(), dims.begin() + own.size(), dims.end());
  const Tensor aligned =
      reshape_dims(transpose_dims(without_labels(operand), std::move(permutation)), shape);
  if (!expand) return aligned;
  for (std::size_t k = 0; k < axes.size(); ++k) shape[k] = axes[k].size;
  return broadcast_to(aligned, shape);
}

}  // namespace nx::ops
