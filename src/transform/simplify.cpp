// Algebraic simplification: every row's own rule, constant folding, and views moved behind the
// work on their operands.
#include "transform/passes.h"
#include "transform/rewrite.h"

namespace nx::transform {

Tensor apply_row_rule(Rewriter& rewriter, const graph::Node& node) {
  if (node.row->simplify == nullptr) return {};
  const graph::Tensors in = rewriter.handles(node.inputs);
  return node.row->simplify({in, node.outputs, node.attrs});
}

graph::Graph simplify_once(graph::Graph graph, bool& changed) {
  static constexpr RewriteRule kRules[] = {fold_constant, apply_row_rule, sink_view,
                                            broadcast_before_reshape};
  Rewriter rewriter(std::move(graph));
  graph::Graph result = rewriter.run(kRules);
  changed = rewriter.changed();
  return result;
}

graph::Graph simplify(graph::Graph graph) {
  bool changed = false;
  return simplify_once(std::move(graph), changed);
}

}  // namespace nx::transform
