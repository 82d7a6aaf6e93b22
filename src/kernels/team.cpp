// Handing a job over takes one store that the waiting threads see, and one load for each part to
// see it done: 0.2 us where an OpenMP region takes 0.8 and waits for every one of its threads, also
// for one that the system has put aside (docs/decisions/0011-our-own-team-of-threads.md).
#include "kernels/team.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

namespace nx::kernels {
namespace {

constexpr int kMostThreads = 256;
constexpr auto kSpin = std::chrono::microseconds(100);
// Before it steps back for others: a program's next job mostly comes sooner than a thread returns.
constexpr auto kSpinAlone = std::chrono::microseconds(10);
constexpr int kSpinsBetweenClocks = 64;
constexpr int kJobsBetweenMeasures = 1024, kJobsBeforeFirstMeasure = 16;
constexpr int kMeasures = 5;
constexpr int kSpinsBeforeTaking = 20;  // under a microsecond: a worker that has begun may be done

inline void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

thread_local bool is_worker = false;
thread_local bool is_calling = false;
thread_local bool is_among_others = false;

class Team {
 public:
  void run(int parts, TeamJob job, const void* context, std::size_t bytes) noexcept;
  bool is_awake() const noexcept { return awake_.load(std::memory_order_relaxed) > 0; }
  double handover_us() const noexcept { return handover_us_.load(std::memory_order_relaxed); }
  void forget_threads() noexcept;

 private:
  // One part's state: the number of the last job in which the part was taken, and of the last in
  // which a worker finished it. The caller looks at the first only when the second is late, so
  // that line mostly stays with the worker.
  struct Part {
    alignas(64) std::atomic<std::uint64_t> taken{0};
    alignas(64) std::atomic<std::uint64_t> done{0};
  };

  // A job's number and how many parts it has, in one word: a worker that is late with one can
  // never take a part with the other of a later job.
  struct Job {
    std::uint64_t word = 0;
    std::uint64_t number() const noexcept { return word / kMostThreads; }
    int parts() const noexcept { return static_cast<int>(word % kMostThreads); }
  };

  // What workers wait for. All of it lies in one cache line, as each costs a trip between cores:
  // 0.1 to 0.3 us. Job and context are read only by who has taken a part.
  struct alignas(64) Order {
    std::atomic<std::uint64_t> word{0};
    TeamJob job = nullptr;
    std::byte context[kTeamContextBytes];
  };
  static_assert(sizeof(Order) == 64);

  Part& at(int part) noexcept { return parts_[static_cast<std::size_t>(part)]; }
  bool take(int part, std::uint64_t number) noexcept {
    std::uint64_t last = at(part).taken.load();
    return last < number && at(part).taken.compare_exchange_strong(last, number);
  }
  bool is_done(int part, std::uint64_t number) noexcept {
    return at(part).done.load(std::memory_order_acquire) >= number;
  }
  void share(int parts, TeamJob job, const void* context, std::size_t bytes) noexcept;
  void measure_handover() noexcept;
  void add_workers(int wanted) noexcept;
  void work(int part, Job last) noexcept;
  Job wait_for_other(Job last) noexcept;

