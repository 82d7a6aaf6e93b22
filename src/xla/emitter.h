// From a graph to a StableHLO module: one function `main` whose parameters are the graph's and
// whose results are its outputs. Knows no operation by name: rows lower themselves.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/compiler.h"
#include "xla/called_kernels.h"

namespace nx::xla {

/// Whether the output can be written in the leaf's own type and dims, as an alias needs: elements
/// of one width on the device, where types below a byte are packed. Real and complex do not mix.
bool can_alias(const graph::TensorType& leaf, const graph::TensorType& output) noexcept;

/// The type of result `output` as the program gives it: the graph's own, or for a pair of other
/// type or dims the leaf's, whose bytes are then the same. Element order is row-major in both.
const graph::TensorType& emitted_type(const graph::Graph& graph,
                                      std::span<const graph::DonationPair> pairs,
                                      std::uint32_t output);

/// The text, with `tf.aliasing_output` on the parameters of `pairs`. Nodes that no output or effect
/// depends on are left out. Throws InternalError for a pair that cannot be aliased and for a row
/// whose lowering does not give what its shape rule says. With `kernels`, operations that XLA is
/// outrun at are calls of kernels, which are added there.
std::string emit_module(const graph::Graph& graph, std::span<const graph::DonationPair> pairs,
                        CalledKernels* kernels = nullptr);

}  // namespace nx::xla
