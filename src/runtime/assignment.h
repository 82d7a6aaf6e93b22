// The best assignment of leaves to outputs by kinds: as many of the first kind as possible, then
// of the second, and so on; ties by leaf, then by output order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace nx::runtime {

/// `kinds[leaf * outputs + output]`: 0 for no pair, else 1 (best) to 7. The partner of each leaf,
/// or -1.
std::vector<int> best_assignment(std::size_t leaves, std::size_t outputs,
                                 std::span<const std::uint8_t> kinds);

}  // namespace nx::runtime
