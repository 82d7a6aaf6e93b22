// Compiling: fuse, plan, make the executable.
#include "host/compiler.h"

#include <cstring>

#include "graph/dispatch.h"
#include "host/executable.h"

namespace nx::host {

std::unique_ptr<graph::Executable> HostCompiler::compile(const graph::Graph& graph,
                                                         std::span<const graph::DonationPair> pairs,
                                                         const graph::CompileOptions&) const {
  return std::make_unique<HostExecutable>(graph, make_plan(graph, pairs));
}

detail::Storage* HostCompiler::from_host(const void* data, const graph::TensorType& type) const {
  detail::Storage* const storage = graph::dispatch().allocate(type.bytes());
  if (type.bytes() != 0) std::memcpy(storage->data(), data, type.bytes());
  return storage;
}

}  // namespace nx::host
