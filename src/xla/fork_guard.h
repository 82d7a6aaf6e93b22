// Detects that this process is a fork of the one that started a plugin. A plugin's threads do not
// survive a fork, so that a call in the child would wait for ever (donation rule R29).
#pragma once

#include <cstdint>

namespace nx::xla {

/// Remembers the process it was made in; the check costs one load, no system call.
class ForkGuard {
 public:
  ForkGuard() noexcept;
  bool is_foreign() const noexcept;
  /// Throws BackendError in a forked child.
  void check(const char* operation) const {
    if (is_foreign()) [[unlikely]] throw_foreign(operation);
  }

 private:
  [[noreturn]] static void throw_foreign(const char* operation);
  std::uint32_t generation_;
};

}  // namespace nx::xla
