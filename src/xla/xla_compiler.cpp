// Compiling a graph through a client of a plugin, and buffers from host memory.
#include "xla/xla_compiler.h"

#include <fmt/format.h>

#include <map>
#include <mutex>

#include "nx/error.h"
#include "xla/emitter.h"
#include "xla/ffi.h"
#include "xla/xla_executable.h"
#include "xla/xla_storage.h"

namespace nx::xla {
namespace {

constexpr const char* kName = "xla";
// A plugin ends the process at about 2,900 programs.
constexpr std::int64_t kMostPrograms = 2000;
// Copying less than this is faster than being told when it has been read.
constexpr std::size_t kLeastShared = std::size_t{32} << 10;

/// Clients are numbered as they are first used, so that no buffer is taken for another client's.
detail::DeviceId first_device_of(const Client& client) {
  static auto* const mutex = new std::mutex;
  static auto* const numbers = new std::map<const Client*, std::uint16_t>;
  const std::lock_guard lock(*mutex);
  const auto number = static_cast<std::uint16_t>(numbers->size());
  const auto found = numbers->try_emplace(&client, number).first;
  return {kPlatform, static_cast<std::uint16_t>(found->second * kDevicesPerClient)};
}

class XlaCompiler final : public graph::Compiler {
 public:
  explicit XlaCompiler(Client& client) : client_(client), device_(first_device_of(client)) {}

  std::string_view name() const override { return kName; }
  graph::Capabilities capabilities() const override {
    return {.one_loop_for_siblings = false, .gain_needs_compiling = true};
  }
  detail::DeviceId device() const override { return device_; }
  void check_usable() const override { client_.check_process(kName); }

  std::unique_ptr<graph::Executable> compile(const graph::Graph& graph,
                                             std::span<const graph::DonationPair> pairs,
                                             const graph::CompileOptions& options) const override {
    const std::string function = graph.name.empty() ? std::string(kName) : graph.name;
    if (client_.live_programs() >= kMostPrograms)
      throw BackendError(function,
                         fmt::format("{} compiled programs are alive, more than the plugin stands; "
                                     "call clear_cache() on jitted functions, or give them a "
                                     "smaller cache_entries",
                                     client_.live_programs()));
    XlaExecutable::Parts parts;
    parts.function = function;
    parts.device = device_;
    parts.parameters = graph.parameters.size();
    for (const graph::DonationPair& pair : pairs)
      if (is_aliasable(graph, pair)) parts.pairs.push_back(pair);
    for (const graph::Output& output : graph.outputs)
      parts.output_bytes.push_back(graph.type(output.edge).bytes());
    // Whoever keeps leaves through a failure must hear of it before they are consumed.
    parts.completion = options.keep_on_failure ? Completion::kWait : Completion::kAsync;
    parts.kernels = CalledKernels([this] { return can_call_kernels(client_); });
    parts.stablehlo = emit_module(graph, parts.pairs, &parts.kernels);
    try {
      parts.program = Program::compile(client_, parts.stablehlo, program_options());
    } catch (const BackendError& error) {
      throw BackendError(function, error.what());
    }
    return std::make_unique<XlaExecutable>(std::move(parts));
  }

  detail::Storage* from_host(const void* data, const graph::TensorType& type) const override {
    return new XlaStorage(device_, type.bytes(),
                          Buffer::from_host(client_, 0, data, type.type, type.dims));
  }

  detail::Storage* from_storage(detail::Storage& host,
                                const graph::TensorType& type) const override {
    const bool is_readable =
        client_.is_host_memory() && !is_subbyte(type.type) && host.bytes() >= kLeastShared;
    if (!is_readable || host.try_lease(detail::Lease::kTransfer) != detail::Storage::Outcome::kDone)
      return from_host(host.data(), type);
    host.retain();
    std::shared_ptr<const void> data(host.data(), [&host](const void*) {
      host.end_lease(detail::Lease::kTransfer);
      host.release();
    });
    return new XlaStorage(device_, type.bytes(),
                          Buffer::from_shared(client_, 0, std::move(data), type.type, type.dims));
  }

 private:
  /// Pairs of one size in bytes may have elements of several widths on the device: such leaves are
  /// freed after the call.
  static bool is_aliasable(const graph::Graph& graph, const graph::DonationPair& pair) {
    return can_alias(graph.nodes[graph.parameters[pair.parameter].node].type(),
                     graph.type(graph.outputs[pair.output].edge));
  }

  /// A maximum with NaN is NaN, and narrow floats are rounded after every operation, as on the
  /// host.
  ProgramOptions program_options() const {
    ProgramOptions options;
    if (client_.is_host_memory())
      options.overrides = {{"xla_cpu_enable_fast_min_max", false},
                           {"xla_allow_excess_precision", false}};
    return options;
  }

  Client& client_;
  detail::DeviceId device_;
};

}  // namespace

std::unique_ptr<graph::Compiler> make_xla_compiler(const std::string& plugin_path) {
  return std::make_unique<XlaCompiler>(Client::get({.plugin = plugin_path}));
}

}  // namespace nx::xla
