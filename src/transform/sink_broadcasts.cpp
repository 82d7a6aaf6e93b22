// Elementwise work on repeated values is done once: f(broadcast(a), broadcast(b)) becomes
// broadcast(f(a, b)) when all operands that are no known numbers are repeated the same way.
#include "ops/movement.h"
#include "transform/rewrite.h"

namespace nx::transform {

using graph::Edge;
using graph::Node;

Tensor sink_broadcast(Rewriter& rewriter, const Node& node) {
  if (node.row->host_as<graph::ElementwiseRule>() == nullptr) return {};
  // The first operand that is repeated says how; numbers go along with any.
  const ops::BroadcastAttrs* how = nullptr;
  Dims from;
  for (const Edge edge : node.inputs) {
    if (rewriter.splat(edge)) continue;
    const Node& operand = rewriter.node(edge);
    if (!operand.row->is(ops::kBroadcast)) return {};
    const auto& attrs = operand.attrs.as<ops::BroadcastAttrs>();
    const Dims& dims = rewriter.type(operand.inputs[0]).dims;
    if (how == nullptr) {
      how = &attrs;
      from = dims;
    } else if (attrs.axes != how->axes || dims != from) {
      return {};
    }
  }
  if (how == nullptr || element_count(from) >= node.type().count()) return {};
  const Dims axes = how->axes;

  Node small;
  small.row = node.row;
  small.attrs = node.attrs;
  small.outputs = {{node.type().type, from}};
  small.where = node.where;
  for (const Edge edge : node.inputs) {
    Edge operand;
    if (const auto literal = rewriter.splat(edge)) {
      operand = rewriter.edge(ops::broadcast_dims(rewriter.handle({*literal, 0}), from, {}));
    } else {
      operand = rewriter.node(edge).inputs[0];
    }
    small.inputs.push_back(operand);
  }
  return ops::broadcast_dims(rewriter.append(std::move(small)), node.type().dims, axes);
}

}  // namespace nx::transform
