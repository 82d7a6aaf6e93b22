// A plugin that passes every call on to the real one (path in NXPP_PROXIED_PLUGIN), but for what a
// definition changes: entries and extensions left out, another minor version, errors.
#include <dlfcn.h>
#include <pjrt_c_api.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace {

const PJRT_Api* real = nullptr;
[[maybe_unused]] std::atomic<int> violations{0};

/// An error of ours beside those of the real plugin.
struct OwnError {
  PJRT_Error_Code code;
  const char* message;
};
[[maybe_unused]] OwnError errors[] = {
    {PJRT_Error_Code_UNIMPLEMENTED, "not in this plugin"},
    {PJRT_Error_Code_INVALID_ARGUMENT,
     "Unexpected PJRT_LoadedExecutable_Execute_Args size: expected 320, got 80"},
    {PJRT_Error_Code_INTERNAL, "no supported devices found for platform CUDA"},
};
bool is_own(const PJRT_Error* error) {
  const auto* own = reinterpret_cast<const OwnError*>(error);
  return own >= errors && own < errors + 3;
}
void destroy_error(PJRT_Error_Destroy_Args* args) {
  if (!is_own(args->error)) real->PJRT_Error_Destroy(args);
}
void message_of(PJRT_Error_Message_Args* args) {
  if (!is_own(args->error)) return real->PJRT_Error_Message(args);
  args->message = reinterpret_cast<const OwnError*>(args->error)->message;
  args->message_size = std::strlen(args->message);
}
PJRT_Error* code_of(PJRT_Error_GetCode_Args* args) {
  if (!is_own(args->error)) return real->PJRT_Error_GetCode(args);
  args->code = reinterpret_cast<const OwnError*>(args->error)->code;
  return nullptr;
}

template <int kIndex, class Args>
PJRT_Error* fail(Args*) {
  return reinterpret_cast<PJRT_Error*>(&errors[kIndex]);
}

/// Everything behind the three first words (size, extensions, the handle asked) must come zeroed,
/// as the plugin may set parts of it only.
template <auto kEntry, class Args>
PJRT_Error* expect_zeroed(Args* args) {
  if (args->struct_size != sizeof(Args)) ++violations;
  const auto* bytes = reinterpret_cast<const unsigned char*>(args);
  if (args->extension_start != nullptr) ++violations;
  for (std::size_t i = 3 * sizeof(void*); i < sizeof(Args); ++i)
    if (bytes[i] != 0) ++violations;
  return (real->*kEntry)(args);
}

// Entries that a user's program can do without.
#define OPTIONAL_ENTRIES(ENTRY)                    \
  ENTRY(PJRT_Plugin_Attributes)                    \
  ENTRY(PJRT_Executable_GetCompiledMemoryStats)    \
  ENTRY(PJRT_Executable_OptimizedProgram)          \
  ENTRY(PJRT_Buffer_GetMemoryLayout)               \
  ENTRY(PJRT_Buffer_OpaqueDeviceMemoryDataPointer) \
  ENTRY(PJRT_Event_OnReady)                        \
  ENTRY(PJRT_Device_MemoryStats)
// Entries with one handle as input.
#define QUESTIONS(ENTRY)                           \
  ENTRY(PJRT_Executable_GetCompiledMemoryStats)    \
  ENTRY(PJRT_Executable_OutputElementTypes)        \
  ENTRY(PJRT_Executable_OutputDimensions)          \
  ENTRY(PJRT_LoadedExecutable_GetExecutable)       \
  ENTRY(PJRT_Client_PlatformName)                  \
  ENTRY(PJRT_Client_AddressableDevices)            \
  ENTRY(PJRT_Device_GetDescription)                \
  ENTRY(PJRT_DeviceDescription_Id)                 \
  ENTRY(PJRT_Buffer_GetMemoryLayout)               \
  ENTRY(PJRT_Buffer_OpaqueDeviceMemoryDataPointer) \
  ENTRY(PJRT_Buffer_ReadyEvent)                    \
  ENTRY(PJRT_Buffer_IsDeleted)

PJRT_Api make_api() {
  void* library = dlopen(std::getenv("NXPP_PROXIED_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
  real = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"))();
  PJRT_Api api;
  std::memset(static_cast<void*>(&api), 0, sizeof api);
  std::memcpy(static_cast<void*>(&api), real,
              real->struct_size < sizeof api ? real->struct_size : sizeof api);
  api.struct_size = sizeof api;
  api.PJRT_Error_Destroy = &destroy_error;
  api.PJRT_Error_Message = &message_of;
  api.PJRT_Error_GetCode = &code_of;
#if defined(PROXY_EMPTY)
#define EMPTY(entry) api.entry = nullptr;
  OPTIONAL_ENTRIES(EMPTY)
  api.extension_start = nullptr;
#elif defined(PROXY_UNIMPLEMENTED)
#define UNIMPLEMENTED(entry) api.entry = &fail<0, entry##_Args>;
  OPTIONAL_ENTRIES(UNIMPLEMENTED)
#elif defined(PROXY_OLDER)
  api.pjrt_api_version.minor_version = PJRT_API_MINOR - 20;
  api.struct_size = offsetof(PJRT_Api, PJRT_Memory_Kind_Id);  // and what comes later is not there
  std::memset(reinterpret_cast<char*>(&api) + api.struct_size, 0, sizeof api - api.struct_size);
#elif defined(PROXY_NEWER)
  api.pjrt_api_version.minor_version = PJRT_API_MINOR + 400;
  api.struct_size = sizeof api + 512;
#elif defined(PROXY_OTHER_SIZES)
  api.PJRT_LoadedExecutable_Execute = &fail<1, PJRT_LoadedExecutable_Execute_Args>;
#elif defined(PROXY_NO_DEVICE)
  api.PJRT_Client_Create = &fail<2, PJRT_Client_Create_Args>;
#elif defined(PROXY_ZEROED)
#define ZEROED(entry) api.entry = &expect_zeroed<&PJRT_Api::entry, entry##_Args>;
  QUESTIONS(ZEROED)
#endif
  return api;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  static const PJRT_Api api = make_api();
  return &api;
}
/// How many arguments came with parts that were not zero.
extern "C" __attribute__((visibility("default"))) int nxpp_proxy_violations() { return violations; }
