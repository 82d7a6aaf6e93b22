// Errors and events of PJRT's C interface.
#include "xla/pjrt.h"

#include <fmt/format.h>

#include "nx/error.h"

namespace nx::xla {
namespace {

const char* code_name(PJRT_Error_Code code) noexcept {
  constexpr const char* kNames[] = {
      "OK",               "CANCELLED",         "UNKNOWN",
      "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
      "ALREADY_EXISTS",   "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
      "FAILED_PRECONDITION", "ABORTED",        "OUT_OF_RANGE",
      "UNIMPLEMENTED",    "INTERNAL",          "UNAVAILABLE",
      "DATA_LOSS",        "UNAUTHENTICATED"};
  const auto index = static_cast<std::size_t>(code);
  return index < std::size(kNames) ? kNames[index] : "a code unknown to us";
}

}  // namespace

PJRT_Error* missing_entry() noexcept {
  static char mark;  // only its address counts
  return reinterpret_cast<PJRT_Error*>(&mark);
}

void discard(const PJRT_Api& api, PJRT_Error* error) noexcept {
  if (error == nullptr || error == missing_entry()) return;
  auto args = make_args<PJRT_Error_Destroy_Args>();
  args.error = error;
  api.PJRT_Error_Destroy(&args);
}

void throw_error(const PJRT_Api& api, PJRT_Error* error, const char* operation) {
  if (error == missing_entry())
    throw BackendError(operation, "the plugin reports UNIMPLEMENTED: it has no such function");
  auto code = make_args<PJRT_Error_GetCode_Args>();
  code.error = error;
  code.code = PJRT_Error_Code_UNKNOWN;
  discard(api, api.PJRT_Error_GetCode(&code));
  auto message = make_args<PJRT_Error_Message_Args>();
  message.error = error;
  api.PJRT_Error_Message(&message);
  // The text belongs to the error, so it is copied before the error goes.
  std::string text = fmt::format("the plugin reports {}: {}", code_name(code.code),
                                 std::string_view(message.message, message.message_size));
  discard(api, error);
  throw BackendError(operation, text);
}

Event::~Event() {
  if (event_ == nullptr) return;
  auto args = make_args<PJRT_Event_Destroy_Args>();
  args.event = event_;
  discard(*api_, api_->PJRT_Event_Destroy(&args));
}

void Event::wait(const char* operation) const {
  auto args = make_args<PJRT_Event_Await_Args>();
  args.event = event_;
  check(*api_, api_->PJRT_Event_Await(&args), operation);
}

}  // namespace nx::xla
