// The matching of donated leaves and outputs: kinds of pairs, and whether pairs hold together.
#include "runtime/pairing.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/op_row.h"
#include "runtime/assignment.h"

namespace nx::runtime {
namespace {

using graph::DonationPair;
using graph::Edge;
using graph::Graph;
using graph::Node;
using graph::NodeIndex;
using graph::PairKind;

/// The path without the index of the argument or result; empty when what is left names nothing.
std::string_view comparable(std::string_view path) {
  if (path.starts_with("arg")) {
    const std::size_t end = path.find_first_not_of("0123456789", 3);
    path = end == std::string_view::npos ? "" : path.substr(end);
  } else if (path.starts_with("[")) {
    path = path.substr(path.find(']') + 1);
  }
  if (path.starts_with(".")) path.remove_prefix(1);
  const bool has_name = path.find_first_not_of("[].0123456789") != std::string_view::npos;
  return has_name ? path : std::string_view();
}

/// What depends on what, and what is computed at the same element positions as what.
class Analysis {
 public:
  explicit Analysis(const Graph& graph)
      : graph_(graph), live_(graph::live_nodes(graph)), readers_(graph::readers_of(graph, live_)) {}

  /// Nodes whose result at each position depends on `leaf` at that position only, and so may be
  /// written over it.
  std::vector<bool> same_position(NodeIndex leaf) const {
    std::vector<bool> in(graph_.nodes.size());
    in[leaf] = true;
    for (NodeIndex i = leaf + 1; i < graph_.nodes.size(); ++i)
      if (live_[i]) in[i] = extends_in_place(i, in);
    in[leaf] = false;
    return in;
  }
  std::vector<bool> descendants(NodeIndex of) const {
    std::vector<bool> in(graph_.nodes.size());
    in[of] = true;
    for (NodeIndex i = of + 1; i < graph_.nodes.size(); ++i)
      for (const Edge edge : graph_.nodes[i].inputs)
        if (in[edge.node]) in[i] = true;
    return in;
  }
  const std::vector<NodeIndex>& readers(NodeIndex node) const { return readers_[node]; }
  bool is_elementwise(NodeIndex node) const {
    return graph_.nodes[node].row->host_as<graph::ElementwiseRule>() != nullptr;
  }

 private:
  bool extends_in_place(NodeIndex i, const std::vector<bool>& in) const {
    const Node& node = graph_.nodes[i];
    if (const auto* rule = node.row->host_as<graph::KernelRule>())
      return rule->in_place_operand >= 0 &&
             in[node.inputs[static_cast<std::size_t>(rule->in_place_operand)].node];
    if (!is_elementwise(i)) return false;
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](Edge edge) { return in[edge.node]; });
  }
  const Graph& graph_;
  std::vector<bool> live_;
  std::vector<std::vector<NodeIndex>> readers_;
};

class Matcher {
 public:
  Matcher(const Graph& graph, std::span<const Candidate> candidates, const PairingOptions& options)
      : graph_(graph), candidates_(candidates), options_(options), analysis_(graph) {}

  Matching run() {
    find_kinds();
    for (;;) {
      std::vector<DonationPair> pairs = best_pairs();
      const auto bad = first_conflict(pairs);
      if (bad == pairs.size()) return {std::move(pairs)};
      kind_at(leaf_index(pairs[bad].parameter), pairs[bad].output) = 0;
    }
  }

 private:
  std::uint8_t& kind_at(std::size_t leaf, std::size_t output) {
    return kinds_[leaf * graph_.outputs.size() + output];
  }
  std::size_t leaf_index(std::uint32_t parameter) const {
    for (std::size_t i = 0;; ++i)
      if (candidates_[i].parameter == parameter) return i;
  }