  std::atomic<bool> busy_{false};
  // Changed by the caller that is busy.
  int workers_ = 0;
  int jobs_left_ = kJobsBeforeFirstMeasure;
  std::atomic<double> handover_us_{0.2};
  std::atomic<bool> is_among_others_{false};  // the last caller
  Order order_;
  alignas(64) std::atomic<int> awake_{0};
  std::atomic<int> asleep_{0};
  std::atomic<std::uint32_t> wakes_{0};
  std::array<Part, kMostThreads> parts_;
};

void Team::run(int parts, TeamJob job, const void* context, std::size_t bytes) noexcept {
  bool is_free = false;
  if (parts < 2 || is_worker || is_calling || parts >= kMostThreads ||
      !busy_.compare_exchange_strong(is_free, true, std::memory_order_acquire)) {
    for (int part = 0; part < parts; ++part) job(context, part, parts);
    return;
  }
  is_calling = true;
  if (is_among_others_.load(std::memory_order_relaxed) != is_among_others)
    is_among_others_.store(is_among_others, std::memory_order_relaxed);
  if (workers_ < parts - 1) add_workers(parts - 1);
  share(parts, job, context, bytes);
  if (jobs_left_ > 0) --jobs_left_;
  else measure_handover();
  is_calling = false;
  busy_.store(false, std::memory_order_release);
}

void Team::share(int parts, TeamJob job, const void* context, std::size_t bytes) noexcept {
  const std::uint64_t number = Job{order_.word.load(std::memory_order_relaxed)}.number() + 1;
  order_.job = job;
  std::memcpy(order_.context, context, bytes);
  order_.word.store(number * kMostThreads + static_cast<std::uint64_t>(parts),
                    std::memory_order_release);
  // A thread that falls asleep just now may be missed: its part is then done here, and the next
  // job wakes it.
  const bool some_sleep = asleep_.load(std::memory_order_relaxed) > 0;
  if (some_sleep) {
    wakes_.fetch_add(1);
    wakes_.notify_all();
  }
  job(context, 0, parts);
  // What no worker has begun is done here: a thread that sleeps or was put aside costs nothing.
  for (int spins = some_sleep ? kSpinsBeforeTaking : 0, part = parts - 1; part > 0; --part) {
    while (!is_done(part, number) && spins++ < kSpinsBeforeTaking) pause();
    if (is_done(part, number) || !take(part, number)) continue;
    job(context, part, parts);
    at(part).done.store(number, std::memory_order_relaxed);
  }
  for (int part = 1; part < parts; ++part)
    while (!is_done(part, number)) pause();
}

/// The system moves threads between cores that are near each other and ones that are not.
void Team::measure_handover() noexcept {
  if (workers_ == 0 || asleep_.load(std::memory_order_relaxed) > 0) return;
  const auto nothing = [](const void*, int, int) {};
  double least = 1e3;
  for (int i = 0; i < kMeasures; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    share(2, nothing, &begin, sizeof begin);
    const std::chrono::duration<double, std::micro> time =
        std::chrono::steady_clock::now() - begin;
    least = std::min(least, time.count());
  }
  handover_us_.store(least, std::memory_order_relaxed);
  jobs_left_ = kJobsBetweenMeasures;
}

void Team::add_workers(int wanted) noexcept {
  wanted = std::min(wanted, static_cast<int>(std::thread::hardware_concurrency()) - 1);
  while (workers_ < wanted) {
    try {
      const Job last{order_.word.load(std::memory_order_relaxed)};
      std::thread([this, last, part = workers_ + 1] { work(part, last); }).detach();
    } catch (const std::system_error&) {
      return;  // the caller does what is left
    }
    ++workers_;
  }
}

Team::Job Team::wait_for_other(Job last) noexcept {
  for (;;) {
    const auto begin = std::chrono::steady_clock::now();
    for (int spins = 1;; ++spins) {
      const Job job{order_.word.load(std::memory_order_acquire)};
      if (job.word != last.word) return job;
      pause();
      if (spins % kSpinsBetweenClocks != 0) continue;
      const auto waited = std::chrono::steady_clock::now() - begin;
      if (waited > kSpin) break;
      if (waited > kSpinAlone || is_among_others_.load(std::memory_order_relaxed))
        std::this_thread::yield();
    }
    awake_.fetch_sub(1, std::memory_order_relaxed);
    const std::uint32_t wakes = wakes_.load();
    asleep_.fetch_add(1);
    if (order_.word.load() == last.word) wakes_.wait(wakes);
    asleep_.fetch_sub(1);
    awake_.fetch_add(1, std::memory_order_relaxed);
  }
}

void Team::work(int part, Job last) noexcept {
  is_worker = true;
  omp_set_num_threads(1);  // oneDNN stays on the thread that calls it
  awake_.fetch_add(1, std::memory_order_relaxed);
  for (;;) {
    last = wait_for_other(last);
    if (part >= last.parts() || !take(part, last.number())) continue;
    order_.job(order_.context, part, last.parts());
    at(part).done.store(last.number(), std::memory_order_release);
  }
}

void Team::forget_threads() noexcept {
  workers_ = 0;
  awake_.store(0);
  asleep_.store(0);
  busy_.store(false);
}

// Never destroyed: its threads outlive main.
alignas(Team) std::byte team_memory[sizeof(Team)];
Team& team() noexcept {
  static Team* const made = [] {
    Team* const made_now = new (team_memory) Team;
    // A forked child has none of the threads.
    pthread_atfork(nullptr, nullptr, [] { team().forget_threads(); });
    return made_now;
  }();
  return *made;
}

}  // namespace

void run_on_team(int parts, TeamJob job, const void* context, std::size_t bytes) noexcept {
  team().run(parts, job, context, bytes);
}

bool is_team_awake() noexcept { return team().is_awake(); }

double handover_us() noexcept { return team().handover_us(); }

AmongOthers::AmongOthers() noexcept : before_(is_among_others) { is_among_others = true; }
AmongOthers::~AmongOthers() { is_among_others = before_; }

int available_threads() noexcept { return is_worker || is_calling ? 1 : omp_get_max_threads(); }

int most_threads() noexcept { return std::max(omp_get_max_threads(), omp_get_num_procs()); }

}  // namespace nx::kernels
