// Splitting a loop over the threads of one OpenMP team. Chunks depend on `count` and `threads`
// alone; a caller whose result depends on how it is split must split by itself.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace nx::kernels {

/// Below this a parallel region costs more than it gains.
inline constexpr double kParallelAboveUs = 20;

/// Threads for `cost_us` of work on one thread, at most `available`.
inline int threads_for(double cost_us, int available) noexcept {
  if (cost_us < kParallelAboveUs || available < 2) return 1;
  return static_cast<int>(std::min<double>(available, std::max(2.0, cost_us / 10)));
}

/// Threads that a parallel region started here would get.
inline int available_threads() noexcept { return omp_get_max_threads(); }

/// Calls `body(begin, end)`, or `body(begin, end, part)` with the number of the range, for disjoint
/// ranges that cover [0, count).
template <class F>
void parallel_for(std::int64_t count, int threads, const F& body) {
  const auto call = [&](std::int64_t begin, std::int64_t end, std::int64_t part) {
    if constexpr (std::is_invocable_v<const F&, std::int64_t, std::int64_t, std::int64_t>)
      body(begin, end, part);
    else
      body(begin, end);
  };
  const auto parts = std::min<std::int64_t>(threads, count);
  if (parts <= 1) {
    if (count > 0) call(0, count, 0);
    return;
  }
#pragma omp parallel for num_threads(static_cast<int>(parts)) schedule(static, 1)
  for (std::int64_t part = 0; part < parts; ++part)
    call(count * part / parts, count * (part + 1) / parts, part);
}

}  // namespace nx::kernels
