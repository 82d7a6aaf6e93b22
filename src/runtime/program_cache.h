// Compiled programs of graphs that no jitted function owns: what `grad` traces in eager code. Such
// a graph is traced at every call, because the function may read other tensors each time; compiling
// is what takes long, so equal programs are compiled once.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "graph/compiler.h"
#include "graph/graph.h"

namespace nx::runtime {

class ProgramCache {
 public:
  struct Program {
    graph::Graph traced;  // for comparison: without captured tensors
    graph::TensorTypes results;
    std::unique_ptr<const graph::Executable> executable;
  };
  struct Stats {
    std::uint64_t hits = 0, compiled = 0;
    std::size_t entries = 0, bytes = 0;
  };

  explicit ProgramCache(std::size_t most_entries = 128, std::size_t most_bytes = 64u << 20)
      : most_entries_(most_entries), most_bytes_(most_bytes) {}

  /// The compiled form of `graph`, from an equal graph where there was one: the same operations,
  /// attributes, types and edges, whatever tensors are captured. May be called from many threads.
  std::shared_ptr<const Program> find_or_compile(const graph::Graph& graph);
  Stats stats() const;

  /// The one that the dispatcher uses; never destroyed.
  static ProgramCache& instance();

 private:
  using Entries = std::list<std::pair<std::uint64_t, std::shared_ptr<const Program>>>;

  std::shared_ptr<const Program> find(std::uint64_t hash, const graph::Graph& graph);
  void insert(std::uint64_t hash, std::shared_ptr<const Program> program);

  const std::size_t most_entries_, most_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;  // the most recently used first
  std::unordered_multimap<std::uint64_t, Entries::iterator> by_hash_;
  std::size_t bytes_ = 0;
  std::uint64_t hits_ = 0, compiled_ = 0;
};

}  // namespace nx::runtime
