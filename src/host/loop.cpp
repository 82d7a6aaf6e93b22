// From the nodes of a loop to the values of a tile program.
#include "host/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "kernels/tile_program_layout.h"
#include "nx/error.h"
#include "transform/literal.h"

namespace nx::host {
namespace {

using graph::Edge;
using graph::Graph;
using graph::Node;
using graph::NodeIndex;
using graph::TensorType;
using kernels::Extent;
using Value = kernels::TileProgramBuilder::Value;

/// A generate rule with its attributes bound.
class GenerateNode final : public kernels::Generator {
 public:
  GenerateNode(const graph::GenerateRule& rule, const Node& node)
      : fill_(rule.fill), type_(node.type()), attrs_(node.attrs) {}
  void fill(std::int64_t first, std::size_t count, void* to) const override {
    fill_(type_, attrs_, first, count, to);
  }

 private:
  decltype(graph::GenerateRule::fill) fill_;
  TensorType type_;
  graph::Attrs attrs_;
};

/// Links of chains have operands and results of one type.
kernels::ChainForm chain_form(const graph::ElementwiseRule& rule, std::span<const DType> in,
                              DType out) {
  for (const DType type : in)
    if (type != out) return {};
  return rule.chain != nullptr ? rule.chain(out) : kernels::ChainForm();
}

class LoopMaker {
 public:
  LoopMaker(const Graph& graph, const Fusion& fusion, int step, const std::vector<bool>& has_array)
      : graph_(graph),
        fusion_(fusion),
        step_(step),
        has_array_(has_array),
        count_(fusion.steps[step].count),
        columns_(choose_columns()),
        rows_(columns_ > 0 ? count_ / columns_ : 1) {
    loop_.builder = kernels::TileProgramBuilder(rows_, columns_);
  }

  LoopProgram run() {
    for (const NodeIndex n : fusion_.steps[step_].nodes) {
      values_[n] = make(n);
      if (has_array_[n]) store(n);
    }
    return std::move(loop_);
  }

 private:
  void store(NodeIndex n) {
    const Role role = fusion_.nodes[n].role;
    const Extent extent = role == Role::kPerRow ? Extent::kPerRow : Extent::kFull;
    Value& value = values_[n];
    const bool is_per_row = loop_.builder.extent(value) == Extent::kPerRow;
    // A copied view or constant may be a value that is stored already, or of another extent.
    if (role != Role::kFinal && (is_per_row != (role == Role::kPerRow) ||
                                 std::find(stored_.begin(), stored_.end(), value) != stored_.end()))
      value = loop_.builder.copy(value, extent);
    stored_.push_back(value);
    loop_.builder.store(value, static_cast<std::uint32_t>(loop_.outputs.size()));
    loop_.outputs.push_back({{n, 0}, role != Role::kFinal, extent});
  }
  /// Columns fixed by a reduction, else those of the first operand that repeats along an axis.
  std::int64_t choose_columns() const {
    const FusedStep& step = fusion_.steps[step_];
    if (step.columns != 0) return step.columns;
    for (const NodeIndex n : step.nodes)
      for (const Access& access : fusion_.nodes[n].operands)
        if (!access.in_order)
          if (const std::int64_t columns = natural_columns(access.view)) return columns;
    return step.count;
  }

  Value make(NodeIndex n);
  Value reduce(NodeIndex n);
  Value operand(const Access& access, Role role);
  Value load(const Access& access, Role role, DType type);
  Value constant(const Number& number, DType type) {
    alignas(16) std::byte bytes[16] = {};
    transform::write_number(number, type, bytes);
    return loop_.builder.constant(bytes, byte_size_of(type));
  }
  Value generate(NodeIndex n) {
    const Node& node = graph_.nodes[n];
    return loop_.builder.generate(
        std::make_shared<GenerateNode>(*node.row->host_as<graph::GenerateRule>(), node),
        byte_size_of(node.type().type));
  }
  std::uint32_t input_slot(Edge source, bool same_position, Extent extent) {
    loop_.inputs.push_back({source, same_position, extent});
    return static_cast<std::uint32_t>(loop_.inputs.size() - 1);
  }

