// Splitting a loop over the threads of the team. Chunks depend on `count` and `threads` alone; a
// caller whose result depends on how it is split must split by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "kernels/team.h"

namespace nx::kernels {

/// Below this much work, waking the team costs more than it gains.
inline constexpr double kParallelAboveUs = 20;
/// The same for a team that is awake.
inline constexpr double kParallelAboveUsAwake = 4;

/// Threads for `cost_us` of work on one thread, at most `available`.
inline int threads_for(double cost_us, int available) noexcept {
  if (cost_us < kParallelAboveUsAwake || available < 2) return 1;
  if (cost_us < kParallelAboveUs) return is_team_awake() ? 2 : 1;
  return static_cast<int>(std::min<double>(available, std::max(2.0, cost_us / 10)));
}

/// Calls `body(begin, end)`, or `body(begin, end, part)` with the number of the range, for disjoint
/// ranges that cover [0, count).
template <class F>
void parallel_for(std::int64_t count, int threads, const F& body) {
  const auto call = [&](std::int64_t begin, std::int64_t end, std::int64_t part) {
    if constexpr (std::is_invocable_v<const F&, std::int64_t, std::int64_t, std::int64_t>)
      body(begin, end, part);
    else body(begin, end);
  };
  const auto parts = std::min<std::int64_t>(threads, count);
  if (parts <= 1) {
    if (count > 0) call(0, count, 0);
    return;
  }
  const auto job = [&](int part) { call(count * part / parts, count * (part + 1) / parts, part); };
  run_on_team(
      static_cast<int>(parts),
      [](const void* context, int part) { (*static_cast<const decltype(job)*>(context))(part); },
      &job);
}

}  // namespace nx::kernels
