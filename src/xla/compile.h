// StableHLO text compiled for a device, and what can be asked of the result. Walks over no graph.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "xla/client.h"

struct PJRT_Executable;
struct PJRT_LoadedExecutable;

namespace nx::xla {

struct ProgramOptions {
  int device = 0;
  using Value = std::variant<bool, std::int64_t, std::string>;
  /// Options of the compiler by name, such as {"xla_cpu_enable_fast_math", false}.
  std::vector<std::pair<std::string, Value>> overrides = {};
};

/// The serialised options PJRT takes, for one replica and partition on the device of that id.
std::string encode_options(const ProgramOptions& options, int device_id);

/// Bytes of one run, as the compiler planned it.
struct MemoryStats {
  std::size_t arguments = 0;
  std::size_t results = 0;  ///< Without the table of pointers that several results have.
  std::size_t aliased = 0;  ///< How much of the results lies in donated arguments.
  std::size_t temporaries = 0;
  std::size_t code = 0;
};

/// One line of the alias table: this output takes over this parameter's memory.
struct Alias {
  std::uint32_t parameter = 0;
  std::uint32_t output = 0;
  friend bool operator==(const Alias&, const Alias&) = default;
};

/// The alias table of a serialised module with configuration, by output. Throws BackendError on
/// bytes that are no module. `module` is what Program::optimized_module gives.
std::vector<Alias> read_alias_table(std::string_view module);

/// A compiled and loaded program. Move only; runs may be in flight when it is destroyed.
class Program {
 public:
  Program() noexcept = default;
  Program(Program&& other) noexcept
      : client_(other.client_),
        loaded_(std::exchange(other.loaded_, nullptr)),
        executable_(std::exchange(other.executable_, nullptr)),
        outputs_(std::move(other.outputs_)),
        has_run_(other.has_run_.load(std::memory_order_relaxed)) {}
  Program& operator=(Program&& other) noexcept {
    std::swap(client_, other.client_);
    std::swap(loaded_, other.loaded_);
    std::swap(executable_, other.executable_);
    std::swap(outputs_, other.outputs_);
    has_run_.store(other.has_run_.exchange(has_run_.load()));
    return *this;
  }
  ~Program() {
    if (loaded_ != nullptr) destroy();
  }

  /// Throws BackendError with the compiler's message.
  static Program compile(Client& client, std::string_view stablehlo,
                         const ProgramOptions& options = {});

  explicit operator bool() const noexcept { return loaded_ != nullptr; }
  Client& client() const noexcept { return *client_; }
  PJRT_LoadedExecutable* handle() const noexcept { return loaded_; }
  std::size_t output_count() const noexcept { return outputs_.size(); }
  const std::vector<graph::TensorType>& outputs() const noexcept { return outputs_; }

  /// False until one run has ended well: a first run makes static objects of the plugin.
  bool has_run() const noexcept { return has_run_.load(std::memory_order_relaxed); }
  void end_first_run() const;

  MemoryStats memory() const;
  /// The compiled module, serialised (`hlo_with_config`).
  std::string optimized_module() const;
  /// Read back from the compiled module, so that it says what will happen, not what was asked.
  std::vector<Alias> alias_table() const;

 private:
  void read_outputs();
  void destroy() noexcept;
  Client* client_ = nullptr;
  PJRT_LoadedExecutable* loaded_ = nullptr;
  PJRT_Executable* executable_ = nullptr;
  std::vector<graph::TensorType> outputs_;
  mutable std::atomic<bool> has_run_{false};
};

}  // namespace nx::xla
