// The team of threads: every part once, whoever calls and however many call at a time.
#include "kernels/team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

#include "kernels/threads.h"
#include "sanitized.h"

namespace nx::kernels {
namespace {

using namespace std::chrono_literals;

/// Runs a job that counts its parts, and says whether each ran exactly once.
bool runs_each_part_once(int parts) {
  std::vector<std::atomic<int>> counts(static_cast<std::size_t>(parts));
  std::atomic<int>* const first = counts.data();
  run_on_team(
      parts,
      [](const void* context, int part, int all) {
        std::atomic<int>* const each = *static_cast<std::atomic<int>* const*>(context);
        if (part < all) each[part].fetch_add(1);
      },
      &first, sizeof first);
  for (const auto& count : counts)
    if (count != 1) return false;
  return true;
}

TEST(Team, runs_each_part_once_whatever_their_number) {
  for (int round = 0; round < 200; ++round)
    for (const int parts : {0, 1, 2, 3, 5, 64, 255, 256, 1000})
      ASSERT_TRUE(runs_each_part_once(parts)) << parts << " parts, round " << round;
}

TEST(Team, runs_each_part_once_after_its_threads_fell_asleep) {
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(round % 2 == 0 ? 1ms : 150us);  // around the time it spins
    ASSERT_TRUE(runs_each_part_once(2));
  }
}

TEST(Team, measures_what_a_handover_costs) {
  for (int round = 0; round < 3000; ++round) ASSERT_TRUE(runs_each_part_once(2));
  EXPECT_GT(handover_us(), 0);
  EXPECT_LE(handover_us(), 1000);
}

TEST(Team, work_that_is_small_beside_its_handover_stays_on_one_thread) {
  EXPECT_EQ(threads_for(kHandoversOfWork * 1000 + 1, 1), 1);
  EXPECT_EQ(threads_for(kParallelAboveUsAwake / 2, 8), 1);
  const double little = std::min(kParallelAboveUs - 1, kHandoversOfWork * handover_us() * 0.9);
  EXPECT_EQ(threads_for(little, 8), 1);
  EXPECT_GE(threads_for(kParallelAboveUs, 2), 2);
}

TEST(Team, serves_many_callers_at_once) {
  std::atomic<int> bad{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 8; ++t)
    callers.emplace_back([&bad, t] {
      for (int round = 0; round < 5000; ++round)
        if (!runs_each_part_once(2 + (round + t) % 3)) ++bad;
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(bad, 0);
}

TEST(Team, a_job_may_start_a_job) {
  std::atomic<int> sum{0};
  parallel_for(4, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      EXPECT_EQ(available_threads(), 1);
      parallel_for(10, 4, [&](std::int64_t first, std::int64_t last) {
        sum.fetch_add(static_cast<int>(last - first));
      });
    }
  });
  EXPECT_EQ(sum, 40);
}

TEST(Team, what_the_parts_wrote_is_seen_by_the_caller) {
  std::vector<int> values(1 << 16);
  for (int round = 1; round < 300; ++round) {
    parallel_for(static_cast<std::int64_t>(values.size()), 4,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i)
                     values[static_cast<std::size_t>(i)] += round;
                 });
    const int expected = round * (round + 1) / 2;
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), std::int64_t{0}),
              static_cast<std::int64_t>(values.size()) * expected);
  }
}

TEST(Team, a_forked_child_has_a_team_of_its_own) {
  if (test::kThreadSanitized) GTEST_SKIP() << "the sanitizer lets no such child start a thread";
  ASSERT_TRUE(runs_each_part_once(2));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool good = true;
    for (int round = 0; round < 100; ++round) good = good && runs_each_part_once(2);
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(runs_each_part_once(2));
}

TEST(Team, threads_follow_the_work) {
  EXPECT_EQ(threads_for(1, 8), 1);
  EXPECT_EQ(threads_for(1000, 1), 1);
  EXPECT_EQ(threads_for(30, 8), 3);
  EXPECT_EQ(threads_for(1000, 8), 8);
}

}  // namespace
}  // namespace nx::kernels
