// Where everything lies and when it runs. Steps are ordered so that donated leaves can be
// overwritten; values get places by their lifetimes: in the results' buffers while those are not
// final yet, else in one workspace.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "graph/compiler.h"
#include "host/loop.h"

namespace nx::host {

using BlockIndex = std::uint32_t;

/// An address of a call: blocks are the inputs, then the outputs, then the workspace.
struct Location {
  BlockIndex block = 0;
  std::size_t offset = 0;
  friend bool operator==(const Location&, const Location&) = default;
};

enum class StepKind : std::uint8_t { kLoop, kKernel, kCopy };

/// A value with memory: a parameter, a result of a step, or a step's scratch.
using ValueIndex = std::uint32_t;
struct PlannedValue {
  graph::Edge edge;
  std::size_t bytes = 0;
  std::int32_t output = -1;   // whose buffer is its home for good
  int first = -1, last = -1;  // steps that write it first and read it last
  Location at;
};

struct PlannedStep {
  StepKind kind = StepKind::kCopy;
  std::vector<graph::NodeIndex> nodes;  // what a loop computes, or the kernel's
  std::vector<ValueIndex> in, out;
  std::int64_t scratch = -1;  // a value, or -1
  LoopProgram loop;
  std::unique_ptr<kernels::PreparedKernel> kernel;
  int in_place_operand = -1;  // of a kernel

  /// Whether result `out_slot` may be written over `value`: every read of it is at the position
  /// that is written.
  bool is_in_place(std::size_t out_slot, ValueIndex value,
                   std::span<const PlannedValue> values) const;
};

struct Plan {
  std::vector<PlannedStep> steps;    // in the order they run
  std::vector<PlannedValue> values;  // parameters first
  std::vector<graph::DonationPair> pairs;
  std::vector<std::int32_t> pair_of_parameter, pair_of_output;  // or -1
  std::vector<std::size_t> output_bytes;
  std::size_t workspace = 0;
  graph::MemoryUse memory;

  BlockIndex output_block(std::size_t output) const {
    return static_cast<BlockIndex>(pair_of_parameter.size() + output);
  }
  BlockIndex workspace_block() const {
    return static_cast<BlockIndex>(pair_of_parameter.size() + output_bytes.size());
  }
};

/// Steps from the fusion, ordered. Throws UnsupportedError when an operation has no kernel.
Plan make_plan(const graph::Graph& graph, std::span<const graph::DonationPair> pairs);

// The passes of make_plan, in this order.
/// Fills in values, steps with their operands, and copies to outputs that are no value's home.
void add_steps(Plan& plan, const graph::Graph& graph, const Fusion& fusion);
/// Orders the steps; where a donated leaf cannot be overwritten in time, goes through a copy.
void schedule(Plan& plan);
/// Gives every value its place.
void place_values(Plan& plan);

}  // namespace nx::host
