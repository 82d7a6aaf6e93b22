// Reverse-mode gradients: alias nodes for the differentiated leaves, the function run on them, and
// a sweep back over the nodes from the first alias on. Everything older is constant. The sweep
// calls each row's own gradient rule; no operation is known here by name.
#include "nx/grad.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/body.h"
#include "graph/dispatch.h"
#include "graph/trace.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/labels.h"

namespace nx {
namespace transform {
namespace {

using detail::Access;
using detail::Leaf;
using detail::TracedValue;
using detail::TraceValue;
using graph::Edge;
using graph::Node;
using graph::NodeIndex;
using graph::TensorType;
using graph::Trace;

bool is_wide(DType type) { return type == DType::f64 || type == DType::c128; }

/// The type of a leaf's gradient.
DType gradient_type(DType leaf, DType computed) {
  if (is_complex(leaf) || is_wide(computed)) return merge_types(leaf, computed);
  return merge_types(to_inexact(leaf), DType::f32);
}

bool has_axis(const VectorAxes& axes, Name name) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const VectorAxis& axis) { return axis.name == name; });
}

/// The leaf repeated along the vectorised axes of the loss that it lacks.
Tensor with_vector_axes(const Tensor& leaf, VectorAxes axes) {
  for (const VectorAxis& own : leaf.vectorized_axes())
    if (!has_axis(axes, own.name)) axes.push_back(own);
  const Tensor wide = ops::align_vector_axes(leaf, axes, 0, true);
  return Access::with_labels(wide, leaf.names(), std::move(axes));
}

bool lacks_axes(const Tensor& leaf, const VectorAxes& wanted) {
  const VectorAxes own = leaf.vectorized_axes();
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const VectorAxis& axis) { return !has_axis(own, axis.name); });
}

/// One differentiation inside an open trace.
class Sweep {
 public:
  Sweep(Trace& trace, SourceLocation where) : trace_(trace), where_(where) {}

  std::vector<Tensor> run(std::span<const Leaf> leaves, void* context, TraceValue trace);
  const TracedValue& value() const noexcept { return value_; }

 private:
  const Node& node(NodeIndex i) const { return trace_.graph().nodes[i]; }
  bool is_alias(NodeIndex i) const { return i - first_ < alias_count_; }
  bool is_active(NodeIndex i) const { return i >= first_ && i < end_ && active_[i - first_]; }
  Tensor& slot(Edge edge) { return slots_[starts_[edge.node - first_] + edge.output]; }

  void trace_function(std::span<const Leaf> leaves, void* context, TraceValue trace);
  void mark_active();
  void propagate(NodeIndex i);
  void accumulate(Edge to, Tensor g, std::string_view row);
  Tensor finish(const Tensor& leaf, NodeIndex alias);

  Trace& trace_;
  SourceLocation where_;
  TracedValue value_;
  std::vector<Tensor> leaves_;        // as traced: under the vectorised axes of the loss
  NodeIndex first_ = 0, end_ = 0;     // the nodes that may vary with the leaves
  NodeIndex alias_count_ = 0;         // the first of them: aliases of leaves that have a value
  std::vector<char> active_;          // by node - first_
  std::vector<std::uint32_t> starts_; // of the node's results in slots_
  std::vector<Tensor> slots_;         // gradients so far, by result; empty: zero
};

void Sweep::trace_function(std::span<const Leaf> leaves, void* context, TraceValue trace) {
  leaves_.clear();
  for (const Leaf& leaf : leaves) leaves_.push_back(leaf.tensor);
  for (int attempt = 0;; ++attempt) {
    // Hidden inputs for concrete leaves come before the aliases, so that the sweep ends at these.
    for (const Tensor& leaf : leaves_)
      if (leaf.has_value()) trace_.edge_of(leaf, "grad", where_);
    first_ = static_cast<NodeIndex>(trace_.graph().nodes.size());
    std::vector<Tensor> inner;
    for (const Tensor& leaf : leaves_) {
      if (!leaf.has_value()) {
        inner.emplace_back();
        continue;
      }
      inner.push_back(graph::emit(graph::kAlias, {leaf}, {}, where_, Access::body(leaf)->labels));
    }
    alias_count_ = static_cast<NodeIndex>(trace_.graph().nodes.size()) - first_;
    value_ = trace(context, inner);
    end_ = static_cast<NodeIndex>(trace_.graph().nodes.size());
    if (value_.loss == nullptr || !value_.loss->has_value()) return;
    const VectorAxes wanted = value_.loss->vectorized_axes();
    bool again = false;
    for (Tensor& leaf : leaves_) {
      if (!leaf.has_value() || !lacks_axes(leaf, wanted)) continue;
      leaf = with_vector_axes(leaf, wanted);
      again = true;
    }
    if (!again) return;
    if (attempt > 0)
      throw InternalError("grad", "the vectorised axes of the result keep growing", where_);
  }
}

/// A node is active when it varies with a leaf, as far as rows tell.
void Sweep::mark_active() {
  active_.assign(end_ - first_, 0);
  starts_.assign(end_ - first_, 0);
  std::uint32_t count = 0;
  for (NodeIndex i = first_; i < end_; ++i) {
    const Node& at = node(i);
    starts_[i - first_] = count;
    count += static_cast<std::uint32_t>(at.outputs.size());
    if (is_alias(i)) active_[i - first_] = 1;
    if (at.row->gradient->fn == graph::zero_gradient_rule) continue;
    for (const Edge edge : at.inputs)
      if (is_active(edge.node)) active_[i - first_] = 1;
  }
  slots_.assign(count, Tensor());
}

