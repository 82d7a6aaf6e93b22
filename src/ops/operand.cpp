// Labels off and on around structural operations.
#include "ops/operand.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "ops/creation.h"
#include "ops/labels.h"
#include "ops/movement.h"

namespace nx::ops {

using detail::Access;

Dims Plain::dims() const {
  const Dims all = dims_of(tensor);
  return Dims(all.begin() + lead, all.end());
}

int Plain::rank() const { return static_cast<int>(dims_of(tensor).size()) - lead; }

Dims Plain::with_lead(const Dims& own) const { return with_leading(tensor, lead, own); }

Dims Plain::resolve(std::string_view operation, const Axes& axes) const {
  Dims indices = axes.is_given() ? axes.resolve(operation, rank(), names)
                                 : iota_dims(at(rank()));
  for (auto& index : indices) index += lead;
  return indices;
}

Plain plain_operand(std::string_view operation, const Operand& operand) {
  Plain plain;
  plain.where = operand.where();
  if (operand.is_number()) {
    plain.tensor = scalar(operand.number(), default_type(operand.number()));
    return plain;
  }
  const Tensor& x = operand.tensor();
  const detail::Body& body = Access::checked(x, operation, operand.where());
  if (body.labels != nullptr) {
    plain.names = body.labels->names;
    plain.vector_axes = body.labels->vector_axes;
    plain.lead = static_cast<int>(plain.vector_axes.size());
  }
  plain.tensor = Access::with_mark(without_labels(x), false);
  return plain;
}

Tensor with_labels(Tensor x, Names names, VectorAxes vector_axes) {
  const bool named = std::any_of(names.begin(), names.end(),
                                 [](Name name) { return !name.empty(); });
  if ((named || !vector_axes.empty()) || has_labels(x))
    x = Access::with_labels(x, std::move(names), std::move(vector_axes));
  return Access::with_mark(std::move(x), false);
}

void check_names(std::string_view operation, const Names& names, std::size_t rank) {
  if (names.empty()) return;
  if (names.size() != rank)
    throw ShapeError(operation, fmt::format("expected one name for each of {} axes, got {}", rank,
                                            names.size()));
}

}  // namespace nx::ops