  const Graph& graph_;
  const Fusion& fusion_;
  const int step_;
  const std::vector<bool>& has_array_;
  const std::int64_t count_, columns_, rows_;
  LoopProgram loop_;
  std::map<NodeIndex, Value> values_;  // of nodes of this loop
  struct Loaded {
    Access access;
    Role role;
    Value value;
  };
  std::vector<Loaded> loaded_;
  std::vector<Value> stored_;
};

Value LoopMaker::load(const Access& access, Role role, DType type) {
  const std::size_t element = byte_size_of(type);
  auto& builder = loop_.builder;
  if (access.in_order) {
    const Extent extent = role == Role::kPerRow ? Extent::kPerRow : Extent::kFull;
    return builder.input(extent, element, input_slot(access.source, true, extent));
  }
  const std::int64_t offset = access.view.offset;
  if (role == Role::kPerRow)
    return builder.input(Extent::kScalar, element,
                         input_slot(access.source, false, Extent::kScalar), offset);
  const auto extent = extent_of(access.view, rows_, columns_);
  if (!extent)
    return builder.strided_input(access.view, element,
                                 input_slot(access.source, false, Extent::kFull));
  const bool same =
      *extent == Extent::kFull && offset == 0 && graph_.type(access.source).count() == count_;
  return builder.input(*extent, element, input_slot(access.source, same, *extent), offset);
}

Value LoopMaker::operand(const Access& access, Role role) {
  const NodeIndex source = access.source.node;
  const Node& node = graph_.nodes[source];
  const DType type = graph_.type(access.source).type;
  // A value of this loop; per row it is repeated by the builder.
  if (fusion_.nodes[source].step == step_) {
    const auto at = values_.find(source);
    if (at != values_.end()) return at->second;
  }
  if (node.row->is(graph::kLiteral)) {
    const auto& literal = node.attrs.as<graph::LiteralAttrs>();
    return constant(literal.value, literal.type);
  }
  for (const Loaded& known : loaded_)
    if (known.role == role && known.access.source == access.source &&
        known.access.in_order == access.in_order &&
        (access.in_order || known.access.view == access.view))
      return known.value;
  const Value value =
      reads_array(graph_, fusion_, access, step_) ? load(access, role, type) : generate(source);
  loaded_.push_back({access, role, value});
  return value;
}

Value LoopMaker::reduce(NodeIndex n) {
  const Node& node = graph_.nodes[n];
  const auto& rule = *node.row->host_as<graph::ReduceRule>();
  const FusedNode& fused = fusion_.nodes[n];
  if (!fused.reduces) {
    if (fused.operands.empty()) return constant(rule.identity(node.type().type), node.type().type);
    return operand(fused.operands[0], fused.role);
  }
  const kernels::ReductionKernels reduction = make_reduction(*node.row, rule, node.type().type);
  const Value value = operand(fused.operands[0], Role::kFull);
  const ReduceShape shape =
      reduce_shape(graph_.type(node.inputs[0]).dims, node.attrs.as<graph::ReduceAttrs>().axes);
  return shape.form == ReduceForm::kColumns
             ? loop_.builder.reduce_columns(reduction, value, shape.groups())
             : loop_.builder.reduce_rows(reduction, value);
}

Value LoopMaker::make(NodeIndex n) {
  const Node& node = graph_.nodes[n];
  const FusedNode& fused = fusion_.nodes[n];
  const TensorType& type = node.type();
  if (node.row->host_as<graph::ReduceRule>()) return reduce(n);
  if (node.row->host_as<graph::GenerateRule>()) return generate(n);
  if (node.row->is(graph::kLiteral)) {
    const auto& literal = node.attrs.as<graph::LiteralAttrs>();
    return constant(literal.value, literal.type);
  }
  const auto* rule = node.row->host_as<graph::ElementwiseRule>();
  if (rule == nullptr) return operand(fused.operands[0], fused.role);  // a copied view

  if (fused.operands.size() > kernels::kMaxOperands)
    throw UnsupportedError(
        node.row->name,
        fmt::format("the host compiler takes at most {} operands", kernels::kMaxOperands),
        node.where);
  std::vector<Value> in;
  InlineVector<DType, 4> types;
  for (std::size_t k = 0; k < fused.operands.size(); ++k) {
    in.push_back(operand(fused.operands[k], fused.role));
    types.push_back(graph_.type(node.inputs[k]).type);
  }
  const kernels::TileKernel kernel = rule->kernel(types, type.type);
  if (kernel == nullptr) {
    std::string names;
    for (const DType t : types) names += (names.empty() ? "" : ", ") + std::string(name_of(t));
    throw UnsupportedError(
        node.row->name,
        fmt::format("the host compiler has no kernel for {} -> {}", names, name_of(type.type)),
        node.where);
  }
  return loop_.builder.apply(
      kernel, in, fused.role == Role::kPerRow ? Extent::kPerRow : Extent::kFull,
      byte_size_of(type.type), rule->cost_ns, chain_form(*rule, types, type.type));
}

}  // namespace

bool reads_array(const Graph& graph, const Fusion& fusion, const Access& access, int step) {
  const NodeIndex source = access.source.node;
  const int maker = fusion.nodes[source].step;
  if (graph.nodes[source].row->is(graph::kParameter)) return true;
  if (maker == step && step >= 0) return false;
  if (!fusion.steps.empty() && step >= 0 && fusion.steps[step].is_loop) {
    if (graph.nodes[source].row->is(graph::kLiteral)) return false;
    // A generated value that got an array only later is made anew here.
    if (graph.nodes[source].row->host_as<graph::GenerateRule>()) return maker >= 0 && maker < step;
  }
  return true;
}

std::vector<bool> nodes_with_arrays(const Graph& graph, const Fusion& fusion) {
  std::vector<bool> result(graph.nodes.size());
  for (int step = 0; step < static_cast<int>(fusion.steps.size()); ++step)
    for (const NodeIndex n : fusion.steps[step].nodes)
      for (const Access& access : fusion.nodes[n].operands)
        if (reads_array(graph, fusion, access, step)) result[access.source.node] = true;
  for (const graph::Output& output : graph.outputs)
    result[fusion.access(output.edge).source.node] = true;
  return result;
}

LoopProgram make_loop(const Graph& graph, const Fusion& fusion, int step,
                      const std::vector<bool>& has_array) {
  return LoopMaker(graph, fusion, step, has_array).run();
}

}  // namespace nx::host
