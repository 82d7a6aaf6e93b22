// Passes over a graph: each takes a graph and returns one that computes the same results. All keep
// parameters (order, paths, marks, captured tensors) and outputs (order, paths).
//
// What a pass does depends on the graph alone, never on marks, pairs or addresses (R19).
#pragma once

#include "graph/graph.h"

namespace nx::transform {

/// Everything below, in the order simplify, merge, remove, until nothing changes (three rounds at
/// most). What the runtime calls between tracing and pairing.
graph::Graph optimize(const graph::Graph& graph);

/// Applies every row's own `simplify` rule, evaluates nodes whose operands are known numbers, and
/// moves elementwise work before broadcasts and reshapes.
graph::Graph simplify(graph::Graph graph);
/// Common subexpressions: one node for equal row, attributes and operands.
graph::Graph merge_equal_nodes(graph::Graph graph);
/// Dead code: drops nodes on which no output and no effect depends.
graph::Graph remove_unused_nodes(graph::Graph graph);

}  // namespace nx::transform
