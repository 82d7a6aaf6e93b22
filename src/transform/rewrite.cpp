// Rebuilding a graph under rewrite rules.
#include "transform/rewrite.h"

#include <fmt/format.h>

namespace nx::transform {
namespace {

using graph::Edge;
using graph::Graph;
using graph::Node;
using graph::NodeIndex;

constexpr NodeIndex kNoSplat = ~NodeIndex{0};

}  // namespace

Rewriter::Rewriter(Graph graph) : from_(std::move(graph)), open_(from_.name) {
  made().nodes.reserve(from_.nodes.size());
}

std::optional<NodeIndex> Rewriter::splat(Edge edge) {
  const auto& nodes = made().nodes;
  while (splats_.size() <= edge.node) {
    const auto i = static_cast<NodeIndex>(splats_.size());
    const Node& at = nodes[i];
    NodeIndex literal = kNoSplat;
    if (at.row->is(graph::kLiteral)) {
      literal = i;
    } else if (at.row->host_as<graph::ViewRule>() != nullptr ||
               (at.row->host_as<graph::RelabelRule>() != nullptr &&
                at.type().type == made().type(at.inputs[0]).type)) {
      literal = at.inputs[0].output == 0 ? splats_[at.inputs[0].node] : kNoSplat;
    }
    splats_.push_back(literal);
  }
  const NodeIndex found = splats_[edge.node];
  return found == kNoSplat ? std::nullopt : std::optional(found);
}

graph::Tensors Rewriter::handles(const graph::Edges& edges) {
  graph::Tensors tensors;
  tensors.reserve(edges.size());
  for (const Edge edge : edges) tensors.push_back(handle(edge));
  return tensors;
}

Tensor Rewriter::append(Node node) { return handle({made().append(std::move(node)), 0}); }

Graph Rewriter::run(std::span<const RewriteRule> rules) {
  std::vector<Edge> replaced(from_.nodes.size());  // by old node; results of one keep their number
  for (NodeIndex i = 0; i < from_.nodes.size(); ++i) {
    Node& node = from_.nodes[i];
    for (Edge& edge : node.inputs) {
      const Edge to = replaced[edge.node];
      edge = {to.node, to.output + edge.output};
    }
    Tensor better;
    const auto before = static_cast<NodeIndex>(made().nodes.size());
    if (node.outputs.size() == 1 && !node.inputs.empty() && !node.row->effect)
      for (std::size_t r = 0; r < rules.size() && !better.has_value(); ++r)
        better = rules[r](*this, node);
    if (!better.has_value()) {
      replaced[i] = {made().append(std::move(node)), 0};
      continue;
    }
    replaced[i] = open_.trace().edge_of(better, node.row->name, node.where);
    if (type(replaced[i]) != node.type())
      throw InternalError(node.row->name,
                          fmt::format("its simplification gave {}, expected {}",
                                      graph::to_string(type(replaced[i])),
                                      graph::to_string(node.type())));
    for (NodeIndex k = before; k < made().nodes.size(); ++k) made().nodes[k].where = node.where;
    changed_ = true;
  }
  for (graph::Parameter& parameter : from_.parameters)
    parameter.node = replaced[parameter.node].node;
  for (graph::Output& output : from_.outputs) {
    const Edge to = replaced[output.edge.node];
    output.edge = {to.node, to.output + output.edge.output};
  }
  made().parameters = std::move(from_.parameters);
  made().outputs = std::move(from_.outputs);
  return std::move(made());
}

}  // namespace nx::transform
