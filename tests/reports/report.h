// What the tests of public reports share: a fixture that runs on every compiler, resident memory,
// and time. `covered.jsonl` says which test stands for which report.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "donation/rule.h"
#include "nx/memory.h"
#include "sanitized.h"

namespace nx::test {

/// Declares a suite whose tests (TEST_P) run once for each compiler.
#define REPORT_SUITE(Suite)                                                \
  class Suite : public Rule {};                                            \
  INSTANTIATE_TEST_SUITE_P(Reports, Suite, testing::Values("host", "xla"), \
                           [](const auto& info) { return std::string(info.param); })

/// Bytes of the process that are in memory.
inline std::int64_t resident_bytes() {
  long pages = 0, resident = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr || std::fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file != nullptr) std::fclose(file);
  return static_cast<std::int64_t>(resident) * sysconf(_SC_PAGESIZE);
}

/// Runs `work` for a while, then as often again, and expects that the second time leaves no more
/// tensors alive than the first and the process no larger than by `slack` bytes.
template <class F>
void expect_flat_memory(const char* device, int times, std::int64_t slack, F&& work) {
  for (int i = 0; i < times; ++i) work(i);
  const std::size_t live = memory::stats(device).live;
  const std::int64_t resident = resident_bytes();
  for (int i = 0; i < times; ++i) work(times + i);
  EXPECT_EQ(memory::stats(device).live, live);
  if (!test::kSanitized) {
    EXPECT_LT(resident_bytes() - resident, slack);
  }
}

/// The shortest of several runs, in seconds: what the work costs when nothing disturbs it.
template <class F>
double shortest_seconds(int runs, F&& work) {
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    best = std::min(best, time.count());
  }
  return best;
}

inline std::vector<float> values_of(const Tensor& t) { return t.to_flat_list<float>(); }

}  // namespace nx::test