  void find_kinds() {
    kinds_.assign(candidates_.size() * graph_.outputs.size(), 0);
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const graph::Parameter& leaf = graph_.parameters[candidates_[i].parameter];
      const graph::TensorType& type = graph_.nodes[leaf.node].type();
      if (type.bytes() == 0) continue;
      const std::vector<bool> in_place = analysis_.same_position(leaf.node);
      for (std::size_t o = 0; o < graph_.outputs.size(); ++o) {
        const graph::Output& output = graph_.outputs[o];
        kind_at(i, o) = kind_of(leaf, type, output, in_place);
      }
    }
    for (const DonationPair& p : options_.forbidden) kind_at(leaf_index(p.parameter), p.output) = 0;
    forbid_repeated_outputs();
  }

  std::uint8_t kind_of(const graph::Parameter& leaf, const graph::TensorType& type,
                       const graph::Output& output, const std::vector<bool>& in_place) const {
    const graph::TensorType& result = graph_.type(output.edge);
    PairKind kind;
    if (output.edge == Edge{leaf.node, 0}) {
      kind = PairKind::kSame;
    } else if (result == type) {
      const std::string_view path = comparable(leaf.path);
      const bool same_path = !path.empty() && path == comparable(output.path);
      const bool direct = in_place[output.edge.node] && readers_can_run_earlier(leaf.node, output);
      if (direct) kind = same_path ? PairKind::kInPlaceSamePath : PairKind::kInPlace;
      else kind = same_path ? PairKind::kSamePathTypeShape : PairKind::kTypeShape;
    } else if (result.bytes() == type.bytes() &&
               byte_size_of(result.type) == byte_size_of(type.type)) {
      kind = PairKind::kBytes;
    } else {
      return 0;
    }
    return kind > options_.worst ? 0 : static_cast<std::uint8_t>(kind);
  }

  bool readers_can_run_earlier(NodeIndex leaf, const graph::Output& output) const {
    const std::vector<bool> after = analysis_.descendants(output.edge.node);
    return std::none_of(analysis_.readers(leaf).begin(), analysis_.readers(leaf).end(),
                        [&](NodeIndex r) { return r != output.edge.node && after[r]; });
  }

  /// An edge returned twice is two results; only the first can take a leaf over, the other is a
  /// copy of it.
  void forbid_repeated_outputs() {
    for (std::size_t o = 0; o < graph_.outputs.size(); ++o)
      for (std::size_t earlier = 0; earlier < o; ++earlier)
        if (graph_.outputs[o].edge == graph_.outputs[earlier].edge)
          for (std::size_t i = 0; i < candidates_.size(); ++i)
            if (kind_at(i, o) <= static_cast<std::uint8_t>(PairKind::kInPlace)) kind_at(i, o) = 0;
  }

  std::vector<DonationPair> best_pairs() {
    const std::vector<int> partner =
        best_assignment(candidates_.size(), graph_.outputs.size(), kinds_);
    std::vector<DonationPair> pairs;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (partner[i] < 0) continue;
      const auto output = static_cast<std::uint32_t>(partner[i]);
      pairs.push_back({candidates_[i].parameter, output,
                       static_cast<PairKind>(kind_at(i, output))});
    }
    return pairs;
  }

  /// The first pair that cannot hold beside those of better kinds (or earlier leaves): it would
  /// need a reader of its leaf to run both before and after its output. pairs.size(): none.
  std::size_t first_conflict(const std::vector<DonationPair>& pairs) const {
    std::vector<std::size_t> order(pairs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](auto a, auto b) { return pairs[a].kind < pairs[b].kind; });
    std::vector<std::vector<NodeIndex>> before(graph_.nodes.size());  // extra: node -> must follow
    for (const std::size_t at : order) {
      add_constraints(pairs[at], pairs, before);
      if (has_cycle(before)) return at;
    }
    return pairs.size();
  }

  void add_constraints(const DonationPair& pair, const std::vector<DonationPair>& pairs,
                       std::vector<std::vector<NodeIndex>>& before) const {
    const NodeIndex leaf = graph_.parameters[pair.parameter].node;
    const NodeIndex writer = graph_.outputs[pair.output].edge.node;
    if (writer == leaf) return;  // the output is the leaf: nothing is written
    for (const NodeIndex reader : analysis_.readers(leaf)) {
      if (reader == writer) {
        // Reads and writes one memory: only at the same position.
        if (!analysis_.same_position(leaf)[writer]) before[writer].push_back(writer);
        continue;
      }
      if (share_a_loop(reader, writer, pairs)) continue;
      before[reader].push_back(writer);
    }
  }

  /// Both are elementwise results of one shape that read each other's leaf: one loop computes
  /// them, which reads every tile before it writes it.
  bool share_a_loop(NodeIndex a, NodeIndex b, const std::vector<DonationPair>& pairs) const {
    if (!options_.one_loop_for_siblings) return false;
    const auto is_paired_output = [&](NodeIndex node) {
      return std::any_of(pairs.begin(), pairs.end(), [&](const DonationPair& p) {
        return graph_.outputs[p.output].edge.node == node;
      });
    };
    return analysis_.is_elementwise(a) && analysis_.is_elementwise(b) &&
           is_paired_output(a) && is_paired_output(b) &&
           graph_.nodes[a].type().dims == graph_.nodes[b].type().dims;
  }

  bool has_cycle(const std::vector<std::vector<NodeIndex>>& before) const {
    // Depth first over operands plus constraints; colours: 0 new, 1 on the way, 2 done.
    std::vector<std::vector<NodeIndex>> next(graph_.nodes.size());
    for (NodeIndex i = 0; i < graph_.nodes.size(); ++i) {
      for (const Edge edge : graph_.nodes[i].inputs) next[edge.node].push_back(i);
      for (const NodeIndex after : before[i]) next[i].push_back(after);
    }
    std::vector<std::uint8_t> colour(graph_.nodes.size());
    std::vector<std::pair<NodeIndex, std::size_t>> stack;
    for (NodeIndex root = 0; root < graph_.nodes.size(); ++root) {
      if (colour[root] || before[root].empty()) continue;
      stack.push_back({root, 0});
      colour[root] = 1;
      while (!stack.empty()) {
        auto& [node, at] = stack.back();
        if (at == next[node].size()) {
          colour[node] = 2;
          stack.pop_back();
          continue;
        }
        const NodeIndex to = next[node][at++];
        if (colour[to] == 1) return true;
        if (colour[to] == 0) {
          colour[to] = 1;
          stack.push_back({to, 0});
        }
      }
    }
    return false;
  }

  const Graph& graph_;
  std::span<const Candidate> candidates_;
  const PairingOptions& options_;
  Analysis analysis_;
  std::vector<std::uint8_t> kinds_;  // leaf x output; 0: no pair
};

