// What the workloads share: timing by minima, and the list of results.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

namespace bench {

/// Metric name to value: times in microseconds, sizes in bytes. Absent: could not be measured.
using Results = std::map<std::string, double>;

/// The least time of one call in microseconds: `repeat` runs of `count` calls each.
template <class F>
double best_us(int count, int repeat, F&& call) {
  using Clock = std::chrono::steady_clock;
  double best = 1e300;
  for (int r = 0; r < repeat; ++r) {
    const auto begin = Clock::now();
    for (int i = 0; i < count; ++i) call();
    const std::chrono::duration<double, std::micro> time = Clock::now() - begin;
    best = std::min(best, time.count() / count);
  }
  return best;
}

/// One workload: fills what it can measure.
Results mlp_adam();
Results dispatch();
Results swapped();

/// Whether an XLA plugin can be used here.
bool has_xla();

}  // namespace bench
