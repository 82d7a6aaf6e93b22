// R9: the assignment behind the pairs, against all assignments there are.
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "runtime/assignment.h"

namespace nx::test {
namespace {

using Kinds = std::vector<std::uint8_t>;
using Counts = std::array<int, 8>;  // pairs of each kind; more of the first is better

Counts counts_of(std::size_t outputs, const Kinds& kinds, const std::vector<int>& partner) {
  Counts counts{};
  for (std::size_t i = 0; i < partner.size(); ++i)
    if (partner[i] >= 0) ++counts[kinds[i * outputs + static_cast<std::size_t>(partner[i])]];
  return counts;
}

/// The best counts over all ways to pair leaves from `leaf` on.
Counts best_counts(std::size_t outputs, const Kinds& kinds, std::vector<int>& partner,
                   std::vector<bool>& taken, std::size_t leaf = 0) {
  if (leaf == partner.size()) return counts_of(outputs, kinds, partner);
  partner[leaf] = -1;
  Counts best = best_counts(outputs, kinds, partner, taken, leaf + 1);
  for (std::size_t o = 0; o < outputs; ++o) {
    if (taken[o] || kinds[leaf * outputs + o] == 0) continue;
    taken[o] = true;
    partner[leaf] = static_cast<int>(o);
    best = std::max(best, best_counts(outputs, kinds, partner, taken, leaf + 1));
    taken[o] = false;
    partner[leaf] = -1;
  }
  return best;
}

TEST(DonationAssignment, R9_as_many_pairs_of_the_first_kind_as_possible_then_of_the_next) {
  std::mt19937 random(9);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t leaves = 1 + random() % 5, outputs = 1 + random() % 5;
    const unsigned worst = 1 + random() % 7;
    Kinds kinds(leaves * outputs);
    for (std::uint8_t& kind : kinds) kind = static_cast<std::uint8_t>(random() % (worst + 1));
    const std::vector<int> partner = runtime::best_assignment(leaves, outputs, kinds);
    std::vector<bool> used(outputs);
    for (std::size_t i = 0; i < leaves; ++i) {
      if (partner[i] < 0) continue;
      const auto o = static_cast<std::size_t>(partner[i]);
      ASSERT_NE(kinds[i * outputs + o], 0) << "no pair, but made";
      ASSERT_FALSE(used[o]) << "an output taken twice";
      used[o] = true;
    }
    std::vector<int> tried(leaves);
    std::vector<bool> taken(outputs);
    ASSERT_EQ(counts_of(outputs, kinds, partner), best_counts(outputs, kinds, tried, taken));
    ASSERT_EQ(partner, runtime::best_assignment(leaves, outputs, kinds)) << "another one this time";
  }
}

TEST(DonationAssignment, R9_equals_are_paired_by_leaf_and_then_by_output) {
  for (const std::size_t leaves : {1, 2, 3, 7})
    for (const std::size_t outputs : {1, 2, 3, 7}) {
      const auto partner = runtime::best_assignment(leaves, outputs, Kinds(leaves * outputs, 3));
      for (std::size_t i = 0; i < leaves; ++i)
        EXPECT_EQ(partner[i], i < outputs ? static_cast<int>(i) : -1)
            << "leaf " << i << " of " << leaves << ", " << outputs << " outputs";
    }
}

TEST(DonationAssignment, R9_hundreds_of_leaves_are_paired_alike) {
  // Beyond the limit of the exact method, too.
  for (const std::size_t count : {200, 300}) {
    Kinds kinds(count * count, 5);
    for (std::size_t i = 0; i < count; ++i) kinds[i * count + (count - 1 - i)] = 2;
    const auto partner = runtime::best_assignment(count, count, kinds);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(partner[i], static_cast<int>(count - 1 - i)) << "leaf " << i << " of " << count;
  }
}

}  // namespace
}  // namespace nx::test
