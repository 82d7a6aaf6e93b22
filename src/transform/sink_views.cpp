// Elementwise work moves before the views of its operands: f(broadcast(a), broadcast(b)) becomes
// broadcast(f(a, b)), so that repeated values are computed once, and f(reshape(a)) becomes
// reshape(f(a)), so that reshapes meet and cancel. Known numbers go along with any view.
#include "core/at.h"
#include "ops/movement.h"
#include "transform/rewrite.h"

namespace nx::transform {
namespace {

using graph::Edge;
using graph::Node;

/// Whether `dims` and `other` differ in axes of size 1 only; then `place[i]` is where axis i of
/// `dims` is in `other` (-1 for axes of size 1).
bool differ_in_units(const Dims& dims, const Dims& other, Dims& place) {
  std::size_t at = 0;
  for (const std::int64_t size : dims) {
    if (size == 1) {
      place.push_back(-1);
      continue;
    }
    while (at < other.size() && other[at] == 1) ++at;
    if (at == other.size() || other[at] != size) return false;
    place.push_back(static_cast<std::int64_t>(at++));
  }
  for (; at < other.size(); ++at)
    if (other[at] != 1) return false;
  return true;
}

/// The view that all operands but known numbers share, and the dims of what they are views of.
const Node* shared_view(Rewriter& rewriter, const Node& node, Dims& from) {
  const Node* view = nullptr;
  for (const Edge edge : node.inputs) {
    if (rewriter.splat(edge)) continue;
    const Node& operand = rewriter.node(edge);
    if (!operand.row->is(ops::kBroadcast) && !operand.row->is(ops::kReshape)) return nullptr;
    const Dims& dims = rewriter.type(operand.inputs[0]).dims;
    if (view == nullptr) {
      view = &operand;
      from = dims;
    } else if (!operand.row->is(*view->row) || !(operand.attrs == view->attrs) || dims != from) {
      return nullptr;
    }
  }
  return view;
}

}  // namespace

Tensor sink_view(Rewriter& rewriter, const Node& node) {
  if (node.row->host_as<graph::ElementwiseRule>() == nullptr) return {};
  Dims from;
  const Node* const view = shared_view(rewriter, node, from);
  if (view == nullptr) return {};
  const graph::OpRow& row = *view->row;
  const graph::Attrs attrs = view->attrs;
  if (row.is(ops::kBroadcast) && element_count(from) >= node.type().count()) return {};

  Node inner;
  inner.row = node.row;
  inner.attrs = node.attrs;
  inner.outputs = {{node.type().type, from}};
  inner.where = node.where;
  for (const Edge edge : node.inputs) {
    const auto literal = rewriter.splat(edge);
    inner.inputs.push_back(
        literal ? rewriter.edge(ops::broadcast_dims(rewriter.handle({*literal, 0}), from, {}))
                : rewriter.node(edge).inputs[0]);
  }
  return graph::emit(row, {rewriter.append(std::move(inner))}, attrs, node.where);
}

Tensor broadcast_before_reshape(Rewriter& rewriter, const Node& node) {
  if (!node.row->is(ops::kBroadcast)) return {};
  const Node& reshape = rewriter.node(node.inputs[0]);
  if (!reshape.row->is(ops::kReshape)) return {};
  const auto& attrs = node.attrs.as<ops::BroadcastAttrs>();
  const Edge source = reshape.inputs[0];
  Dims place;
  if (!differ_in_units(rewriter.type(source).dims, reshape.type().dims, place)) return {};
  // Axes of size 1 have no place to go to: they are dropped on the way.
  Dims kept, axes;
  for (std::size_t i = 0; i < place.size(); ++i) {
    if (place[i] < 0) continue;
    kept.push_back(rewriter.type(source).dims[i]);
    axes.push_back(attrs.axes[at(place[i])]);
  }
  const Dims dims = attrs.dims;
  return ops::broadcast_dims(ops::reshape_dims(rewriter.handle(source), kept), dims, axes);
}

}  // namespace nx::transform