void Sweep::accumulate(Edge to, Tensor g, std::string_view row) {
  const TensorType& type = trace_.graph().type(to);
  const TensorType have = graph::type_of(g, row);
  if (have.dims != type.dims)
    throw InternalError(row, fmt::format("its gradient rule gave {} for an operand {}",
                                         graph::to_string(have), graph::to_string(type)));
  const DType wanted = to_inexact(type.type);
  if (have.type != wanted && !(is_wide(have.type) && is_complex(have.type) == is_complex(wanted)))
    g = as_type(g, wanted);
  Tensor& sum = slot(to);
  sum = sum.has_value() ? add(sum, g) : std::move(g);
}

void Sweep::propagate(NodeIndex i) {
  // Copies: the rule appends nodes, which moves the list of nodes.
  const graph::OpRow& row = *node(i).row;
  const graph::Edges inputs = node(i).inputs;
  const graph::Attrs attrs = node(i).attrs;
  const SourceLocation where = node(i).where;
  const std::size_t results = node(i).outputs.size();

  bool any = false;
  graph::Tensors g, out, in;
  for (std::uint32_t k = 0; k < results; ++k) {
    g.push_back(slot({i, k}));
    any = any || g.back().has_value();
    out.push_back(trace_.handle({i, k}));
  }
  if (!any) return;
  if (row.gradient->fn == nullptr)
    throw UnsupportedError(row.name, fmt::format("has no gradient: {}", row.gradient->reason),
                           where);
  InlineVector<bool, 8> wanted;
  for (const Edge edge : inputs) {
    in.push_back(trace_.handle(edge));
    wanted.push_back(is_active(edge.node));
  }
  const graph::Tensors found = row.gradient->fn({in, out, g, attrs, wanted});
  if (found.size() != inputs.size())
    throw InternalError(row.name, fmt::format("its gradient rule gave {} results for {} operands",
                                              found.size(), inputs.size()));
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (wanted[k] && found[k].has_value()) accumulate(inputs[k], found[k], row.name);
}

Tensor Sweep::finish(const Tensor& leaf, NodeIndex alias) {
  const TensorType type = node(alias).type();
  Tensor g;
  if (!slots_.empty()) g = slot({alias, 0});
  const DType wanted = gradient_type(type.type, g.has_value() ? g.type() : DType::f32);
  if (!g.has_value()) g = ops::full_dims(0.0, wanted, type.dims);
  if (g.type() != wanted) g = as_type(g, wanted);
  return Access::with_labels(g, leaf.names(), leaf.vectorized_axes());
}

std::vector<Tensor> Sweep::run(std::span<const Leaf> leaves, void* context, TraceValue trace) {
  trace_function(leaves, context, trace);
  const Tensor* const loss = value_.loss;
  if (loss != nullptr && !loss->has_value())
    throw ArgumentError("grad", "the function returned an empty tensor", where_);
  if (loss != nullptr && loss->is_traced()) {
    const Edge end = trace_.edge_of(*loss, "grad", where_);
    mark_active();
    if (is_active(end.node)) {
      const TensorType type = trace_.graph().type(end);
      slot(end) = ops::full_dims(1.0, to_inexact(type.type), type.dims);
      for (NodeIndex i = end.node; i >= first_ + alias_count_; --i)
        if (is_active(i)) propagate(i);
    }
  }
  std::vector<Tensor> gradients;
  NodeIndex alias = first_;
  for (const Tensor& leaf : leaves_)
    gradients.push_back(leaf.has_value() ? finish(leaf, alias++) : Tensor());
  return gradients;
}

/// Runs what was traced, and puts results in the place of traced tensors.
void run_and_replace(Trace& trace, std::span<Tensor* const> tensors, SourceLocation where) {
  graph::Graph& graph = trace.graph();
  std::vector<Tensor*> asked;
  for (Tensor* const tensor : tensors) {
    if (!tensor->is_traced()) continue;
    graph.outputs.push_back({trace.edge_of(*tensor, "grad", where), {}});
    asked.push_back(tensor);
  }
  if (asked.empty()) return;
  graph::Tensors results;
  {
    const graph::SuspendTrace eager;
    results = graph::dispatch().run(graph, {}, where);
  }
  for (std::size_t i = 0; i < asked.size(); ++i)
    *asked[i] =
        Access::with_labels(results[i], asked[i]->names(), asked[i]->vectorized_axes());
}

}  // namespace
}  // namespace transform

namespace detail {

Tensor number_leaf(const Number& number) {
  if (graph::Trace* const open = graph::current_trace())
    return open->literal(Number(number.real()), DType::f32);
  Tensor made = graph::new_tensor(DType::f32, {});
  *graph::data_of<float>(made) = static_cast<float>(number.real());
  return made;
}

std::vector<Tensor> differentiate(std::span<const Leaf> leaves, void* context, TraceValue trace,
                                  SourceLocation where) {
  bool any = false;
  for (const Leaf& leaf : leaves) {
    any = any || leaf.tensor.has_value();
    if (leaf.tensor.is_template())
      throw ArgumentError("grad", fmt::format("`{}` is a template: it has no values", leaf.path),
                          where);
  }
  if (!any)
    throw ArgumentError("grad", "the first argument holds no tensor to differentiate by", where);
  if (graph::Trace* const open = graph::current_trace())
    return transform::Sweep(*open, where).run(leaves, context, trace);

  graph::OpenTrace own("grad");
  transform::Sweep sweep(own.trace(), where);
  std::vector<Tensor> gradients = sweep.run(leaves, context, trace);
  std::vector<Tensor*> results = sweep.value().leaves;
  for (Tensor& g : gradients) results.push_back(&g);
  transform::run_and_replace(own.trace(), results, where);
  return gradients;
}

}  // namespace detail
}  // namespace nx
