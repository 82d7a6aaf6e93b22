// A fused loop as a tile program, with the arrays it reads and writes by slot. Knows nothing of
// where those arrays lie.
#pragma once

#include <vector>

#include "host/fuse.h"
#include "kernels/tile_program.h"

namespace nx::host {

/// An array that a loop or kernel reads.
struct StepInput {
  graph::Edge source;
  bool same_position = false;  // read at the position that is being written, and nowhere else
  kernels::Extent extent = kernels::Extent::kFull;
};
struct StepOutput {
  graph::Edge edge;
  bool same_position = false;
  kernels::Extent extent = kernels::Extent::kFull;
};

struct LoopProgram {
  kernels::TileProgramBuilder builder{1, 1};
  std::vector<StepInput> inputs;    // by input slot; one array may have several
  std::vector<StepOutput> outputs;  // by output slot
};

/// Whether step `step` reads this operand as an array (else it is made inside the step).
bool reads_array(const graph::Graph& graph, const Fusion& fusion, const Access& access, int step);
/// Which values of loops need an array, by node.
std::vector<bool> nodes_with_arrays(const graph::Graph& graph, const Fusion& fusion);
/// Throws UnsupportedError when an operation has no kernel for its types.
LoopProgram make_loop(const graph::Graph& graph, const Fusion& fusion, int step,
                      const std::vector<bool>& has_array);

}  // namespace nx::host
