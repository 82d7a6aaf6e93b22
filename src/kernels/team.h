// The threads that loops are shared with: a few that wait for work by spinning for a short while,
// then asleep. One caller has them at a time; another caller meanwhile runs its loop alone, so
// that the threads of a process stay bounded. Knows nothing of what the work is.
#pragma once

#include <cstddef>

namespace nx::kernels {

/// Part `part` of `parts` of a job. Must not throw.
using TeamJob = void (*)(const void* context, int part, int parts);

/// The largest context of a job: it travels to the threads in one cache line, with the order.
inline constexpr std::size_t kTeamContextBytes = 48;

/// Runs `job` once for each part in [0, parts), part p on thread p of the team where that thread
/// is awake in time, else on the caller: nobody waits for a thread that has not begun. Returns
/// when all have ended. Each thread sees a copy of the context's `bytes`, 8-byte aligned. A call
/// from within a job runs its parts on the calling thread.
void run_on_team(int parts, TeamJob job, const void* context, std::size_t bytes) noexcept;

/// True when the team's threads are awake, so that handing work to them costs next to nothing.
bool is_team_awake() noexcept;

/// What handing a job to the awake team and waiting for its end cost last, in microseconds; measured
/// now and then. 0.2 where two cores share a cache, 0.8 where a line travels between two of them.
double handover_us() noexcept;

/// While it lives, the jobs of this thread come between the work of threads that are not the team's,
/// as in a run of XLA: a waiting thread of the team then steps back for those at once.
class AmongOthers {
 public:
  AmongOthers() noexcept;
  ~AmongOthers();
  AmongOthers(const AmongOthers&) = delete;
  AmongOthers& operator=(const AmongOthers&) = delete;

 private:
  bool before_;
};

/// Threads that a loop started here may use, with the caller: OpenMP's number (OMP_NUM_THREADS,
/// omp_set_num_threads), which oneDNN goes by too. 1 on the team's own threads.
int available_threads() noexcept;
/// The most that available_threads() is expected to be, for what is laid out once and run often.
int most_threads() noexcept;

}  // namespace nx::kernels
