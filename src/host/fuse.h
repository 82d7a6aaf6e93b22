// Which operations run in one loop. The result is a list of steps: loops over rows x columns and
// kernels over whole arrays. Depends on the graph alone, never on what is donated.
#pragma once

#include <cstdint>
#include <vector>

#include "host/access.h"

namespace nx::host {

/// What a node's value is to the loop that makes it.
enum class Role : std::uint8_t {
  kNone,
  kFull,    // one element for each position
  kPerRow,  // one for each row, known as soon as the tile is done
  kFinal,   // a reduction that is complete only after the loop
};

struct FusedStep {
  bool is_loop = true;
  std::vector<graph::NodeIndex> nodes;  // of a loop: in index order; of a kernel: the one
  std::int64_t count = 0;               // positions of a loop
  std::int64_t columns = 0;             // fixed by a reduction or its readers; 0: free
};

struct FusedNode {
  std::int32_t step = -1;  // the step that makes the node's value, or -1
  Role role = Role::kNone;
  bool reduces = false;          // rows or columns of the loop into one
  std::vector<Access> operands;  // as they were when the node was placed
  std::vector<Access> results;   // how readers reach the node's outputs
};

struct Fusion {
  std::vector<FusedStep> steps;  // in an order that can be run
  std::vector<FusedNode> nodes;  // by node of the graph
  const Access& access(graph::Edge edge) const { return nodes[edge.node].results[edge.output]; }
};

/// What the operands of a node are to its loop.
inline Role operand_role(const FusedNode& node) { return node.reduces ? Role::kFull : node.role; }

/// Throws UnsupportedError for a row that has no host rule here.
Fusion fuse(const graph::Graph& graph);

}  // namespace nx::host
