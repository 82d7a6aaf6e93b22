// The host compiler: compiles for the CPU it runs on, embedded, needs no plugin.
#pragma once

#include "graph/compiler.h"

namespace nx::host {

class HostCompiler final : public graph::Compiler {
 public:
  std::string_view name() const override { return "host"; }
  graph::Capabilities capabilities() const override {
    return {.one_loop_for_siblings = true, .gain_needs_compiling = false};
  }
  detail::DeviceId device() const override { return {}; }
  std::unique_ptr<graph::Executable> compile(const graph::Graph& graph,
                                             std::span<const graph::DonationPair> pairs,
                                             const graph::CompileOptions& options) const override;
  detail::Storage* from_host(const void* data, const graph::TensorType& type) const override;
};

}  // namespace nx::host
