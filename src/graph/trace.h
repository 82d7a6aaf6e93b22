// The open trace of a thread, and `emit`: the one door through which every operation goes, either
// into the graph being traced or, with none open, to the eager dispatcher.
#pragma once

#include <span>
#include <string>
#include <unordered_map>

#include "core/body.h"
#include "graph/graph.h"
#include "graph/op_row.h"

namespace nx::graph {

/// A graph being built. Handles of its nodes hold a count on it; once closed they are dead.
class Trace final : public detail::TraceBase {
 public:
  explicit Trace(std::string function);
  Graph& graph() noexcept { return graph_; }

  /// A leaf of an argument as a traced handle.
  Tensor parameter(const Tensor& argument, std::string path, bool donatable);
  /// The node of a tensor in this trace: its own, or a hidden input for a concrete tensor (one
  /// for each buffer). Throws TraceError for a node of another trace, DonatedError for a consumed
  /// buffer.
  Edge edge_of(const Tensor& tensor, std::string_view operation, SourceLocation where);
  /// A handle to a node of this trace.
  Tensor handle(Edge edge, detail::Labels* labels = nullptr);
  Tensor literal(const Number& value, DType type);

 private:
  Graph graph_;
  std::unordered_map<const void*, NodeIndex> captured_;  // by Body address; graph keeps it alive
};

/// The innermost open trace of this thread, or null.
Trace* current_trace() noexcept;

/// Opens a trace for a scope; nested scopes shadow it. Closing marks the trace closed.
class OpenTrace {
 public:
  explicit OpenTrace(std::string function);
  ~OpenTrace();
  OpenTrace(const OpenTrace&) = delete;
  OpenTrace& operator=(const OpenTrace&) = delete;
  Trace& trace() noexcept { return *trace_; }

 private:
  Trace* trace_;
  Trace* outer_;
};

/// Hides any open trace for a scope: operations inside run eagerly.
class SuspendTrace {
 public:
  SuspendTrace() noexcept;
  ~SuspendTrace();

 private:
  Trace* outer_;
};

/// One operation. Result 0 gets `labels` (shared, may be null), others none.
/// Throws what the row's shape rule throws; TraceError for an escaped traced tensor.
Tensors emit_all(const OpRow& row, std::span<const Tensor> in, const Attrs& attrs,
                 const Caller& caller, detail::Labels* labels = nullptr);
inline Tensor emit(const OpRow& row, std::span<const Tensor> in, const Attrs& attrs,
                   const Caller& caller, detail::Labels* labels = nullptr) {
  return std::move(emit_all(row, in, attrs, caller, labels)[0]);
}
inline Tensor emit(const OpRow& row, std::initializer_list<Tensor> in, const Attrs& attrs,
                   const Caller& caller, detail::Labels* labels = nullptr) {
  return emit(row, std::span<const Tensor>(in.begin(), in.size()), attrs, caller, labels);
}

/// The type and shape (all axes) of a tensor.
TensorType type_of(const Tensor& tensor, std::string_view operation);

}  // namespace nx::graph
