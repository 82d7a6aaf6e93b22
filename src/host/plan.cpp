// From the fused steps to steps over values: operands, copies to results, in-place rules.
#include "host/plan.h"

#include <algorithm>
#include <map>

namespace nx::host {

using graph::Edge;
using graph::Graph;
using graph::Node;
using graph::NodeIndex;

bool PlannedStep::is_in_place(std::size_t out_slot, ValueIndex value,
                              std::span<const PlannedValue> values) const {
  if (values[out[out_slot]].bytes != values[value].bytes) return false;
  switch (kind) {
    case StepKind::kCopy: return true;
    case StepKind::kKernel:
      return out_slot == 0 && in_place_operand >= 0 && in[in_place_operand] == value &&
             std::count(in.begin(), in.end(), value) == 1;
    case StepKind::kLoop: break;
  }
  const StepOutput& result = loop.outputs[out_slot];
  if (!result.same_position) return false;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i] == value && (!loop.inputs[i].same_position || loop.inputs[i].extent != result.extent))
      return false;
  return true;
}

namespace {

class StepAdder {
 public:
  StepAdder(Plan& plan, const Graph& graph, const Fusion& fusion)
      : plan_(plan), graph_(graph), fusion_(fusion), has_array_(nodes_with_arrays(graph, fusion)) {}

  void run() {
    for (std::size_t p = 0; p < graph_.parameters.size(); ++p) {
      const NodeIndex node = graph_.parameters[p].node;
      const ValueIndex value = add_value({node, 0});
      plan_.values[value].at = {static_cast<BlockIndex>(p), 0};
    }
    for (int step = 0; step < static_cast<int>(fusion_.steps.size()); ++step)
      fusion_.steps[step].is_loop ? add_loop(step) : add_kernel(step);
    add_outputs();
  }

 private:
  ValueIndex add_value(Edge edge) {
    PlannedValue value;
    value.edge = edge;
    value.bytes = graph_.type(edge).bytes();
    plan_.values.push_back(value);
    const auto index = static_cast<ValueIndex>(plan_.values.size() - 1);
    index_[{edge.node, edge.output}] = index;
    return index;
  }
  ValueIndex value_of(Edge edge) const { return index_.at({edge.node, edge.output}); }
  void add_scratch(PlannedStep& step, std::size_t bytes) {
    if (bytes == 0) return;
    PlannedValue value;
    value.bytes = bytes;
    step.scratch = static_cast<std::int64_t>(plan_.values.size());
    plan_.values.push_back(value);
  }
  void add_loop(int index);
  void add_kernel(int index);
  void add_outputs();
  void add_copy(ValueIndex from, std::size_t output);

  Plan& plan_;
  const Graph& graph_;
  const Fusion& fusion_;
  std::vector<bool> has_array_;
  std::map<std::pair<NodeIndex, std::uint32_t>, ValueIndex> index_;
};

void StepAdder::add_loop(int index) {
  PlannedStep step;
  step.kind = StepKind::kLoop;
  step.nodes = fusion_.steps[index].nodes;
  step.loop = make_loop(graph_, fusion_, index, has_array_);
  for (const StepInput& input : step.loop.inputs) step.in.push_back(value_of(input.source));
  for (const StepOutput& output : step.loop.outputs) step.out.push_back(add_value(output.edge));
  // Which results will lie on which operands is not known yet: take the worst case.
  std::vector<kernels::SlotAlias> all;
  for (std::uint32_t o = 0; o < step.out.size(); ++o)
    for (std::uint32_t i = 0; i < step.in.size(); ++i)
      if (step.is_in_place(o, step.in[i], plan_.values)) all.push_back({o, i});
  add_scratch(step, step.loop.builder.finish(all).scratch_bytes());
  plan_.steps.push_back(std::move(step));
}

void StepAdder::add_kernel(int index) {
  PlannedStep step;
  step.kind = StepKind::kKernel;
  const NodeIndex n = fusion_.steps[index].nodes[0];
  step.nodes = {n};
  const Node& node = graph_.nodes[n];
  const auto& rule = *node.row->host_as<graph::KernelRule>();
  graph::TensorTypes in;
  for (const Edge edge : node.inputs) in.push_back(graph_.type(edge));
  step.kernel = rule.prepare({in, node.outputs, node.attrs});
  step.in_place_operand = rule.in_place_operand;
  for (const Access& access : fusion_.nodes[n].operands) step.in.push_back(value_of(access.source));
  for (std::uint32_t o = 0; o < node.outputs.size(); ++o) step.out.push_back(add_value({n, o}));
  add_scratch(step, step.kernel->scratch_bytes());
  plan_.steps.push_back(std::move(step));
}

void StepAdder::add_copy(ValueIndex from, std::size_t output) {
  PlannedStep step;
  step.in = {from};
  step.out = {static_cast<ValueIndex>(plan_.values.size())};
  PlannedValue value = plan_.values[from];
  value.output = static_cast<std::int32_t>(output);
  plan_.values.push_back(value);
  plan_.steps.push_back(std::move(step));
}

void StepAdder::add_outputs() {
  // One value may be returned several times; its home is the output that a leaf is paired with,
  // else the first.
  std::map<ValueIndex, std::size_t> home;
  for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
    const Edge source = fusion_.access(graph_.outputs[o].edge).source;
    if (graph_.nodes[source.node].row->is(graph::kParameter)) continue;
    const auto [at, fresh] = home.try_emplace(value_of(source), o);
    if (!fresh && plan_.pair_of_output[at->second] < 0 && plan_.pair_of_output[o] >= 0)
      at->second = o;
  }
  for (const auto& [value, output] : home)
    plan_.values[value].output = static_cast<std::int32_t>(output);
  for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
    const ValueIndex value = value_of(fusion_.access(graph_.outputs[o].edge).source);
    const auto at = home.find(value);
    if (at == home.end() || at->second != o) add_copy(value, o);
  }
}

}  // namespace

void add_steps(Plan& plan, const Graph& graph, const Fusion& fusion) {
  StepAdder(plan, graph, fusion).run();
}

Plan make_plan(const Graph& graph, std::span<const graph::DonationPair> pairs) {
  Plan plan;
  plan.pairs.assign(pairs.begin(), pairs.end());
  std::stable_sort(plan.pairs.begin(), plan.pairs.end(),
                   [](const auto& a, const auto& b) { return a.kind < b.kind; });
  plan.pair_of_parameter.assign(graph.parameters.size(), -1);
  plan.pair_of_output.assign(graph.outputs.size(), -1);
  for (const graph::DonationPair& pair : plan.pairs) {
    plan.pair_of_parameter[pair.parameter] = static_cast<std::int32_t>(pair.output);
    plan.pair_of_output[pair.output] = static_cast<std::int32_t>(pair.parameter);
  }
  for (const graph::Parameter& p : graph.parameters)
    plan.memory.arguments += graph.nodes[p.node].type().bytes();
  for (const graph::Output& output : graph.outputs) {
    plan.output_bytes.push_back(graph.type(output.edge).bytes());
    plan.memory.results += plan.output_bytes.back();
  }
  for (const graph::DonationPair& pair : plan.pairs)
    plan.memory.aliased += plan.output_bytes[pair.output];
  add_steps(plan, graph, fuse(graph));
  schedule(plan);
  place_values(plan);
  plan.memory.temporaries = plan.workspace;
  return plan;
}

}  // namespace nx::host
