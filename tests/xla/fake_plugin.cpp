// A shared object that a loader must refuse; a definition chooses the reason.
#include <pjrt_c_api.h>

#include <cstring>

#if !defined(FAKE_NO_FUNCTION)

namespace {

#if defined(FAKE_REFUSES)
constexpr char kMessage[] = "no licence for this device";

PJRT_Error* as_error() {
  static char error;
  return reinterpret_cast<PJRT_Error*>(&error);
}
PJRT_Error* refuse(PJRT_Plugin_Initialize_Args*) { return as_error(); }
void destroy_error(PJRT_Error_Destroy_Args*) {}
void message_of(PJRT_Error_Message_Args* args) {
  args->message = kMessage;
  args->message_size = std::strlen(kMessage);
}
PJRT_Error* code_of(PJRT_Error_GetCode_Args* args) {
  args->code = PJRT_Error_Code_PERMISSION_DENIED;
  return nullptr;
}
#endif

PJRT_Api make_api() {
  PJRT_Api api;
  std::memset(static_cast<void*>(&api), 0, sizeof api);
  api.struct_size = sizeof api;
  api.pjrt_api_version.major_version = PJRT_API_MAJOR;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
#if defined(FAKE_OTHER_MAJOR)
  api.pjrt_api_version.major_version = 9;
  api.pjrt_api_version.minor_version = 4;
#elif defined(FAKE_TOO_OLD)
  api.struct_size = offsetof(PJRT_Api, PJRT_Client_Compile);
#elif defined(FAKE_REFUSES)
  api.PJRT_Plugin_Initialize = &refuse;
  api.PJRT_Error_Destroy = &destroy_error;
  api.PJRT_Error_Message = &message_of;
  api.PJRT_Error_GetCode = &code_of;
#endif
  return api;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
#if defined(FAKE_NO_TABLE)
  static_cast<void>(&make_api);
  return nullptr;
#else
  static const PJRT_Api api = make_api();
  return &api;
#endif
}

#endif
