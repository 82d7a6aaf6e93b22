// Greedy fusion, one walk in node order. Each step has a position; a node may join a loop when the
// values it needs from outside are made at earlier positions. A loop that nobody outside reads yet
// may move to the end, and loops may merge, under the same condition.
#include "host/fuse.h"

#include <algorithm>
#include <utility>

#include "nx/error.h"

namespace nx::host {
namespace {

using graph::Edge;
using graph::Graph;
using graph::Node;
using graph::NodeIndex;
using kernels::Extent;

// Bounds the registers and the compile time of one loop: operands and nodes counted.
constexpr int kMaxWeight = 320;

class Fuser {
 public:
  explicit Fuser(const Graph& graph) : graph_(graph), live_(graph::live_nodes(graph)) {
    fusion_.nodes.resize(graph.nodes.size());
    loads_.resize(graph.nodes.size());
  }

  Fusion run() {
    for (NodeIndex n = 0; n < graph_.nodes.size(); ++n)
      if (live_[n]) visit(n);
    for (const graph::Output& output : graph_.outputs) need_array(output.edge);
    return finish();
  }

 private:
  struct Loop {
    FusedStep step;
    std::int64_t position = 0;
    int weight = 0;
    std::int64_t groups = 0;  // of rows whose columns are reduced; 0: no columns are
    bool reduces_long_rows = false;
    std::vector<int> readers;  // steps that read a value of this one, before merging
    int merged_into = -1;
  };

  void visit(NodeIndex n);
  void visit_elementwise(NodeIndex n);
  void visit_reduce(NodeIndex n);
  void visit_kernel(NodeIndex n);
  void look_through(NodeIndex n);
  /// Makes an array of a view, literal or generated value by a loop that only copies.
  void place_copy(NodeIndex n);
  void need_array(Edge edge);

  int step_of(NodeIndex n) { return fusion_.nodes[n].step < 0 ? -1 : find(fusion_.nodes[n].step); }
  int find(int step) {
    while (loops_[step].merged_into >= 0) step = loops_[step].merged_into;
    return step;
  }
  bool is_generated(NodeIndex n) const {
    return graph_.nodes[n].row->host_as<graph::GenerateRule>() != nullptr;
  }
  std::int64_t rows(const Loop& loop) const {
    return loop.step.columns > 1 ? loop.step.count / loop.step.columns : 0;
  }

  std::vector<int> candidates(NodeIndex n, std::int64_t count);
  Role role_in(int step, std::int64_t count);
  bool is_usable_inside(const Access& access, const Loop& loop, Role role) const;
  bool is_available(const Access& access, int step, Role role);
  bool operands_fit(NodeIndex n, int step, Role role);
  bool is_ready(NodeIndex n, int step);
  bool try_join(NodeIndex n, int step, Role role, std::int64_t columns);
  bool try_merge(int from, int into);
  bool can_move_to_end(int step);
  int new_step(bool is_loop, std::int64_t count);
  void join(NodeIndex n, int step, Role role);
  Fusion finish();

