// What every function that XLA calls has to answer, and telling a plugin of one.
#include "xla/ffi_interface.h"

#include <cstring>

namespace nx::xla::ffi {
namespace {

constexpr int kMetadata = 1, kExecute = 3, kInternalError = 13;
constexpr int kMajor = 0, kMinor = 1;

struct Registration {
  std::size_t struct_size;
  const char* name;
  std::size_t name_size;
  void* function;
  const char* platform;
  std::size_t platform_size;
  int traits;
};
struct PluginExtension {
  PJRT_Extension_Base base;
  void* register_type;
  void* add_user_data;
  PJRT_Error* (*register_function)(Registration*);
};

}  // namespace

bool is_no_work(Call& call) noexcept {
  if (call.extensions == nullptr || call.extensions->type != kMetadata)
    return call.stage != kExecute;
  Metadata& metadata = *reinterpret_cast<MetadataExtension*>(call.extensions)->metadata;
  metadata.version.major = kMajor;
  metadata.version.minor = kMinor;
  metadata.traits = 0;
  return true;
}

Error* error_of(const Call& call, const char* message) noexcept {
  ErrorArgs args{sizeof args, nullptr, message, kInternalError};
  return call.api->create_error(&args);
}

bool register_function(const PJRT_Api& api, std::string_view name, Function function) {
  constexpr std::string_view kPlatform = "Host";
  for (const PJRT_Extension_Base* at = api.extension_start; at != nullptr; at = at->next) {
    // Newer plugins have types that our header does not know: the number is read as one.
    int type = 0;
    std::memcpy(&type, &at->type, sizeof type);
    if (type != PJRT_Extension_Type_FFI || at->struct_size < sizeof(PluginExtension)) continue;
    Registration args{sizeof args,
                      name.data(),
                      name.size(),
                      reinterpret_cast<void*>(function),
                      kPlatform.data(),
                      kPlatform.size(),
                      0};
    check(api, reinterpret_cast<const PluginExtension*>(at)->register_function(&args),
          "xla register_function");
    return true;
  }
  return false;
}

}  // namespace nx::xla::ffi
