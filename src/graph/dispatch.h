// What the left of the library needs from the runtime: eager execution and memory. Declared here,
// defined in runtime/ as one function-local, never destroyed object.
#pragma once

#include <functional>
#include <span>

#include "core/at.h"
#include "core/body.h"
#include "graph/graph.h"
#include "graph/op_row.h"

namespace nx::graph {

/// An operand of an eager elementwise operation: a tensor, or a scalar of `type` in `scalar`.
/// Shapes broadcast to the result's from the right (size-1 axes repeat).
struct EagerOperand {
  const Tensor* tensor = nullptr;
  DType type = DType::f32;
  alignas(16) unsigned char scalar[16] = {};
};

class Dispatch {
 public:
  virtual ~Dispatch() = default;
  /// Runs one operation on concrete tensors. Throws DonatedError, ArgumentError (kernel status),
  /// UnsupportedError (a type the kernel lacks).
  virtual Tensors eager(const OpRow& row, std::span<const Tensor> in, const Attrs& attrs,
                        const TensorTypes& out, const Caller& caller,
                        detail::Labels* labels) const = 0;
  /// The fast path of elementwise operations: no graph, no intermediate broadcast.
  virtual Tensor eager_elementwise(const OpRow& row, std::span<const EagerOperand> in, DType type,
                                   Dims dims, SourceLocation where,
                                   detail::Labels* labels) const = 0;
  /// Host memory for a new tensor, not initialised; 64-byte aligned, counted by the ledger.
  virtual detail::Storage* allocate(std::size_t bytes) const = 0;
  /// A buffer on top of a consumed one's memory (donation): `consumed` gives its block away.
  virtual detail::Storage* take_over(detail::Storage& consumed, std::size_t bytes) const = 0;
  /// Memory of somebody else. With a deleter it is owned (freed when its last user dies); without
  /// it is borrowed and may not be donated; `kind` names it ("borrowed memory", "a memory map").
  virtual detail::Storage* adopt(void* data, std::size_t bytes, std::function<void()> deleter,
                                 const char* kind) const = 0;
  /// Compiles and runs a graph once (grad and value_and_grad outside jit). `inputs` are the
  /// parameters in order; hidden inputs are taken from the graph.
  virtual Tensors run(const Graph& graph, std::span<const Tensor> inputs,
                      SourceLocation where) const = 0;
};

const Dispatch& dispatch();

/// A new host tensor, its values not set. It owns its buffer from the start, so that nothing leaks
/// when what fills it throws.
inline Tensor new_tensor(DType type, Dims dims, detail::Labels* labels = nullptr) {
  const std::size_t bytes = at(element_count(dims)) * byte_size_of(type);
  return detail::Access::make_buffer(type, std::move(dims), dispatch().allocate(bytes), labels);
}

/// Where the values of a host tensor lie.
template <class T = void>
T* data_of(const Tensor& tensor) {
  return static_cast<T*>(detail::Access::body(tensor)->storage->data());
}

}  // namespace nx::graph
