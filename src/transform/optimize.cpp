// The order of the passes.
#include "transform/passes.h"
#include "transform/rewrite.h"

namespace nx::transform {
namespace {

constexpr int kRounds = 3;

void check([[maybe_unused]] const graph::Graph& graph) {
#ifdef NX_DEBUG_VERIFY
  graph::verify(graph);
#endif
}

}  // namespace

graph::Graph optimize(const graph::Graph& graph) {
  graph::Graph result = remove_unused_nodes(graph);
  for (int round = 0; round < kRounds; ++round) {
    bool changed = false;
    result = simplify_once(std::move(result), changed);
    check(result);
    result = merge_equal_nodes(std::move(result));
    check(result);
    result = remove_unused_nodes(std::move(result));
    check(result);
    if (!changed) break;
  }
  return result;
}

}  // namespace nx::transform