  const Graph& graph_;
  std::vector<bool> live_;
  Fusion fusion_;
  std::vector<Loop> loops_;              // kernels too: a step with one node
  std::vector<std::vector<int>> loads_;  // by node: loops that read its array in order
  std::int64_t next_position_ = 0;
};

void Fuser::visit(NodeIndex n) {
  const Node& node = graph_.nodes[n];
  FusedNode& fused = fusion_.nodes[n];
  for (std::uint32_t o = 0; o < node.outputs.size(); ++o)
    fused.results.push_back({{n, o}, true, {}});
  if (node.row->host_as<graph::StructuralRule>() || is_generated(n)) return;
  if (node.row->host_as<graph::ViewRule>() || node.row->host_as<graph::RelabelRule>())
    return look_through(n);
  for (const Edge edge : node.inputs) {
    if (is_scattered(fusion_.access(edge), graph_.type(edge).type)) place_copy(edge.node);
    fused.operands.push_back(fusion_.access(edge));
  }
  if (node.row->host_as<graph::ElementwiseRule>()) return visit_elementwise(n);
  if (node.row->host_as<graph::ReduceRule>()) return visit_reduce(n);
  visit_kernel(n);
}

void Fuser::look_through(NodeIndex n) {
  const Node& node = graph_.nodes[n];
  const Edge from = node.inputs[0];
  const auto reach = [&]() -> std::optional<Access> {
    const Access& input = fusion_.access(from);
    if (const auto* rule = node.row->host_as<graph::ViewRule>())
      return viewed(input, graph_.type(from), node.type(),
                    rule->view(graph_.type(from), node.type(), node.attrs));
    return relabelled(input, node.type());
  };
  std::optional<Access> access = reach();
  if (!access) {
    place_copy(from.node);
    access = reach();
  }
  fusion_.nodes[n].results[0] = *access;
}

void Fuser::place_copy(NodeIndex n) {
  FusedNode& fused = fusion_.nodes[n];
  if (fused.step >= 0) return;
  const Access own = fused.results[0];
  fused.results[0] = {{n, 0}, true, {}};
  // A literal or generated value is its own source; a view reads another's.
  if (own.source.node != n) {
    if (is_generated(own.source.node)) place_copy(own.source.node);
    fused.operands = {own};
  }
  const graph::TensorType& type = graph_.nodes[n].type();
  if (!is_scattered(own, type.type)) return visit_elementwise(n);
  join(n, new_step(true, type.count()), Role::kFull);
  loops_[fused.step].weight = kMaxWeight;  // nothing joins it: it is not made by tiles
}

void Fuser::need_array(Edge edge) {
  const Access& access = fusion_.access(edge);
  const NodeIndex source = access.source.node;
  const bool has_array =
      fusion_.nodes[source].step >= 0 || graph_.nodes[source].row->is(graph::kParameter);
  if (!access.in_order) place_copy(edge.node);
  else if (!has_array) place_copy(source);
}

Role Fuser::role_in(int step, std::int64_t count) {
  const Loop& loop = loops_[step];
  if (loop.step.count == count) return Role::kFull;
  if (loop.step.columns > 1 && rows(loop) == count) return Role::kPerRow;
  return Role::kNone;
}

/// Whether a node of `role` can use a value of its own loop through this access.
bool Fuser::is_usable_inside(const Access& access, const Loop& loop, Role role) const {
  const FusedNode& source = fusion_.nodes[access.source.node];
  if (source.role == Role::kFinal) return false;
  if (access.in_order) return source.role == role;
  if (role != Role::kFull || source.role != Role::kPerRow) return false;
  const auto extent = extent_of(access.view, rows(loop), loop.step.columns);
  return extent == Extent::kPerRow || (extent == Extent::kScalar && rows(loop) == 1);
}

/// Whether a node of `role` in the loop can use this operand, wherever it comes from.
bool Fuser::is_available(const Access& access, int step, Role role) {
  if (step_of(access.source.node) == step) return is_usable_inside(access, loops_[step], role);
  if (role == Role::kFull || access.in_order) return true;
  return extent_of(access.view, 0, 0) == Extent::kScalar;
}

bool Fuser::operands_fit(NodeIndex n, int step, Role role) {
  for (const Access& access : fusion_.nodes[n].operands) {
    if (!is_available(access, step, role)) return false;
    if (role == Role::kPerRow && is_generated(access.source.node) &&
        step_of(access.source.node) < 0)
      return false;
  }
  return true;
}

bool Fuser::can_move_to_end(int step) {
  for (const int reader : loops_[step].readers)
    if (find(reader) != step) return false;
  return true;
}

/// Whether all that `n` needs from outside is made before the step, which may move to the end.
bool Fuser::is_ready(NodeIndex n, int step) {
  for (const Access& access : fusion_.nodes[n].operands) {
    const int other = step_of(access.source.node);
    if (other < 0 || other == step || loops_[other].position < loops_[step].position) continue;
    if (!can_move_to_end(step)) return false;
    loops_[step].position = next_position_++;
    return true;
  }
  return true;
}

bool Fuser::try_merge(int from, int into) {
  Loop &a = loops_[from], &b = loops_[into];
  if (!a.step.is_loop || !b.step.is_loop || a.step.count != b.step.count) return false;
  if (a.step.columns && b.step.columns && a.step.columns != b.step.columns) return false;
  if (a.weight + b.weight > kMaxWeight) return false;
  const std::int64_t groups = std::max(a.groups, b.groups);
  if (a.groups && b.groups && a.groups != b.groups) return false;
  if (groups && (a.reduces_long_rows || b.reduces_long_rows)) return false;
  if (a.position > b.position) return false;
  for (const int reader : a.readers) {
    const int r = find(reader);
    if (r != from && r != into && loops_[r].position <= b.position) return false;
  }
  // What `into` reads of `from` becomes a value of the same loop.
  const std::int64_t before =
      std::exchange(b.step.columns, std::max(a.step.columns, b.step.columns));
  for (const NodeIndex n : b.step.nodes)
    for (const Access& access : fusion_.nodes[n].operands)
      if (step_of(access.source.node) == from &&
          !is_usable_inside(access, b, operand_role(fusion_.nodes[n]))) {
        b.step.columns = before;
        return false;
      }
  b.step.nodes.insert(b.step.nodes.end(), a.step.nodes.begin(), a.step.nodes.end());
  b.weight += a.weight;
  b.groups = groups;
  b.reduces_long_rows |= a.reduces_long_rows;
  b.readers.insert(b.readers.end(), a.readers.begin(), a.readers.end());
  a.merged_into = into;
  a.step.nodes.clear();
  return true;
}

/// Loops that make an operand of `n` or read the same array, the latest first.
std::vector<int> Fuser::candidates(NodeIndex n, std::int64_t count) {
  std::vector<int> found;
  const auto add = [&](int step) {
    step = find(step);
    if (loops_[step].step.is_loop && role_in(step, count) != Role::kNone &&
        std::find(found.begin(), found.end(), step) == found.end())
      found.push_back(step);
  };
  for (const Access& access : fusion_.nodes[n].operands) {
    const NodeIndex source = access.source.node;
    if (fusion_.nodes[source].step >= 0) add(fusion_.nodes[source].step);
    if (access.in_order)
      for (const int step : loads_[source]) add(step);
  }
  std::sort(found.begin(), found.end(),
            [&](int a, int b) { return loops_[a].position > loops_[b].position; });
  return found;
}

int Fuser::new_step(bool is_loop, std::int64_t count) {
  Loop loop;
  loop.step.is_loop = is_loop;
  loop.step.count = count;
  loop.position = next_position_++;
  loops_.push_back(std::move(loop));
  return static_cast<int>(loops_.size() - 1);
}

void Fuser::join(NodeIndex n, int step, Role role) {
  FusedNode& fused = fusion_.nodes[n];
  fused.step = step;
  fused.role = role;
  Loop& loop = loops_[step];
  loop.step.nodes.push_back(n);
  loop.weight += 1 + static_cast<int>(fused.operands.size());
  for (const Access& access : fused.operands) {
    const NodeIndex source = access.source.node;
    const int other = step_of(source);
    if (other == step) continue;
    if (other >= 0) loops_[other].readers.push_back(step);
    const bool has_array = other >= 0 || graph_.nodes[source].row->is(graph::kParameter);
    if (loop.step.is_loop && access.in_order && has_array) {
      auto& list = loads_[source];
      if (std::find(list.begin(), list.end(), step) == list.end()) list.push_back(step);
    }
  }
}

/// Joins `n` to a loop, after fixing its columns to `columns` (0: as they are).
bool Fuser::try_join(NodeIndex n, int step, Role role, std::int64_t columns) {
  Loop& loop = loops_[step];
  if (loop.weight + 1 + static_cast<int>(graph_.nodes[n].inputs.size()) > kMaxWeight) return false;
  if (columns != 0 && loop.step.columns != 0 && loop.step.columns != columns) return false;
  const std::int64_t before = loop.step.columns;
  if (columns != 0) loop.step.columns = columns;
  const Role wanted = fusion_.nodes[n].reduces ? Role::kFull : role;
  if (!operands_fit(n, step, wanted) || !is_ready(n, step)) {
    loop.step.columns = before;
    return false;
  }
  join(n, step, role);
  return true;
}

void Fuser::visit_elementwise(NodeIndex n) {
  const std::int64_t count = graph_.nodes[n].type().count();
  // A generated value is made anew in each loop that reads it in order; others need its array.
  for (Access& access : fusion_.nodes[n].operands)
    if (!access.in_order && is_generated(access.source.node)) place_copy(access.source.node);
  std::vector<int> found = candidates(n, count);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const int step = found[i];
    if (loops_[step].merged_into >= 0) continue;
    for (std::size_t k = i + 1; k < found.size(); ++k)
      if (loops_[found[k]].merged_into < 0) try_merge(found[k], step);
    if (try_join(n, step, role_in(step, count), 0)) return;
  }
  join(n, new_step(true, count), Role::kFull);
}

void Fuser::visit_reduce(NodeIndex n) {
  const Node& node = graph_.nodes[n];
  const graph::TensorType& type = graph_.type(node.inputs[0]);
  const Dims& axes = node.attrs.as<graph::ReduceAttrs>().axes;
  const ReduceShape shape = reduce_shape(type.dims, axes);
  FusedNode& fused = fusion_.nodes[n];
  if (shape.form == ReduceForm::kNone) {
    if (const auto access = relabelled(fused.operands[0], node.type())) {
      fused.results[0] = *access;
      return;
    }
    return visit_elementwise(n);  // a copy in order
  }
  if (shape.form == ReduceForm::kEmpty || shape.kept == 0) {
    fused.operands.clear();
    return join(n, new_step(true, shape.kept), Role::kFull);
  }
  Access& operand = fused.operands[0];
  const NodeIndex source = operand.source.node;
  if (is_generated(source) && (!operand.in_order || !shape.in_order)) place_copy(source);
  fused.reduces = true;
  const std::int64_t count = shape.kept * shape.reduced;
  const std::int64_t groups = shape.form == ReduceForm::kColumns ? shape.groups() : 0;
  const std::int64_t columns = groups ? shape.columns : shape.reduced;
  const bool whole = groups == 0 && columns <= kernels::kTileElements;
  const Role role = whole ? Role::kPerRow : Role::kFinal;
  const auto mark = [&](int step) {
    if (groups) loops_[step].groups = groups;
    else if (!whole) loops_[step].reduces_long_rows = true;
  };
  if (!shape.in_order) {
    operand = {operand.source, false, reduced_last(operand, type.dims, axes, shape)};
  } else {
    for (const int step : candidates(n, count)) {
      const Loop& loop = loops_[step];
      if (loop.merged_into >= 0 || loop.step.count != count) continue;
      if (groups ? loop.reduces_long_rows || (loop.groups && loop.groups != groups)
                 : !whole && loop.groups)
        continue;
      if (!try_join(n, step, role, columns)) continue;
      mark(step);
      return;
    }
  }
  const int step = new_step(true, count);
  loops_[step].step.columns = columns;
  join(n, step, role);
  mark(step);
}

void Fuser::visit_kernel(NodeIndex n) {
  const Node& node = graph_.nodes[n];
  if (!node.row->host_as<graph::KernelRule>())
    throw UnsupportedError(node.row->name, "the host compiler has no rule for it", node.where);
  FusedNode& fused = fusion_.nodes[n];
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    need_array(node.inputs[k]);
    fused.operands[k] = fusion_.access(node.inputs[k]);
  }
  join(n, new_step(false, 0), Role::kNone);
}

Fusion Fuser::finish() {
  std::vector<int> order;
  for (int step = 0; step < static_cast<int>(loops_.size()); ++step)
    if (loops_[step].merged_into < 0) order.push_back(step);
  std::sort(order.begin(), order.end(),
            [&](int a, int b) { return loops_[a].position < loops_[b].position; });
  std::vector<int> index(loops_.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) index[order[i]] = static_cast<int>(i);
  for (FusedNode& node : fusion_.nodes)
    if (node.step >= 0) node.step = index[find(node.step)];
  for (const int step : order) {
    FusedStep& fused = loops_[step].step;
    std::sort(fused.nodes.begin(), fused.nodes.end());
    fusion_.steps.push_back(std::move(fused));
  }
  return std::move(fusion_);
}

}  // namespace

Fusion fuse(const Graph& graph) { return Fuser(graph).run(); }

}  // namespace nx::host
