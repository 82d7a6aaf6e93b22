// From what a caller gave to graph level and back: numbers become scalars, labels are taken off
// before a structural operation and put on after it.
#pragma once

#include <string_view>

#include "core/body.h"
#include "nx/tensor.h"

namespace nx::ops {

/// An operand without labels, and what its labels said.
struct Plain {
  Tensor tensor;            // all axes plain, vectorised ones first
  Names names;              // of the axes after the vectorised ones; empty or one for each
  VectorAxes vector_axes;
  int lead = 0;             // number of vectorised axes
  SourceLocation where;

  /// Sizes of the axes after the vectorised ones.
  Dims dims() const;
  int rank() const;
  /// The leading sizes, then `own`.
  Dims with_lead(const Dims& own) const;
  /// Axes as the caller named them, as indices of `tensor`; all of them when not given.
  Dims resolve(std::string_view operation, const Axes& axes) const;
};
/// Throws ArgumentError for an empty handle. A number becomes a scalar of its default type.
Plain plain_operand(std::string_view operation, const Operand& operand);

/// The result under its labels, without a mark of donation.
Tensor with_labels(Tensor x, Names names, VectorAxes vector_axes);
/// Throws ShapeError unless there are no names or one for each axis.
void check_names(std::string_view operation, const Names& names, std::size_t rank);

}  // namespace nx::ops
