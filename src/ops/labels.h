// How axis names and vectorised axes pass from operands to results, for every family.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/body.h"
#include "nx/tensor.h"

namespace nx::ops {

/// Counted labels for a scope; null when there is nothing to say.
class LabelsRef {
 public:
  LabelsRef() = default;
  LabelsRef(Names names, VectorAxes vector_axes)
      : labels_(detail::make_labels(std::move(names), std::move(vector_axes))) {}
  LabelsRef(LabelsRef&& other) noexcept : labels_(std::exchange(other.labels_, nullptr)) {}
  LabelsRef& operator=(LabelsRef&& other) noexcept {
    std::swap(labels_, other.labels_);
    return *this;
  }
  ~LabelsRef() { detail::release_labels(labels_); }
  detail::Labels* get() const noexcept { return labels_; }

 private:
  detail::Labels* labels_ = nullptr;
};

inline detail::Labels* labels_of(const Tensor& t) noexcept {
  return detail::Access::body(t) ? detail::Access::body(t)->labels : nullptr;
}
inline bool has_labels(const Tensor& t) noexcept { return labels_of(t) != nullptr; }

/// Names of the result of broadcasting shapes of ranks a and b from the right: equal names or one
/// of them missing. Throws ShapeError for two different names on one axis.
Names merge_names(std::string_view operation, const Names& a, std::size_t rank_a, const Names& b,
                  std::size_t rank_b, SourceLocation where);

/// The union of the operands' vectorised axes, in the order they appear. Throws ShapeError when
/// one name has two sizes, neither of them 1.
VectorAxes merge_vector_axes(std::string_view operation, std::span<const Tensor> operands,
                             SourceLocation where);

/// The operand with exactly the vectorised axes `axes` as leading plain axes (no labels): those it
/// lacks have size 1, or their full size with `expand`. `rank` pads its own dims with ones in
/// front up to that rank (0: as they are).
Tensor align_vector_axes(const Tensor& operand, const VectorAxes& axes, std::size_t rank,
                         bool expand);

/// An operand as a graph-level tensor: all axes plain, no labels.
Tensor without_labels(const Tensor& t);

}  // namespace nx::ops
