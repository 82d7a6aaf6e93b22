// Says whether the plugin's threads are there: not in a forked child (donation rule R29), where a
// call would wait for ever, and not once the process has begun to end.
#pragma once

#include <cstdint>

namespace nx::xla {

/// Remembers the process it was made in; the check costs one load, no system call.
class ProcessGuard {
 public:
  ProcessGuard() noexcept;
  bool is_foreign() const noexcept;
  /// Throws BackendError in a forked child and after end_process().
  void check(const char* operation) const {
    if (is_foreign()) [[unlikely]] throw_foreign(operation);
  }
  /// From here on every guard of this process is foreign.
  static void end_process() noexcept;
  /// A plugin's object that nobody can destroy any more. It stays known, and is no leak.
  static void leave_behind(void* object) noexcept;

 private:
  [[noreturn]] static void throw_foreign(const char* operation);
  std::uint32_t generation_;
};

}  // namespace nx::xla
