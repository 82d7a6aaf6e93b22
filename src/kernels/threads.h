// Splitting a loop over the threads of one OpenMP team. Chunks depend on `count` and `threads`
// alone; a caller whose result depends on how it is split must split by itself.
#pragma once

#include <algorithm>
#include <cstdint>

namespace nx::kernels {

/// Calls `body(begin, end)` for disjoint ranges that cover [0, count).
template <class F>
void parallel_for(std::int64_t count, int threads, const F& body) {
  const auto parts = std::min<std::int64_t>(threads, count);
  if (parts <= 1) {
    if (count > 0) body(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel for num_threads(static_cast<int>(parts)) schedule(static, 1)
  for (std::int64_t part = 0; part < parts; ++part)
    body(count * part / parts, count * (part + 1) / parts);
}

}  // namespace nx::kernels
