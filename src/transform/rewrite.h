// Rebuilds a graph node by node in a fresh trace, giving rules the chance to replace each node by
// something made of the (already rewritten) operands. What simplification rules stand on.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/trace.h"

namespace nx::transform {

class Rewriter;

/// The replacement of a node's only result, or an empty handle. `node` has its operands in the new
/// graph but is not part of it yet.
using RewriteRule = Tensor (*)(Rewriter& rewriter, const graph::Node& node);

class Rewriter {
 public:
  explicit Rewriter(graph::Graph graph);

  /// The rewritten graph; `changed` says whether any rule replaced anything.
  graph::Graph run(std::span<const RewriteRule> rules);
  bool changed() const noexcept { return changed_; }

  /// The literal node whose value every element of `edge` is, when there is one.
  std::optional<graph::NodeIndex> splat(graph::Edge edge);
  const graph::Node& node(graph::Edge edge) { return made().nodes[edge.node]; }
  const graph::TensorType& type(graph::Edge edge) { return made().type(edge); }
  Tensor handle(graph::Edge edge) { return open_.trace().handle(edge); }
  graph::Edge edge(const Tensor& tensor) { return open_.trace().edge_of(tensor, "rewrite", {}); }
  graph::Tensors handles(const graph::Edges& edges);
  /// A new node of the new graph.
  Tensor append(graph::Node node);
  Tensor literal(const Number& value, DType type) { return open_.trace().literal(value, type); }

 private:
  graph::Graph& made() { return open_.trace().graph(); }

  graph::Graph from_;
  graph::OpenTrace open_;
  std::vector<graph::NodeIndex> splats_;  // by node of the new graph, filled as far as asked
  bool changed_ = false;
};

/// One pass with all rules below.
graph::Graph simplify_once(graph::Graph graph, bool& changed);

// The rules, a file each.
Tensor apply_row_rule(Rewriter& rewriter, const graph::Node& node);            // simplify.cpp
Tensor fold_constant(Rewriter& rewriter, const graph::Node& node);             // fold_constants.cpp
Tensor sink_view(Rewriter& rewriter, const graph::Node& node);                 // sink_views.cpp
Tensor broadcast_before_reshape(Rewriter& rewriter, const graph::Node& node);  // sink_views.cpp

}  // namespace nx::transform
