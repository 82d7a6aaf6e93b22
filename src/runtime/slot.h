// One compiled form of a jitted function: what it was compiled for, the executable, and what it
// does with each input.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/body.h"
#include "graph/compiler.h"
#include "nx/jit.h"

namespace nx::runtime {

/// What is compared of a leaf: everything a compiled program depends on.
struct LeafKey {
  DType type = DType::f32;
  Dims dims;
  Names names;
  VectorAxes vector_axes;
  bool mark = false;
  static LeafKey of(const Tensor& tensor);
  bool matches(const Tensor& tensor) const;
  std::string to_string() const;
};

std::uint64_t hash_key(const detail::KeyVisitor& key);

/// How a parameter may be consumed.
enum class Consumes : std::uint8_t { kNever, kMarked, kWhenMoved };

}  // namespace nx::runtime

namespace nx::detail {

class JitSlot {
 public:
  // What it was compiled for.
  std::vector<runtime::LeafKey> leaves;
  JitStatics statics;
  std::uint64_t hash = 0;
  bool matches(const KeyVisitor& key) const;

  // How far it is.
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<bool> done{false};  // made or failed; what follows is then fixed
  bool ready = false;
  std::exception_ptr failure;
  std::thread::id creator;
  std::uint64_t last_use = 0;

  // The program.
  std::shared_ptr<const CalledFunction> function;  // its name, and paths by parameter
  const graph::Compiler* compiler = nullptr;
  std::unique_ptr<graph::Executable> executable;
  std::vector<Tensor> captured;                // hidden inputs, after the leaves
  std::vector<Tensor> captured_on_device;      // the same where the executable runs
  std::vector<runtime::Consumes> consumes;     // by parameter
  std::vector<graph::DonationPair> pairs;      // as the executable has them
  std::vector<bool> paired;                    // by parameter
  DonationPolicy policy = DonationPolicy::strict;
  bool keep_on_failure = false;
  bool any_consumed = false;
  struct Result {
    DType type;
    Dims dims;
    Tensor labels;  // a template that holds them
  };
  std::vector<Result> results;
  std::shared_ptr<const void> prototype;
  DonationReport report;
};

}  // namespace nx::detail

namespace nx::runtime {

/// Traces, judges what is unused, simplifies, pairs and compiles: fills the program of `slot`.
void build_slot(detail::JitSlot& slot, const detail::KeyVisitor& key, detail::TraceClient& client,
                const JitOptions& options, const std::string& function, SourceLocation where);

/// One call: every check before anything is consumed, then the claim, then the run.
struct CallOutcome {
  std::uint32_t aliased = 0, freed = 0, copied = 0, protected_ = 0;
};
CallOutcome call_slot(detail::JitSlot& slot, std::span<const detail::JitLeaf> leaves,
                      std::span<Tensor* const> results, std::uint64_t call, SourceLocation where);

}  // namespace nx::runtime
