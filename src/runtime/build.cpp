// From a function to an executable: trace, judge (R10), simplify, pair (R9), compile, report (R21).
#include <fmt/format.h>

#include "graph/match.h"
#include "graph/op_row.h"
#include "graph/trace.h"
#include "runtime/compilers.h"
#include "runtime/pairing.h"
#include "runtime/slot.h"
#include "transform/passes.h"

namespace nx::runtime {
namespace {

using detail::Access;
using detail::JitSlot;
using graph::DonationPair;
using graph::Graph;
using graph::PairKind;

Graph trace_function(JitSlot& slot, const detail::KeyVisitor& key, detail::TraceClient& client,
                     const std::string& function, SourceLocation where) {
  graph::OpenTrace open(function);
  graph::Trace& trace = open.trace();
  const std::vector<std::string> paths = client.paths();
  std::vector<Tensor> traced;
  traced.reserve(key.leaves.size());
  for (std::size_t i = 0; i < key.leaves.size(); ++i) {
    const Tensor& leaf = *key.leaves[i].tensor;
    if (!leaf.has_value())
      throw ArgumentError(function, fmt::format("`{}` is empty or moved from", paths[i]), where);
    if (leaf.is_traced())
      throw TraceError(function, fmt::format("`{}` belongs to a trace that has ended; return it "
                                             "from its function instead of storing it", paths[i]),
                       where);
    traced.push_back(trace.parameter(leaf, paths[i], Access::mark(leaf)));
  }
  std::vector<Tensor> results;
  std::vector<std::string> result_paths;
  slot.prototype = client.trace(traced, results, result_paths);
  Graph& graph = trace.graph();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].has_value())
      throw ArgumentError(function, fmt::format("result `{}` is empty", result_paths[i]), where);
    graph.outputs.push_back({trace.edge_of(results[i], function, where), result_paths[i]});
    const detail::Body& body = *Access::body(results[i]);
    slot.results.push_back({body.type, body.dims,
                            body.labels ? Access::make_template(body.type, body.dims, body.labels)
                                        : Tensor()});
  }
  return std::move(graph);
}

std::vector<Candidate> find_candidates(JitSlot& slot, const Graph& graph, const JitOptions& options) {
  std::vector<Candidate> candidates;
  slot.consumes.assign(graph.parameters.size(), Consumes::kNever);
  for (std::uint32_t i = 0; i < graph.parameters.size(); ++i) {
    const graph::Parameter& p = graph.parameters[i];
    if (p.captured.has_value()) continue;
    if (p.donatable) {
      slot.consumes[i] = Consumes::kMarked;
      candidates.push_back({i, options.donation});
    } else if (options.donate_moved) {
      slot.consumes[i] = Consumes::kWhenMoved;
      candidates.push_back({i, DonationPolicy::lenient});
    }
  }
  return candidates;
}

bool is_doubtful(const DonationPair& pair) { return pair.kind >= PairKind::kSamePathTypeShape; }

std::size_t peak_of(const graph::Executable& executable) { return executable.memory().peak(); }

/// Compiles with all pairs; then takes out those of kinds 4 to 6 that gain nothing.
std::unique_ptr<graph::Executable> compile_paired(const graph::Compiler& compiler,
                                                  const Graph& graph,
                                                  std::span<const Candidate> candidates,
                                                  const graph::CompileOptions& options) {
  PairingOptions pairing;
  pairing.one_loop_for_siblings = compiler.capabilities().one_loop_for_siblings;
  if (candidates.empty()) return compiler.compile(graph, {}, options);
  Matching matching = match_leaves(graph, candidates, pairing);
  auto best = compiler.compile(graph, matching.pairs, options);
  for (;;) {
    // The worst doubtful pair whose absence does not raise the peak goes first.
    bool dropped = false;
    for (std::size_t i = matching.pairs.size(); i-- > 0 && !dropped;) {
      if (!is_doubtful(matching.pairs[i])) continue;
      PairingOptions without = pairing;
      without.forbidden.push_back(matching.pairs[i]);
      Matching other = match_leaves(graph, candidates, without);
      auto executable = compiler.compile(graph, other.pairs, options);
      if (peak_of(*executable) > peak_of(*best)) continue;
      pairing = without;
      matching = std::move(other);
      best = std::move(executable);
      dropped = true;
    }
    if (!dropped) return best;
  }
}

