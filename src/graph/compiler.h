// What a compiler is to the rest of the library: about ten methods, none of them per operation.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/storage.h"
#include "graph/graph.h"

namespace nx::graph {

/// How well a donated leaf and an output fit (R9), best first.
enum class PairKind : std::uint8_t {
  kSame = 1,            // the output is the leaf
  kInPlaceSamePath,     // computed in place, same path
  kInPlace,             // computed in place, another path
  kSamePathTypeShape,   // same path, type and shape
  kTypeShape,           // same type and shape
  kBytes,               // same packed bytes
};

struct DonationPair {
  std::uint32_t parameter = 0;
  std::uint32_t output = 0;
  PairKind kind = PairKind::kBytes;
};

struct CompileOptions {
  std::string plugin;          // xla: path of the plugin, empty: found by itself
  bool keep_on_failure = false;
};

/// What one call does with each input.
enum class InputMode : std::uint8_t {
  kRead,       // leave it alone
  kDonated,    // the call owns it: overwrite when paired, else free after its last reader
  kProtected,  // paired in the executable, but this call must leave it alone
};

struct CallFrame {
  std::span<detail::Storage* const> inputs;  // one for each parameter, hidden inputs last
  std::span<const InputMode> modes;
  std::span<detail::Storage*> outputs;       // to fill: one reference each, a buffer of its own
  // For the counters of R21, proven by pointers.
  std::uint32_t aliased = 0, freed = 0, copied = 0;
  // For a run that goes on when `run` has returned (R18): what to say of lost results, and where to
  // leave the status of the run; null when there is no call, or nothing donated.
  const std::shared_ptr<const detail::CalledFunction>* function = nullptr;
  std::uint64_t call = 0;
  SourceLocation where;
  detail::CallRecord* record = nullptr;
};

/// Bytes of one call, from the plan.
struct MemoryUse {
  std::size_t arguments = 0, results = 0, aliased = 0, temporaries = 0;
  std::size_t peak() const { return arguments + results - aliased + temporaries; }
};

class Executable {
 public:
  virtual ~Executable() = default;
  /// Called before anything is consumed: allocates what a run needs beyond its results, so that
  /// running out of memory leaves every argument alive (R17).
  virtual void reserve() const {}
  /// Runs once. May be called from many threads at once. When it throws, donated inputs are lost.
  virtual void run(CallFrame& frame) const = 0;
  virtual MemoryUse memory() const = 0;
  /// The pairs that the executable really aliases (on XLA read back from its alias table).
  virtual std::vector<DonationPair> pairs() const = 0;
  /// Bytes held by the executable itself, for the cache's limit.
  virtual std::size_t own_bytes() const = 0;
  /// The compiled program as text, for people.
  virtual std::string to_string() const = 0;
};

struct Capabilities {
  /// Elementwise results of one shape that share operands are computed in one loop, so that both
  /// of (a + b, a - b) may be in place.
  bool one_loop_for_siblings = false;
  /// The gain of pairs of kinds 4 to 6 and of conflicts is found by compiling both ways.
  bool gain_needs_compiling = false;
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  virtual std::string_view name() const = 0;
  virtual Capabilities capabilities() const = 0;
  virtual detail::DeviceId device() const = 0;
  virtual std::unique_ptr<Executable> compile(const Graph& graph,
                                              std::span<const DonationPair> pairs,
                                              const CompileOptions& options) const = 0;
  /// A new buffer on the device with these values.
  virtual detail::Storage* from_host(const void* data, const TensorType& type) const = 0;
  /// The same for a leased host storage whose memory may be lent: nobody writes to it while it is
  /// leased. A device that can read it where it lies may do so, with a lease of its own
  /// (Lease::kTransfer) until it is done.
  virtual detail::Storage* from_storage(detail::Storage& host, const TensorType& type) const {
    return from_host(host.data(), type);
  }
  /// Throws BackendError when a call is impossible now (a forked child, R29).
  virtual void check_usable() const {}
};

}  // namespace nx::graph
