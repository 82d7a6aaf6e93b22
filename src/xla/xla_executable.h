// A graph compiled by a plugin, as the runtime calls it: storages in, storages out, and the proof
// of what became of donated leaves.
#pragma once

#include <string>
#include <vector>

#include "graph/compiler.h"
#include "xla/called_kernels.h"
#include "xla/compile.h"
#include "xla/execute.h"

namespace nx::xla {

class XlaExecutable final : public graph::Executable {
 public:
  struct Parts {
    Program program;
    std::string function;  // in messages
    std::string stablehlo;
    std::vector<graph::DonationPair> pairs;  // as asked for
    std::size_t parameters = 0;
    std::vector<std::size_t> output_bytes;  // in host memory
    detail::DeviceId device;
    Completion completion = Completion::kAsync;
    CalledKernels kernels;  // that the program calls
  };
  /// Throws InternalError when the program aliases anything else than `pairs` (R21).
  explicit XlaExecutable(Parts parts);

  /// Queues the run; with Completion::kWait also waits for its end. Donated leaves are gone when it
  /// returns or throws. Throws BackendError, and InternalError for a leaf that the plugin left
  /// alive (R14). A queued run that fails is told by its results, and by the call's record (R18).
  void run(graph::CallFrame& frame) const override;
  graph::MemoryUse memory() const override { return memory_; }
  std::vector<graph::DonationPair> pairs() const override { return parts_.pairs; }
  std::size_t own_bytes() const override { return own_bytes_; }
  std::string to_string() const override;

 private:
  void check_alias_table() const;
  [[noreturn]] void refuse_foreign(std::size_t input) const;
  using Addresses = InlineVector<const void*, 16>;  // by pair; null: not handed over
  void account_leaves(graph::CallFrame& frame, std::span<const Buffer> results,
                      Addresses& addresses, bool any_protected) const;
  void make_storages(graph::CallFrame& frame, std::span<Buffer> made,
                     const Addresses& addresses) const;

  Parts parts_;
  std::vector<bool> paired_;  // by parameter
  graph::MemoryUse memory_;
  std::size_t own_bytes_ = 0;
};

}  // namespace nx::xla
