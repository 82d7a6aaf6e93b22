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
/// The same for a team that is awake, and next to no cost of a hand-over.
inline constexpr double kParallelAboveUsAwake = 2.4;
/// How many times its hand-over work must cost: what is handed over and what comes back travels too.
inline constexpr double kHandoversOfWork = 20;

/// Threads for `cost_us` of work on one thread, at most `available`.
inline int threads_for(double cost_us, int available) noexcept {
  if (cost_us < kParallelAboveUsAwake || available < 2) return 1;
  if (cost_us < kParallelAboveUs)
    return is_team_awake() && cost_us >= kHandoversOfWork * handover_us() ? 2 : 1;
  return static_cast<int>(std::min<double>(available, std::max(2.0, cost_us / 10)));
}

namespace detail_threads {

/// One part of a loop, by the body itself or by a pointer to it.
template <class Body>
struct LoopJob {
  std::int64_t count;
  Body body;
  void operator()(std::int64_t part, std::int64_t parts) const {
    const std::int64_t begin = count * part / parts, end = count * (part + 1) / parts;
    if constexpr (std::is_pointer_v<Body>) call(*body, begin, end, part);
    else call(body, begin, end, part);
  }
  template <class F>
  static void call(const F& f, std::int64_t begin, std::int64_t end, std::int64_t part) {
    if constexpr (std::is_invocable_v<const F&, std::int64_t, std::int64_t, std::int64_t>)
      f(begin, end, part);
    else f(begin, end);
  }
};

}  // namespace detail_threads

/// Calls `body(begin, end)`, or `body(begin, end, part)` with the number of the range, for disjoint
/// ranges that cover [0, count). A body of a few pointers held by value reaches the other threads
/// soonest: theirs is a copy, else each of its references is one more trip to the caller's cache.
template <class F>
void parallel_for(std::int64_t count, int threads, const F& body) {
  using ByValue = detail_threads::LoopJob<F>;
  constexpr bool is_small =
      std::is_trivially_copyable_v<F> && sizeof(ByValue) <= kTeamContextBytes;
  using Job = std::conditional_t<is_small, ByValue, detail_threads::LoopJob<const F*>>;
  const auto parts = std::min<std::int64_t>(threads, count);
  if (parts <= 1) {
    if (count > 0) ByValue::call(body, 0, count, 0);
    return;
  }
  const auto run = [](const void* job, int part, int all) {
    (*static_cast<const Job*>(job))(part, all);
  };
  if constexpr (is_small) {
    const Job job{count, body};
    run_on_team(static_cast<int>(parts), run, &job, sizeof job);
  } else {
    const Job job{count, &body};
    run_on_team(static_cast<int>(parts), run, &job, sizeof job);
  }
}

}  // namespace nx::kernels
