// The dispatcher: eager operations on the host, memory, and one-off runs of graphs.
#include "graph/dispatch.h"

#include <fmt/format.h>

#include <cstring>

#include "host/eager.h"
#include "nx/jit.h"
#include "ops/elementwise.h"
#include "runtime/compilers.h"
#include "runtime/host_memory.h"
#include "runtime/program_cache.h"

namespace nx {
namespace runtime {
namespace {

using detail::Access;
using detail::Body;
using detail::Lease;
using detail::Storage;
using graph::data_of;
using graph::EagerOperand;
using graph::new_tensor;
using graph::TensorType;

/// Leased host views of operands. Values on another device are copied to the host.
class Views {
 public:
  explicit Views(std::string_view operation, SourceLocation where)
      : operation_(operation), where_(where) {}
  ~Views() {
    for (Storage* const storage : leased_) storage->end_lease(Lease::kCall);
  }
  const void* add(const Tensor& tensor) {
    const Body& body = Access::checked(tensor, operation_, where_);
    if (body.storage->try_lease(Lease::kCall) != Storage::Outcome::kDone)
      body.storage->throw_gone(operation_, where_);
    leased_.push_back(body.storage);
    if (body.storage->device().is_host()) return body.storage->data();
    copies_.emplace_back(body.storage->bytes());
    body.storage->copy_to_host(copies_.back().data());
    return copies_.back().data();
  }

 private:
  std::string_view operation_;
  SourceLocation where_;
  InlineVector<Storage*, 4> leased_;
  std::vector<std::vector<std::byte>> copies_;
};

void check_status(const kernels::KernelStatus& status, std::string_view operation,
                  SourceLocation where) {
  switch (status.error()) {
    case kernels::KernelError::kNone: return;
    case kernels::KernelError::kDivisionByZero:
      throw ArgumentError(operation, "integer division by zero", where);
    case kernels::KernelError::kIndexOutOfRange:
      throw ArgumentError(operation,
                          fmt::format("an index is out of range; expected 0 to {}, got {}",
                                      status.size() - 1, status.index()),
                          where);
    case kernels::KernelError::kNegativeShift:
      throw ArgumentError(operation, "a shift is negative", where);
  }
}

class HostDispatch final : public graph::Dispatch {
 public:
  graph::Tensors eager(const graph::OpRow& row, std::span<const Tensor> in,
                       const graph::Attrs& attrs, const graph::TensorTypes& out,
                       const graph::Caller& caller, detail::Labels* labels) const override {
    if (row.host_as<graph::RelabelRule>())
      return {relabelled(row, in[0], out[0], caller.where, labels)};
    const std::string_view name = caller.name_or(row.name);
    Views views(name, caller.where);
    std::vector<host::EagerInput> inputs;
    inputs.reserve(in.size());
    for (const Tensor& tensor : in) inputs.push_back(input_of(views, tensor));
    graph::Tensors made;
    std::vector<host::EagerOutput> outputs;
    for (const TensorType& type : out) {
      made.push_back(new_tensor(type.type, type.dims, made.empty() ? labels : nullptr));
      outputs.push_back({data_of(made.back()), type.type, type.dims});
    }
    kernels::KernelStatus status;
    host::run_eager(row, inputs, attrs, outputs, &status);
    check_status(status, name, caller.where);
    return made;
  }

  Tensor eager_elementwise(const graph::OpRow& row, std::span<const EagerOperand> in, DType type,
                           Dims dims, SourceLocation where,
                           detail::Labels* labels) const override {
    Views views(row.name, where);
    host::EagerInput inputs[3];
    for (std::size_t i = 0; i < in.size(); ++i)
      inputs[i] = in[i].tensor ? input_of(views, *in[i].tensor)
                               : host::EagerInput{in[i].scalar, in[i].type, {}};
    Tensor made = new_tensor(type, dims, labels);
    kernels::KernelStatus status;
    host::run_eager_elementwise(row, {inputs, in.size()}, {data_of(made), type, std::move(dims)},
                                &status);
    check_status(status, row.name, where);
    return made;
  }

  Storage* allocate(std::size_t bytes) const override { return allocate_host(bytes); }
  Storage* take_over(Storage& consumed, std::size_t bytes) const override {
    return take_over_host(consumed, bytes);
  }
  Storage* adopt(void* data, std::size_t bytes, std::function<void()> deleter,
                 const char* kind) const override {
    return adopt_host(data, bytes, std::move(deleter), kind);
  }

  graph::Tensors run(const graph::Graph& graph, std::span<const Tensor> inputs,
                     SourceLocation where) const override {
    const auto program = ProgramCache::instance().find_or_compile(graph);
    std::vector<Tensor> arguments;
    std::size_t next = 0;
    for (const graph::Parameter& p : graph.parameters)
      arguments.push_back(p.captured.has_value() ? p.captured : inputs[next++]);
    std::vector<Storage*> storages;
    std::vector<detail::ScopedLease> leases;
    for (Tensor& tensor : arguments) {
      tensor = on_host(tensor, where);
      storages.push_back(Access::body(tensor)->storage);
      leases.emplace_back(*storages.back(), Lease::kCall, graph.name);
    }
    const std::vector<graph::InputMode> modes(storages.size(), graph::InputMode::kRead);
    std::vector<Storage*> made(program->results.size());
    graph::CallFrame frame{storages, modes, made};
    program->executable->run(frame);
    graph::Tensors results;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const TensorType& type = program->results[i];
      results.push_back(Access::make_buffer(type.type, type.dims, made[i]));
    }
    return results;
  }

 private:
  static host::EagerInput input_of(Views& views, const Tensor& tensor) {
    const void* const data = views.add(tensor);
    const Body& body = *Access::body(tensor);
    return {data, body.type, body.dims};
  }

  /// The same memory under another type: no copy, except of another device's.
  static Tensor relabelled(const graph::OpRow& row, const Tensor& tensor, const TensorType& type,
                           SourceLocation where, detail::Labels* labels) {
    const Tensor from = on_host(tensor, where);
    Storage* const storage = Access::checked(from, row.name, where).storage;
    if (!storage->is_alive()) storage->throw_gone(row.name, where);
    storage->retain();
    return Access::make_buffer(type.type, type.dims, storage, labels);
  }

  static Tensor on_host(const Tensor& tensor, SourceLocation where) {
    const Body& body = Access::checked(tensor, "transfer", where);
    if (body.storage->device().is_host()) return tensor;
    Views views("transfer", where);
    Tensor made = new_tensor(body.type, body.dims, body.labels);
    std::memcpy(data_of(made), views.add(tensor), body.storage->bytes());
    return made;
  }
};

}  // namespace
}  // namespace runtime

const graph::Dispatch& graph::dispatch() {
  static const auto* const object = new runtime::HostDispatch;  // never destroyed
  return *object;
}

Tensor detail::number_tensor(const Number& number) {
  const DType type = default_type(number);
  Tensor made = graph::new_tensor(type, {});
  ops::write_number(number, type, graph::data_of(made));
  return made;
}

}  // namespace nx
