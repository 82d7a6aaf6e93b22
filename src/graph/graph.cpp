// Structural rows, appending, and the traversal.
#include "graph/graph.h"

#include <fmt/format.h>

#include "graph/op_row.h"

namespace nx::graph {
namespace {

// A parameter's or literal's type is set by whoever makes the node; nothing is inferred.
TensorTypes infer_nothing(std::span<const TensorType>, const Attrs&) { return {}; }
TensorTypes infer_literal(std::span<const TensorType>, const Attrs& attrs) {
  return {{attrs.as<LiteralAttrs>().type, {}}};
}
TensorTypes infer_alias(std::span<const TensorType> in, const Attrs&) { return {in[0]}; }
Tensors no_vectorize(const VectorizeCall&) { return {}; }
Tensors vectorize_alias(const VectorizeCall& call) { return {call.in[0]}; }
Tensors alias_gradient(const GradCall& call) { return {call.g[0]}; }
std::vector<stablehlo::Value> lower_nothing(const LowerCall&) { return {}; }
std::vector<stablehlo::Value> lower_literal(const LowerCall& call) {
  const auto& attrs = call.attrs.as<LiteralAttrs>();
  return {call.writer.constant(attrs.value, attrs.type)};
}
std::vector<stablehlo::Value> lower_alias(const LowerCall& call) { return {call.in[0]}; }
Tensor simplify_alias(const SimplifyCall& call) { return call.in[0]; }

}  // namespace

const OpRow kParameter{
    .name = "parameter",
    .infer = infer_nothing,
    .gradient = Gradient(zero_gradient_rule),
    .vectorize = no_vectorize,
    .lower = lower_nothing,
    .host = HostRule(StructuralRule{}),
};
const OpRow kLiteral{
    .name = "literal",
    .infer = infer_literal,
    .gradient = Gradient(zero_gradient_rule),
    .vectorize = no_vectorize,
    .lower = lower_literal,
    .host = HostRule(StructuralRule{}),
};
const OpRow kAlias{
    .name = "alias",
    .infer = infer_alias,
    .gradient = Gradient(alias_gradient),
    .vectorize = vectorize_alias,
    .lower = lower_alias,
    .host = HostRule(RelabelRule{}),
    .simplify = simplify_alias,
};

std::string to_string(const TensorType& type) { return nx::to_string(type.type, type.dims); }

NodeIndex Graph::append(Node node) {
  nodes.push_back(std::move(node));
  return static_cast<NodeIndex>(nodes.size() - 1);
}

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size());
  for (const Output& output : graph.outputs) live[output.edge.node] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (node.row->effect) live[i] = true;
    if (!live[i]) continue;
    for (const Edge edge : node.inputs) live[edge.node] = true;
  }
  return live;
}

std::vector<std::vector<NodeIndex>> readers_of(const Graph& graph, const std::vector<bool>& live) {
  std::vector<std::vector<NodeIndex>> readers(graph.nodes.size());
  for (NodeIndex i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i]) continue;
    for (const Edge edge : graph.nodes[i].inputs) {
      auto& list = readers[edge.node];
      if (list.empty() || list.back() != i) list.push_back(i);
    }
  }
  return readers;
}

}  // namespace nx::graph