/// R10: by bytes alone, who could take whom.
void check_takers(const Graph& graph, std::span<const Candidate> candidates) {
  std::vector<std::uint8_t> fits(candidates.size() * graph.outputs.size());
  const auto bytes_of = [&](std::uint32_t parameter) {
    return graph.nodes[graph.parameters[parameter].node].type().bytes();
  };
  for (std::size_t i = 0; i < candidates.size(); ++i)
    for (std::size_t o = 0; o < graph.outputs.size(); ++o)
      fits[i * graph.outputs.size() + o] =
          bytes_of(candidates[i].parameter) == graph.type(graph.outputs[o].edge).bytes() ? 1 : 0;
  const std::vector<int> taker = best_assignment(candidates.size(), graph.outputs.size(), fits);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::size_t bytes = bytes_of(candidates[i].parameter);
    if (taker[i] >= 0 || bytes == 0 || candidates[i].policy == DonationPolicy::lenient) continue;
    std::string who;
    for (std::size_t j = 0; j < candidates.size(); ++j)
      if (taker[j] >= 0 && bytes_of(candidates[j].parameter) == bytes)
        who += fmt::format("{}`{}` went to `{}`", who.empty() ? "" : ", ",
                           graph.outputs[static_cast<std::size_t>(taker[j])].path,
                           graph.parameters[candidates[j].parameter].path);
    const graph::Parameter& leaf = graph.parameters[candidates[i].parameter];
    throw ArgumentError(
        graph.name,
        fmt::format("no result can take over the memory of donated `{}`; expected a result of {} "
                    "bytes, got {} (leaf: {}). Return one, do not donate the leaf, or ask for "
                    "DonationPolicy::lenient",
                    leaf.path, bytes, who.empty() ? std::string("none") : "only such that " + who,
                    graph::to_string(graph.nodes[leaf.node].type())));
  }
}

}  // namespace

Matching match_leaves(const Graph& graph, std::span<const Candidate> candidates,
                      const PairingOptions& options) {
  check_takers(graph, candidates);
  return Matcher(graph, candidates, options).run();
}

void check_used(const Graph& graph, std::span<const Candidate> candidates) {
  const std::vector<bool> live = graph::live_nodes(graph);
  for (const Candidate& c : candidates) {
    const graph::Parameter& leaf = graph.parameters[c.parameter];
    if (live[leaf.node] || c.policy == DonationPolicy::lenient ||
        graph.nodes[leaf.node].type().bytes() == 0)
      continue;
    throw ArgumentError(graph.name,
                        fmt::format("`{}` ({}) is marked for donation but not used by the "
                                    "computation",
                                    leaf.path, graph::to_string(graph.nodes[leaf.node].type())));
  }
}

std::string_view name_of(PairKind kind) noexcept {
  switch (kind) {
    case PairKind::kSame: return "same";
    case PairKind::kInPlaceSamePath: return "in place, same path";
    case PairKind::kInPlace: return "in place";
    case PairKind::kSamePathTypeShape: return "same path";
    case PairKind::kTypeShape: return "same type and shape";
    case PairKind::kBytes: break;
  }
  return "same bytes";
}

}  // namespace nx::runtime
