// A graph as text, and the check that it is well formed.
#include <fmt/format.h>

#include "graph/graph.h"
#include "graph/op_row.h"

namespace nx::graph {
namespace {

std::string edge_name(Edge edge) {
  return edge.output == 0 ? fmt::format("%{}", edge.node)
                          : fmt::format("%{}.{}", edge.node, edge.output);
}

std::string node_line(const Graph& graph, NodeIndex i) {
  const Node& node = graph.nodes[i];
  std::string text = fmt::format("  %{} = {}", i, node.row->name);
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    text += fmt::format("{} {}", k ? "," : "", edge_name(node.inputs[k]));
  if (node.attrs.has_value()) text += fmt::format(" {{{}}}", node.attrs.to_string());
  for (std::size_t k = 0; k < node.outputs.size(); ++k)
    text += fmt::format("{} {}", k ? "," : " :", to_string(node.outputs[k]));
  return text + "\n";
}

[[noreturn]] void fail(const Graph& graph, NodeIndex node, const std::string& what) {
  throw InternalError("verify", fmt::format("%{} of `{}`: {}\n{}", node, graph.name, what,
                                            to_string(graph)));
}

void verify_node(const Graph& graph, NodeIndex i) {
  const Node& node = graph.nodes[i];
  TensorTypes in;
  for (const Edge edge : node.inputs) {
    if (edge.node >= i) fail(graph, i, "an operand comes after its reader");
    if (edge.output >= graph.nodes[edge.node].outputs.size()) fail(graph, i, "no such result");
    in.push_back(graph.type(edge));
  }
  if (node.row->is(kParameter)) return;
  const TensorTypes inferred = (*node.row->infer)(in, node.attrs);
  if (inferred != node.outputs)
    fail(graph, i, "expected the types its row infers, got others");
}

}  // namespace

std::string to_string(const Graph& graph) {
  std::string text = fmt::format("{}(", graph.name.empty() ? "function" : graph.name);
  for (std::size_t i = 0; i < graph.parameters.size(); ++i) {
    const Parameter& p = graph.parameters[i];
    text += fmt::format("{}%{} {}: {}{}", i ? ", " : "", p.node, p.path,
                        to_string(graph.nodes[p.node].type()), p.donatable ? " [donatable]" : "");
  }
  text += ") {\n";
  for (NodeIndex i = 0; i < graph.nodes.size(); ++i)
    if (!graph.nodes[i].row->is(kParameter)) text += node_line(graph, i);
  for (const Output& output : graph.outputs)
    text += fmt::format("  return {}{}{}\n", output.path, output.path.empty() ? "" : " = ",
                        edge_name(output.edge));
  return text + "}\n";
}

void verify(const Graph& graph) {
  for (NodeIndex i = 0; i < graph.nodes.size(); ++i) verify_node(graph, i);
  for (const Output& output : graph.outputs)
    if (output.edge.node >= graph.nodes.size() ||
        output.edge.output >= graph.nodes[output.edge.node].outputs.size())
      fail(graph, output.edge.node, "an output does not exist");
}

}  // namespace nx::graph
