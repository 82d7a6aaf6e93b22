// Dead code: nodes on which no output and no effect depends. Parameters always stay.
#include "graph/op_row.h"
#include "transform/passes.h"

namespace nx::transform {

graph::Graph remove_unused_nodes(graph::Graph graph) {
  std::vector<bool> live = graph::live_nodes(graph);
  for (const graph::Parameter& parameter : graph.parameters) live[parameter.node] = true;
  std::vector<graph::NodeIndex> kept(graph.nodes.size());
  graph::NodeIndex count = 0;
  for (graph::NodeIndex i = 0; i < graph.nodes.size(); ++i) {
    if (!live[i]) continue;
    for (graph::Edge& edge : graph.nodes[i].inputs) edge.node = kept[edge.node];
    if (count != i) graph.nodes[count] = std::move(graph.nodes[i]);
    kept[i] = count++;
  }
  graph.nodes.resize(count);
  for (graph::Parameter& parameter : graph.parameters) parameter.node = kept[parameter.node];
  for (graph::Output& output : graph.outputs) output.edge.node = kept[output.edge.node];
  return graph;
}

}  // namespace nx::transform
