// The cache is split by hash, each part under its own lock and emptied when full: what is in use
// stays alive through its shared pointer.
#include "host/prepared_cache.h"

#include <array>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "host/loop.h"

namespace nx::host {
namespace {

using graph::OpRow;
using graph::TensorType;
using graph::TensorTypes;

constexpr std::size_t kParts = 16;
constexpr std::size_t kEntriesOfPart = 64;

struct Entry {
  const OpRow* row;
  TensorTypes in;
  graph::Attrs attrs;
  std::shared_ptr<const Prepared> prepared;

  bool is_for(const OpRow& wanted, std::span<const EagerInput> inputs,
              const graph::Attrs& wanted_attrs) const {
    if (row != &wanted || in.size() != inputs.size()) return false;
    for (std::size_t k = 0; k < in.size(); ++k)
      if (in[k].type != inputs[k].type || in[k].dims != inputs[k].dims) return false;
    return attrs == wanted_attrs;
  }
};

struct Part {
  std::mutex mutex;
  std::size_t size = 0;
  std::unordered_map<std::uint64_t, std::vector<Entry>> entries;
};

std::array<Part, kParts>& parts() {
  static auto* const all = new std::array<Part, kParts>;  // never destroyed: outlives all tensors
  return *all;
}

std::uint64_t hash_of(const OpRow& row, std::span<const EagerInput> in, const graph::Attrs& attrs) {
  std::uint64_t h = graph::mix_hash(attrs.hash(), reinterpret_cast<std::uintptr_t>(&row));
  for (const EagerInput& input : in)
    h = graph::mix_hash(graph::mix_hash(h, graph::hash_field(input.type)),
                        graph::hash_field(input.dims));
  return h;
}

/// A graph of the one operation, so that a reduction is the same program as in a compiled function.
Prepared prepare_reduction(const OpRow& row, const TensorType& in, const graph::Attrs& attrs,
                           const TensorType& out) {
  graph::Graph graph;
  graph::Node parameter;
  parameter.row = &graph::kParameter;
  parameter.outputs = {in};
  graph.parameters.push_back({graph.append(std::move(parameter)), "operand", false, {}});
  graph::Node node;
  node.row = &row;
  node.inputs.push_back({0, 0});
  node.attrs = attrs;
  node.outputs = {out};
  graph.outputs.push_back({{graph.append(std::move(node)), 0}, ""});
  const Fusion fusion = fuse(graph);
  Prepared prepared;
  prepared.program =
      make_loop(graph, fusion, 0, nodes_with_arrays(graph, fusion)).builder.finish({});
  return prepared;
}

Prepared prepare(const OpRow& row, const TensorTypes& in, const graph::Attrs& attrs,
                 const TensorTypes& out) {
  if (const auto* rule = row.host_as<graph::KernelRule>()) {
    Prepared prepared;
    prepared.kernel = rule->prepare({in, out, attrs});
    return prepared;
  }
  return prepare_reduction(row, in[0], attrs, out[0]);
}

}  // namespace

std::shared_ptr<const Prepared> find_prepared(const OpRow& row, std::span<const EagerInput> in,
                                              const graph::Attrs& attrs,
                                              std::span<const EagerOutput> out) {
  const std::uint64_t hash = hash_of(row, in, attrs);
  Part& part = parts()[hash % kParts];
  {
    const std::lock_guard lock(part.mutex);
    if (const auto at = part.entries.find(hash); at != part.entries.end())
      for (const Entry& entry : at->second)
        if (entry.is_for(row, in, attrs)) return entry.prepared;
  }
  // Prepared outside the lock: two threads may both do it, and one is kept.
  Entry entry{&row, {}, attrs, nullptr};
  for (const EagerInput& input : in) entry.in.push_back({input.type, input.dims});
  TensorTypes results;
  for (const EagerOutput& output : out) results.push_back({output.type, output.dims});
  auto prepared = std::make_shared<const Prepared>(prepare(row, entry.in, attrs, results));
  entry.prepared = prepared;
  const std::lock_guard lock(part.mutex);
  if (part.size >= kEntriesOfPart) {
    part.entries.clear();
    part.size = 0;
  }
  part.entries[hash].push_back(std::move(entry));
  ++part.size;
  return prepared;
}

}  // namespace nx::host
