// The one door to PJRT's C interface: argument structs, errors, events. Included by sources of
// this folder only; headers declare the C types they mention.
#pragma once

#include <pjrt_c_api.h>

#include <cstring>
#include <string>
#include <utility>

namespace nx::xla {

/// An argument struct, zeroed to its last padding byte: a newer plugin may read fields there.
template <class Args>
Args make_args() noexcept {
  Args args;
  std::memset(static_cast<void*>(&args), 0, sizeof args);
  args.struct_size = sizeof args;
  return args;
}

/// Turns the plugin's error into a BackendError and frees it.
[[noreturn]] void throw_error(const PJRT_Api& api, PJRT_Error* error, const char* operation);

/// The one place where errors of calls are seen; `operation` names our operation.
inline void check(const PJRT_Api& api, PJRT_Error* error, const char* operation) {
  if (error != nullptr) [[unlikely]] throw_error(api, error, operation);
}

/// What an entry of the table reports that the plugin left empty.
PJRT_Error* missing_entry() noexcept;

/// For destructors and callbacks, which cannot report: frees the error.
void discard(const PJRT_Api& api, PJRT_Error* error) noexcept;

/// Owns an event. Waiting reports the error that the event carries.
class Event {
 public:
  Event(const PJRT_Api& api, PJRT_Event* event) noexcept : api_(&api), event_(event) {}
  Event(Event&& other) noexcept : api_(other.api_), event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  ~Event();
  void wait(const char* operation) const;
  PJRT_Event* get() const noexcept { return event_; }

 private:
  const PJRT_Api* api_;
  PJRT_Event* event_;
};

}  // namespace nx::xla
