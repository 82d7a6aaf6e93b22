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

std::vector<Candidate> find_candidates(JitSlot& slot, const Graph& graph,
                                       const JitOptions& options) {
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

/// The search for the pairs that lower the peak: compiles with all pairs, then without those of
/// kinds 4 to 6, which may gain nothing; where some of them gain, without one after the other.
class PairSearch {
 public:
  PairSearch(const graph::Compiler& compiler, const Graph& graph,
             std::span<const Candidate> candidates, const graph::CompileOptions& options)
      : compiler_(compiler), graph_(graph), candidates_(candidates), options_(options) {
    pairing_.one_loop_for_siblings = compiler.capabilities().one_loop_for_siblings;
  }

  std::unique_ptr<graph::Executable> run() {
    best_ = attempt(pairing_);
    if (!has_doubtful()) return std::move(best_.executable);
    PairingOptions certain = pairing_;
    certain.worst = PairKind::kInPlace;
    Attempt other = attempt(certain);
    if (other.peak() <= best_.peak()) return std::move(other.executable);
    drop_one_by_one();
    return std::move(best_.executable);
  }

 private:
  // A compilation for each pair would take minutes for a function of many leaves: what has not been
  // tried by then stays a pair.
  static constexpr int kMostTrials = 12;

  struct Attempt {
    std::vector<DonationPair> pairs;
    std::unique_ptr<graph::Executable> executable;
    std::size_t peak() const { return executable->memory().peak(); }
  };
  Attempt attempt(const PairingOptions& pairing) const {
    Attempt made{match_leaves(graph_, candidates_, pairing).pairs, nullptr};
    made.executable = compiler_.compile(graph_, made.pairs, options_);
    return made;
  }
  bool has_doubtful() const {
    return std::any_of(best_.pairs.begin(), best_.pairs.end(), is_doubtful);
  }

  /// The last doubtful pair first; one whose absence does not raise the peak goes.
  void drop_one_by_one() {
    std::vector<DonationPair> needed;
    const auto is_untried = [&](const DonationPair& pair) {
      return is_doubtful(pair) &&
             std::none_of(needed.begin(), needed.end(), [&](const DonationPair& n) {
               return n.parameter == pair.parameter && n.output == pair.output;
             });
    };
    for (int trial = 0; trial < kMostTrials; ++trial) {
      const auto pair = std::find_if(best_.pairs.rbegin(), best_.pairs.rend(), is_untried);
      if (pair == best_.pairs.rend()) return;
      PairingOptions without = pairing_;
      without.forbidden.push_back(*pair);
      Attempt other = attempt(without);
      if (other.peak() > best_.peak()) {
        needed.push_back(*pair);
        continue;
      }
      pairing_ = std::move(without);
      best_ = std::move(other);
    }
  }

  const graph::Compiler& compiler_;
  const Graph& graph_;
  std::span<const Candidate> candidates_;
  const graph::CompileOptions& options_;
  PairingOptions pairing_;
  Attempt best_;
};

std::unique_ptr<graph::Executable> compile_paired(const graph::Compiler& compiler,
                                                  const Graph& graph,
                                                  std::span<const Candidate> candidates,
                                                  const graph::CompileOptions& options) {
  if (candidates.empty()) return compiler.compile(graph, {}, options);
  return PairSearch(compiler, graph, candidates, options).run();
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
  slot.pairs = slot.executable->pairs();
  slot.paired.assign(graph.parameters.size(), false);
  for (const DonationPair& pair : slot.pairs) slot.paired[pair.parameter] = true;
  for (const Candidate& c : candidates) {
    const graph::Parameter& leaf = graph.parameters[c.parameter];
    const auto bytes = static_cast<std::int64_t>(graph.nodes[leaf.node].type().bytes());
    DonationRow row{leaf.path, "freed", "", bytes, ""};
    for (const DonationPair& pair : slot.pairs) {
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
  auto called = std::make_shared<detail::CalledFunction>();
  called->name = function;
  for (const graph::Parameter& p : graph.parameters) called->paths.push_back(p.path);
  slot.function = std::move(called);
  place_captured(slot, graph);
  fill_report(slot, graph, candidates);
  slot.any_consumed = !candidates.empty();
}

}  // namespace nx::runtime
