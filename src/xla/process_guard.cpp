// The count of forks between the process that loaded the library and this one, and of its end.
#include "xla/process_guard.h"

#include <pthread.h>

#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "nx/error.h"

namespace nx::xla {
namespace {

// Moved on by the handler in a child that has one thread, and once when the process ends.
std::atomic<std::uint32_t> process_generation{0};
std::atomic<bool> is_ending{false};

void count_fork() noexcept { process_generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

ProcessGuard::ProcessGuard() noexcept {
  static const int registered = pthread_atfork(nullptr, nullptr, &count_fork);
  static_cast<void>(registered);
  generation_ = process_generation.load(std::memory_order_relaxed);
}

bool ProcessGuard::is_foreign() const noexcept {
  return generation_ != process_generation.load(std::memory_order_relaxed);
}

void ProcessGuard::end_process() noexcept {
  is_ending.store(true, std::memory_order_relaxed);
  process_generation.fetch_add(1, std::memory_order_relaxed);
}

void ProcessGuard::leave_behind(void* object) noexcept {
  if (!is_ending.load(std::memory_order_relaxed)) return;  // the parent of the fork destroys it
  static auto* const objects = new std::vector<void*>;
  static auto* const mutex = new std::mutex;
  try {
    const std::lock_guard lock(*mutex);
    objects->push_back(object);
  } catch (const std::exception&) {
    // Then the process ends with one object less known.
  }
}

void ProcessGuard::throw_foreign(const char* operation) {
  if (is_ending.load(std::memory_order_relaxed)) {
    throw BackendError(operation,
                       "the process is ending and the PJRT client is gone; expected the call "
                       "before main returns, got it from a destructor of a global object");
  }
  throw BackendError(operation,
                     "this process was forked from one that had started the PJRT plugin, whose "
                     "threads do not exist here; expected the call in the process that started it "
                     "or after exec, got a forked child");
}

}  // namespace nx::xla
