#include "runtime/program_cache.h"

#include "graph/op_row.h"
#include "runtime/compilers.h"
#include "transform/passes.h"

namespace nx::runtime {
namespace {

using graph::Edge;
using graph::Graph;
using graph::mix_hash;
using graph::Node;

std::uint64_t hash_of(const void* pointer) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}
std::uint64_t hash_of(Edge edge) { return (std::uint64_t{edge.node} << 32) | edge.output; }

/// Rows by address: it stays in this process, and no order depends on it.
std::uint64_t hash_of(const Graph& graph) {
  std::uint64_t h = mix_hash(graph.nodes.size(), graph.parameters.size());
  for (const Node& node : graph.nodes) {
    h = mix_hash(h, hash_of(node.row));
    h = mix_hash(h, node.attrs.hash());
    for (const Edge edge : node.inputs) h = mix_hash(h, hash_of(edge));
    for (const auto& type : node.outputs) {
      h = mix_hash(h, graph::hash_field(type.type));
      h = mix_hash(h, graph::hash_field(type.dims));
    }
    for (const auto& region : node.regions) h = mix_hash(h, hash_of(*region));
  }
  for (const auto& parameter : graph.parameters) h = mix_hash(h, parameter.node);
  for (const auto& output : graph.outputs) h = mix_hash(h, hash_of(output.edge));
  return h;
}

bool same_program(const Graph& a, const Graph& b);

bool same_node(const Node& a, const Node& b) {
  if (a.row != b.row || !(a.attrs == b.attrs) || !(a.inputs == b.inputs) ||
      a.outputs != b.outputs || a.regions.size() != b.regions.size())
    return false;
  for (std::size_t i = 0; i < a.regions.size(); ++i)
    if (a.regions[i] != b.regions[i] && !same_program(*a.regions[i], *b.regions[i])) return false;
  return true;
}

bool same_program(const Graph& a, const Graph& b) {
  if (a.nodes.size() != b.nodes.size() || a.parameters.size() != b.parameters.size() ||
      a.outputs.size() != b.outputs.size())
    return false;
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    if (a.parameters[i].node != b.parameters[i].node) return false;
  for (std::size_t i = 0; i < a.outputs.size(); ++i)
    if (!(a.outputs[i].edge == b.outputs[i].edge)) return false;
  for (std::size_t i = 0; i < a.nodes.size(); ++i)
    if (!same_node(a.nodes[i], b.nodes[i])) return false;
  return true;
}

std::shared_ptr<const ProgramCache::Program> compile(const Graph& graph) {
  auto program = std::make_shared<ProgramCache::Program>();
  program->traced = graph;
  // A captured tensor belongs to one call: kept here, its memory could never be given back.
  for (auto& parameter : program->traced.parameters) parameter.captured = Tensor();
  const Graph ready = transform::optimize(program->traced);
  for (const auto& output : ready.outputs) program->results.push_back(ready.type(output.edge));
  program->executable = compiler_named("host").compile(ready, {}, {});
  return program;
}

}  // namespace

std::shared_ptr<const ProgramCache::Program> ProgramCache::find_or_compile(const Graph& graph) {
  const std::uint64_t hash = hash_of(graph);
  if (auto found = find(hash, graph)) return found;
  // Two threads may compile the same program; both results are right, and one is kept.
  auto program = compile(graph);
  insert(hash, program);
  return program;
}

std::shared_ptr<const ProgramCache::Program> ProgramCache::find(std::uint64_t hash,
                                                                const Graph& graph) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto i = first; i != last; ++i) {
    if (!same_program(i->second->second->traced, graph)) continue;
    entries_.splice(entries_.begin(), entries_, i->second);
    ++hits_;
    return i->second->second;
  }
  return nullptr;
}

void ProgramCache::insert(std::uint64_t hash, std::shared_ptr<const Program> program) {
  const std::lock_guard lock(mutex_);
  ++compiled_;
  bytes_ += program->executable->own_bytes();
  entries_.emplace_front(hash, std::move(program));
  by_hash_.emplace(hash, entries_.begin());
  while (entries_.size() > 1 && (entries_.size() > most_entries_ || bytes_ > most_bytes_)) {
    const auto last = std::prev(entries_.end());
    bytes_ -= last->second->executable->own_bytes();
    const auto [from, to] = by_hash_.equal_range(last->first);
    for (auto i = from; i != to; ++i)
      if (i->second == last) {
        by_hash_.erase(i);
        break;
      }
    entries_.erase(last);
  }
}

ProgramCache::Stats ProgramCache::stats() const {
  const std::lock_guard lock(mutex_);
  return {hits_, compiled_, entries_.size(), bytes_};
}

ProgramCache& ProgramCache::instance() {
  static auto* const cache = new ProgramCache;
  return *cache;
}

}  // namespace nx::runtime
