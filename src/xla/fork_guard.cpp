// The count of forks between the process that loaded the library and this one.
#include "xla/fork_guard.h"

#include <pthread.h>

#include <atomic>

#include "nx/error.h"

namespace nx::xla {
namespace {

// Written only by the handler, in a child that has one thread.
std::atomic<std::uint32_t> fork_generation{0};

void count_fork() noexcept { fork_generation.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

ForkGuard::ForkGuard() noexcept {
  static const int registered = pthread_atfork(nullptr, nullptr, &count_fork);
  static_cast<void>(registered);
  generation_ = fork_generation.load(std::memory_order_relaxed);
}

bool ForkGuard::is_foreign() const noexcept {
  return generation_ != fork_generation.load(std::memory_order_relaxed);
}

void ForkGuard::throw_foreign(const char* operation) {
  throw BackendError(operation,
                     "this process was forked from one that had started the PJRT plugin, whose "
                     "threads do not exist here; expected the call in the process that started it "
                     "or after exec, got a forked child");
}

}  // namespace nx::xla
