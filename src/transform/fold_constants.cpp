// Constant folding: an elementwise operation on known numbers becomes the number, computed by the
// very kernel that would compute it at run time.
#include "graph/dispatch.h"
#include "ops/movement.h"
#include "transform/literal.h"
#include "transform/rewrite.h"

namespace nx::transform {
using graph::EagerOperand;
using graph::Node;

Tensor fold_constant(Rewriter& rewriter, const Node& node) {
  if (node.row->host_as<graph::ElementwiseRule>() == nullptr) return {};
  InlineVector<EagerOperand, 4> operands;
  for (const graph::Edge edge : node.inputs) {
    const auto literal = rewriter.splat(edge);
    if (!literal) return {};
    const auto& attrs = rewriter.node({*literal, 0}).attrs.as<graph::LiteralAttrs>();
    EagerOperand operand;
    operand.type = attrs.type;
    write_number(attrs.value, attrs.type, operand.scalar);
    operands.push_back(operand);
  }
  const graph::TensorType& type = node.type();
  Tensor value;
  try {
    const graph::SuspendTrace eager;
    value = graph::dispatch().eager_elementwise(*node.row, operands, type.type, {}, node.where,
                                                nullptr);
  } catch (const Error&) {
    return {};  // an error in eager code, such as 1 / 0, is a value in compiled code
  }
  const detail::HostRead read(value, node.row->name.data());
  const Tensor literal = rewriter.literal(read_number(type.type, read.data()), type.type);
  return ops::broadcast_dims(literal, type.dims, {});
}

}  // namespace nx::transform
