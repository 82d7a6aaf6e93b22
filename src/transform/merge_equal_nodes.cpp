// Common subexpressions: the first of several equal nodes stands for all.
#include <algorithm>
#include <bit>

#include "graph/op_row.h"
#include "transform/literal.h"
#include "transform/passes.h"

namespace nx::transform {
namespace {

using graph::Edge;
using graph::Edges;
using graph::Graph;
using graph::Node;
using graph::NodeIndex;

constexpr NodeIndex kEmpty = ~NodeIndex{0};

bool before(Edge a, Edge b) { return a.node != b.node ? a.node < b.node : a.output < b.output; }

/// Operands in an order that does not depend on how the caller wrote a commutative operation.
/// Nodes keep their own order: only the comparison uses this one.
Edges sorted_operands(const Node& node) {
  Edges edges = node.inputs;
  if (node.row->commutative && edges.size() == 2 && before(edges[1], edges[0]))
    std::swap(edges[0], edges[1]);
  return edges;
}

/// A table from nodes to the first equal one; open addressing, since it is the cost of the pass.
class Table {
 public:
  explicit Table(std::size_t nodes)
      : slots_(std::bit_ceil(nodes * 2 + 8), kEmpty), hashes_(slots_.size()) {}

  /// The node equal to `index`, which is entered when it is the first.
  NodeIndex find_or_enter(const Graph& graph, NodeIndex index) {
    const Node& node = graph.nodes[index];
    const Edges operands = sorted_operands(node);
    const std::uint64_t hash = hash_of(node, operands);
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      if (slots_[at] == kEmpty) {
        slots_[at] = index;
        hashes_[at] = hash;
        return index;
      }
      if (hashes_[at] == hash && are_equal(graph.nodes[slots_[at]], node, operands))
        return slots_[at];
    }
  }

 private:
  std::size_t mask() const { return slots_.size() - 1; }

  // The row's address picks a slot and nothing else: which node stands for which does not depend
  // on it.
  static std::uint64_t hash_of(const Node& node, const Edges& operands) {
    std::uint64_t h = reinterpret_cast<std::uintptr_t>(node.row);
    for (const Edge edge : operands)
      h = graph::mix_hash(h, (std::uint64_t{edge.node} << 16) + edge.output);
    if (node.row->is(graph::kLiteral)) {
      const auto& attrs = node.attrs.as<graph::LiteralAttrs>();
      h = graph::mix_hash(h, graph::hash_field(rounded(attrs.value, attrs.type)));
    } else {
      h = graph::mix_hash(h, node.attrs.hash());
    }
    return h ^ (h >> 32);
  }

  static bool are_equal(const Node& a, const Node& b, const Edges& operands) {
    if (a.row != b.row || a.outputs != b.outputs) return false;
    if (a.row->is(graph::kLiteral)) {
      const auto& x = a.attrs.as<graph::LiteralAttrs>();
      const auto& y = b.attrs.as<graph::LiteralAttrs>();
      return rounded(x.value, x.type) == rounded(y.value, y.type);
    }
    return a.attrs == b.attrs && sorted_operands(a) == operands;
  }

  std::vector<NodeIndex> slots_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace

Graph merge_equal_nodes(Graph graph) {
  Table table(graph.nodes.size());
  std::vector<NodeIndex> kept(graph.nodes.size());
  for (NodeIndex i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    for (Edge& edge : node.inputs) edge.node = kept[edge.node];
    const bool alone = node.row->effect || node.row->is(graph::kParameter) || !node.regions.empty();
    kept[i] = alone ? i : table.find_or_enter(graph, i);
  }
  for (graph::Output& output : graph.outputs) output.edge.node = kept[output.edge.node];
  return graph;
}

}  // namespace nx::transform