std::string reason_of(const DonationPair& pair) {
  switch (pair.kind) {
    case PairKind::kSame: return "the result is the leaf";
    case PairKind::kInPlaceSamePath: return "computed in place, and the paths agree";
    case PairKind::kInPlace: return "computed in place";
    case PairKind::kSamePathTypeShape: return "free before the result is written; paths agree";
    case PairKind::kTypeShape: return "free before the result is written";
    case PairKind::kBytes: break;
  }
  return "the result has as many bytes";
}

void fill_report(JitSlot& slot, const Graph& graph, std::span<const Candidate> candidates) {
  DonationReport& report = slot.report;
  const std::vector<DonationPair> pairs = slot.executable->pairs();
  slot.paired.assign(graph.parameters.size(), false);
  for (const DonationPair& pair : pairs) slot.paired[pair.parameter] = true;
  for (const Candidate& c : candidates) {
    const graph::Parameter& leaf = graph.parameters[c.parameter];
    const auto bytes = static_cast<std::int64_t>(graph.nodes[leaf.node].type().bytes());
    DonationRow row{leaf.path, "freed", "", bytes, ""};
    for (const DonationPair& pair : pairs) {
      if (pair.parameter != c.parameter) continue;
      row.partner = graph.outputs[pair.output].path.empty() ? "result"
                                                            : graph.outputs[pair.output].path;
      row.kind = name_of(pair.kind);
      row.reason = reason_of(pair);
    }
    if (row.kind.empty()) {
      bool fits = false;
      for (const graph::Output& o : graph.outputs)
        fits = fits || static_cast<std::int64_t>(graph.type(o.edge).bytes()) == bytes;
      row.reason = bytes == 0 ? "no bytes" : fits ? "freed: no gain" : "freed: no result fits";
    }
    report.rows.push_back(std::move(row));
  }
  const graph::MemoryUse use = slot.executable->memory();
  report.argument_bytes = static_cast<std::int64_t>(use.arguments);
  report.result_bytes = static_cast<std::int64_t>(use.results);
  report.aliased_bytes = static_cast<std::int64_t>(use.aliased);
  report.temporary_bytes = static_cast<std::int64_t>(use.temporaries);
}

/// Hidden inputs where the executable runs; the originals are kept too, since their life counts.
void place_captured(JitSlot& slot, const Graph& graph) {
  for (const graph::Parameter& p : graph.parameters) {
    if (!p.captured.has_value()) continue;
    slot.captured.push_back(p.captured);
    const detail::Body& body = *Access::body(p.captured);
    if (body.storage->device() == slot.compiler->device()) {
      slot.captured_on_device.push_back(p.captured);
      continue;
    }
    const detail::HostRead read(p.captured, "jit");
    slot.captured_on_device.push_back(Access::make_buffer(
        body.type, body.dims, slot.compiler->from_host(read.data(), {body.type, body.dims})));
  }
}

/// Leaves come before hidden inputs, whatever the order in which the trace met them.
void order_parameters(Graph& graph) {
  std::stable_partition(graph.parameters.begin(), graph.parameters.end(),
                        [](const graph::Parameter& p) { return !p.captured.has_value(); });
  for (std::size_t i = 0; i < graph.parameters.size(); ++i)
    graph.nodes[graph.parameters[i].node].attrs =
        graph::Attrs::of(graph::ParameterAttrs{static_cast<std::int64_t>(i)});
}

}  // namespace

void build_slot(JitSlot& slot, const detail::KeyVisitor& key, detail::TraceClient& client,
                const JitOptions& options, const std::string& function, SourceLocation where) {
  slot.function = function;
  slot.policy = options.donation;
  slot.keep_on_failure = options.keep_on_failure;
  slot.compiler = &compiler_named(options.compiler, options.plugin);
  slot.compiler->check_usable();
  Graph traced = trace_function(slot, key, client, function, where);
  order_parameters(traced);
  const std::vector<Candidate> candidates = find_candidates(slot, traced, options);
  check_used(traced, candidates);
  const Graph graph = transform::optimize(traced);
  graph::CompileOptions compile_options;
  compile_options.plugin = options.plugin;
  compile_options.keep_on_failure = options.keep_on_failure;
  slot.executable = compile_paired(*slot.compiler, graph, candidates, compile_options);
  auto paths = std::make_shared<std::vector<std::string>>();
  for (const graph::Parameter& p : graph.parameters) paths->push_back(p.path);
  slot.paths = std::move(paths);
  place_captured(slot, graph);
  fill_report(slot, graph, candidates);
  slot.any_consumed = !candidates.empty();
}

}  // namespace nx::runtime
