// Which donated leaf gives its memory to which output (R9, R10): a matching on the traced graph,
// the same on every run and for every compiler.
#pragma once

#include <string>
#include <vector>

#include "graph/compiler.h"
#include "graph/graph.h"
#include "nx/donation.h"

namespace nx::runtime {

/// A leaf that may give its memory away.
struct Candidate {
  std::uint32_t parameter = 0;
  DonationPolicy policy = DonationPolicy::strict;
};

struct Matching {
  std::vector<graph::DonationPair> pairs;  // by parameter
};

struct PairingOptions {
  bool one_loop_for_siblings = false;
  /// No pair of a worse kind than this one is made.
  graph::PairKind worst = graph::PairKind::kBytes;
  /// Pairs that may not be made: found to gain nothing.
  std::vector<graph::DonationPair> forbidden;
};

/// Throws ArgumentError for a strict leaf that no output could take by bytes (R10). Zero-sized
/// leaves are never an error.
Matching match_leaves(const graph::Graph& graph, std::span<const Candidate> candidates,
                      const PairingOptions& options);

/// Throws ArgumentError for strict candidates on which no output and no effect depends (R10), in
/// the graph as traced.
void check_used(const graph::Graph& graph, std::span<const Candidate> candidates);

std::string_view name_of(graph::PairKind kind) noexcept;

}  // namespace nx::runtime
