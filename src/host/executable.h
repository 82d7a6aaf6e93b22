// A planned program, ready to run: a flat list of steps over addresses.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "host/plan.h"

namespace nx::host {

class HostExecutable final : public graph::Executable {
 public:
  HostExecutable(const graph::Graph& graph, Plan plan);

  ~HostExecutable() override;
  /// Puts a workspace aside for the next run.
  void reserve() const override;
  /// Allocates results before it touches an input.
  void run(graph::CallFrame& frame) const override;
  graph::MemoryUse memory() const override { return memory_; }
  std::vector<graph::DonationPair> pairs() const override { return pairs_; }
  std::size_t own_bytes() const override;
  std::string to_string() const override { return text_; }

 private:
  struct Step {
    StepKind kind = StepKind::kCopy;
    std::uint32_t inputs = 0, outputs = 0;
    std::uint32_t first = 0;  // of its locations: inputs, outputs, scratch
    std::uint32_t index = 0;  // of its program or kernel
    bool has_scratch = false;
    bool may_be_parallel = false;
    double cost_us = 0;
    std::size_t bytes = 0;  // of a copy
  };
  struct Free {
    int after;  // step, -1: before the first
    std::uint32_t parameter;
  };
  struct Buffers;

  detail::Storage* take_workspace() const;
  void run_steps(const graph::CallFrame& frame, std::byte* const* blocks) const;
  void run_step(const Step& step, std::byte* const* blocks, int threads) const;

  std::vector<Step> steps_;
  std::vector<Location> locations_;
  std::vector<kernels::TileProgram> programs_;
  std::vector<std::unique_ptr<kernels::PreparedKernel>> kernels_;
  std::vector<Free> frees_;  // of leaves without a partner, in order
  std::vector<std::int32_t> pair_of_output_;
  std::vector<std::size_t> output_bytes_;
  std::vector<graph::DonationPair> pairs_;
  std::size_t workspace_ = 0;
  std::size_t most_locations_ = 0;
  bool may_be_parallel_ = false;
  graph::MemoryUse memory_;
  std::string text_;
  mutable std::mutex mutex_;
  mutable std::vector<detail::Storage*> reserved_;  // workspaces of calls that are about to run
};

/// The steps, fusion, places and in-place decisions of a plan, for people.
std::string describe(const graph::Graph& graph, const Plan& plan,
                     std::span<const kernels::TileProgram> programs);

}  // namespace nx::host
