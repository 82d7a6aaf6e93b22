// Maximum-weight assignment by the Hungarian method (Kuhn 1955, Munkres 1957; the shortest
// augmenting path form), one connected component of leaves and outputs at a time.
#include "runtime/assignment.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace nx::runtime {
namespace {

using Weight = __int128;
constexpr std::size_t kExactLimit = 256;  // larger components are matched greedily

struct Component {
  std::vector<std::size_t> leaves, outputs;
};

std::vector<Component> components(std::size_t leaves, std::size_t outputs,
                                  std::span<const std::uint8_t> kinds) {
  std::vector<std::size_t> root(leaves + outputs);
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::size_t x) {
    while (root[x] != x) x = root[x] = root[root[x]];
    return x;
  };
  for (std::size_t i = 0; i < leaves; ++i)
    for (std::size_t o = 0; o < outputs; ++o)
      if (kinds[i * outputs + o]) root[find(leaves + o)] = find(i);
  std::vector<Component> list(leaves + outputs);
  for (std::size_t i = 0; i < leaves; ++i) list[find(i)].leaves.push_back(i);
  for (std::size_t o = 0; o < outputs; ++o) list[find(leaves + o)].outputs.push_back(o);
  return list;
}

/// Weights so large that one pair of a better kind outweighs all pairs of worse kinds. Among
/// equals the sum of the products of what follows leaf and output is largest when the first leaves
/// are paired with the first outputs, in order.
class Weights {
 public:
  Weights(const Component& c, std::size_t outputs, std::span<const std::uint8_t> kinds)
      : component_(c), outputs_(outputs), kinds_(kinds), n_(std::max(c.leaves.size(),
                                                                     c.outputs.size())) {
    Weight step = 1;
    const Weight ties = static_cast<Weight>(n_) * n_ * n_ + 1;
    for (int kind = 7; kind >= 1; --kind) {
      by_kind_[kind] = step * ties;
      step *= static_cast<Weight>(n_ + 1);
    }
  }
  std::size_t size() const { return n_; }
  Weight at(std::size_t i, std::size_t o) const {
    if (i >= component_.leaves.size() || o >= component_.outputs.size()) return 0;
    const std::uint8_t kind = kinds_[component_.leaves[i] * outputs_ + component_.outputs[o]];
    if (kind == 0) return 0;
    return by_kind_[kind] + static_cast<Weight>(n_ - i) * static_cast<Weight>(n_ - o);
  }

 private:
  const Component& component_;
  std::size_t outputs_;
  std::span<const std::uint8_t> kinds_;
  std::size_t n_;
  Weight by_kind_[8] = {};
};

/// Column of each row in an assignment of greatest weight.
std::vector<std::size_t> solve(const Weights& weights) {
  const std::size_t n = weights.size();
  const Weight far = std::numeric_limits<std::int64_t>::max() * static_cast<Weight>(1) << 60;
  std::vector<Weight> u(n + 1), v(n + 1);
  std::vector<std::size_t> row_of(n + 1), way(n + 1);  // 1-based; 0 is "none"
  for (std::size_t row = 1; row <= n; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<Weight> least(n + 1, far);
    std::vector<bool> used(n + 1);
    do {
      used[column] = true;
      const std::size_t i = row_of[column];
      Weight delta = far;
      std::size_t next = 0;
      for (std::size_t j = 1; j <= n; ++j) {
        if (used[j]) continue;
        const Weight cost = -weights.at(i - 1, j - 1) - u[i] - v[j];
        if (cost < least[j]) {
          least[j] = cost;
          way[j] = column;
        }
        if (least[j] < delta) {
          delta = least[j];
          next = j;
        }
      }
      for (std::size_t j = 0; j <= n; ++j) {
        if (used[j]) {
          u[row_of[j]] += delta;
          v[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    do {
      const std::size_t before = way[column];
      row_of[column] = row_of[before];
      column = before;
    } while (column != 0);
  }
  std::vector<std::size_t> column_of(n);
  for (std::size_t j = 1; j <= n; ++j) column_of[row_of[j] - 1] = j - 1;
  return column_of;
}

void match_greedily(const Component& c, std::size_t outputs, std::span<const std::uint8_t> kinds,
                    std::vector<int>& partner) {
  std::vector<bool> taken(outputs);
  for (std::uint8_t kind = 1; kind <= 7; ++kind)
    for (const std::size_t i : c.leaves) {
      if (partner[i] >= 0) continue;
      for (const std::size_t o : c.outputs) {
        if (taken[o] || kinds[i * outputs + o] != kind) continue;
        taken[o] = true;
        partner[i] = static_cast<int>(o);
        break;
      }
    }
}

}  // namespace

std::vector<int> best_assignment(std::size_t leaves, std::size_t outputs,
                                 std::span<const std::uint8_t> kinds) {
  std::vector<int> partner(leaves, -1);
  for (const Component& c : components(leaves, outputs, kinds)) {
    if (c.leaves.empty() || c.outputs.empty()) continue;
    if (std::max(c.leaves.size(), c.outputs.size()) > kExactLimit) {
      match_greedily(c, outputs, kinds, partner);
      continue;
    }
    const Weights weights(c, outputs, kinds);
    const std::vector<std::size_t> column = solve(weights);
    for (std::size_t i = 0; i < c.leaves.size(); ++i)
      if (weights.at(i, column[i]) > 0)
        partner[c.leaves[i]] = static_cast<int>(c.outputs[column[i]]);
  }
  return partner;
}

}  // namespace nx::runtime
