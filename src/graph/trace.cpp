// Recording of operations into the open trace, and what lies behind a traced handle.
#include "graph/trace.h"

#include <fmt/format.h>

#include "graph/dispatch.h"
#include "graph/match.h"

namespace nx::graph {
namespace {

thread_local Trace* open_trace = nullptr;

using detail::Access;
using detail::Body;
using detail::Content;
using detail::Labels;

Tensors record(Trace& trace, const OpRow& row, std::span<const Tensor> in, const Attrs& attrs,
               const Caller& caller, Labels* labels) {
  const std::string_view name = caller.name_or(row.name);
  Node node;
  node.row = &row;
  node.attrs = attrs;
  node.where = caller.where;
  TensorTypes types;
  types.reserve(in.size());
  for (const Tensor& tensor : in) {
    node.inputs.push_back(trace.edge_of(tensor, name, caller.where));
    types.push_back(type_of(tensor, name));
  }
  node.outputs = (*row.infer)(types, attrs);
  const std::size_t count = node.outputs.size();
  const NodeIndex index = trace.graph().append(std::move(node));
  Tensors out;
  out.reserve(count);
  for (std::uint32_t k = 0; k < count; ++k)
    out.push_back(trace.handle({index, k}, k == 0 ? labels : nullptr));
  return out;
}

[[noreturn]] void throw_escaped(std::string_view operation, const Body& body, SourceLocation where) {
  throw TraceError(operation,
                   fmt::format("a tensor of the trace of `{}` was used {}; return it from the "
                               "function instead of storing it",
                               body.trace->function(),
                               body.trace->is_closed() ? "after that trace had ended"
                                                       : "outside that trace"),
                   where);
}

}  // namespace

Trace::Trace(std::string function) : TraceBase(function) { graph_.name = std::move(function); }

Tensor Trace::parameter(const Tensor& argument, std::string path, bool donatable) {
  const TensorType type = type_of(argument, "jit");
  Node node;
  node.row = &kParameter;
  node.attrs = Attrs::of(ParameterAttrs{static_cast<std::int64_t>(graph_.parameters.size())});
  node.outputs = {type};
  const NodeIndex index = graph_.append(std::move(node));
  graph_.parameters.push_back({index, std::move(path), donatable, {}});
  return handle({index, 0}, Access::body(argument)->labels);
}

Edge Trace::edge_of(const Tensor& tensor, std::string_view operation, SourceLocation where) {
  const Body& body = Access::checked(tensor, operation, where);
  if (body.content == Content::kNode) {
    if (body.trace != this) throw_escaped(operation, body, where);
    return {body.node, body.output};
  }
  if (body.content == Content::kTemplate)
    throw ArgumentError(operation, "a template has no values", where);
  if (!body.storage->is_alive()) body.storage->throw_gone(operation, where);
  const auto [at, fresh] = captured_.try_emplace(&body, 0);
  if (fresh) {
    std::size_t number = 0;
    for (const Parameter& p : graph_.parameters) number += p.captured.has_value();
    Node node;
    node.row = &kParameter;
    node.attrs = Attrs::of(ParameterAttrs{static_cast<std::int64_t>(graph_.parameters.size())});
    node.outputs = {{body.type, body.dims}};
    at->second = graph_.append(std::move(node));
    graph_.parameters.push_back({at->second, fmt::format("captured #{}", number), false,
                                 Access::with_mark(tensor, false)});
  }
  return {at->second, 0};
}

Tensor Trace::handle(Edge edge, Labels* labels) {
  const TensorType& type = graph_.type(edge);
  return Access::make_node(type.type, type.dims, *this, edge.node, edge.output, labels);
}

Tensor Trace::literal(const Number& value, DType type) {
  Node node;
  node.row = &kLiteral;
  node.attrs = Attrs::of(LiteralAttrs{value, type});
  node.outputs = {{type, {}}};
  return handle({graph_.append(std::move(node)), 0});
}

Trace* current_trace() noexcept { return open_trace; }

OpenTrace::OpenTrace(std::string function)
    : trace_(new Trace(std::move(function))), outer_(open_trace) {
  open_trace = trace_;
}

OpenTrace::~OpenTrace() {
  open_trace = outer_;
  trace_->close();
  // What a failed trace recorded goes now: attributes may hold handles, and these the trace.
  trace_->graph() = Graph();
  trace_->release();
}

SuspendTrace::SuspendTrace() noexcept : outer_(open_trace) { open_trace = nullptr; }
SuspendTrace::~SuspendTrace() { open_trace = outer_; }

Tensors emit_all(const OpRow& row, std::span<const Tensor> in, const Attrs& attrs,
                 const Caller& caller, Labels* labels) {
  if (open_trace != nullptr) return record(*open_trace, row, in, attrs, caller, labels);
  const std::string_view name = caller.name_or(row.name);
  TensorTypes types;
  types.reserve(in.size());
  for (const Tensor& tensor : in) {
    const Body& body = Access::checked(tensor, name, caller.where);
    if (body.content == Content::kNode) throw_escaped(name, body, caller.where);
    if (body.content == Content::kTemplate)
      throw ArgumentError(name, "a template has no values", caller.where);
    types.push_back({body.type, body.dims});
  }
  return dispatch().eager(row, in, attrs, (*row.infer)(types, attrs), caller, labels);
}

TensorType type_of(const Tensor& tensor, std::string_view operation) {
  const Body& body = Access::checked(tensor, operation);
  return {body.type, body.dims};
}

const Node* producer(const Tensor& tensor) noexcept {
  const Body* const body = Access::body(tensor);
  if (body == nullptr || body->content != Content::kNode || body->trace != open_trace)
    return nullptr;
  return &open_trace->graph().nodes[body->node];
}

bool is_made_by(const Tensor& tensor, const OpRow& row) noexcept {
  const Node* const node = producer(tensor);
  return node != nullptr && node->row->is(row);
}

Tensor operand_of(const Tensor& tensor, std::size_t i) {
  return open_trace->handle(producer(tensor)->inputs[i]);
}

std::optional<Number> splat_of(const Tensor& tensor) noexcept {
  const Node* node = producer(tensor);
  while (node != nullptr) {
    if (node->row->is(kLiteral)) return node->attrs.as<LiteralAttrs>().value;
    const bool moves = node->row->host_as<ViewRule>() ||
                       (node->row->host_as<RelabelRule>() &&
                        node->type().type == open_trace->graph().type(node->inputs[0]).type);
    if (!moves) return std::nullopt;
    node = &open_trace->graph().nodes[node->inputs[0].node];
  }
  return std::nullopt;
}

}  // namespace nx::graph
