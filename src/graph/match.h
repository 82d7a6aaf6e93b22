// Looking behind the handles of an open trace: what made a tensor, and is it one value everywhere.
// For simplification rules and for public functions that specialise on literals.
#pragma once

#include <optional>

#include "graph/trace.h"

namespace nx::graph {

/// The node that made a traced tensor of the current trace; null for a concrete one.
const Node* producer(const Tensor& tensor) noexcept;
/// True when `tensor` is a result of `row`.
bool is_made_by(const Tensor& tensor, const OpRow& row) noexcept;
/// Operand `i` of the node that made `tensor`.
Tensor operand_of(const Tensor& tensor, std::size_t i);
/// The number that every element is, when it is known: a literal, or views and relabels of one.
std::optional<Number> splat_of(const Tensor& tensor) noexcept;

}  // namespace nx::graph
