// The row, its host kernel, and its custom call through the FFI extension of PJRT. The header of
// that interface is not in the wheel, so what is needed of it is declared here (XLA's
// xla/pjrt/c/pjrt_c_api_ffi_extension.h and xla/ffi/api/c_api.h, interface 0.x).
#include "donation/callback.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>

#include "graph/op_row.h"
#include "graph/trace.h"
#include "nx/error.h"
#if __has_include(<pjrt_c_api.h>)
#define NX_TEST_HAS_PJRT 1
#include "xla/client.h"
#include "xla/pjrt.h"
#endif

namespace nx::test {
namespace {

constexpr const char* kTarget = "nx_test_callback";

std::mutex& hook_mutex() {
  static std::mutex object;
  return object;
}
std::function<void(std::span<const float>)>& hook() {
  static std::function<void(std::span<const float>)> object;
  return object;
}

/// False when the run is to fail.
bool accepts(std::span<const float> values) {
  std::function<void(std::span<const float>)> now;
  {
    const std::lock_guard lock(hook_mutex());
    now = hook();
  }
  if (now) now(values);
  return std::none_of(values.begin(), values.end(), [](float v) { return v < 0; });
}

class HostCallback final : public kernels::PreparedKernel {
 public:
  explicit HostCallback(std::size_t count) : count_(count) {}
  void run(const kernels::KernelCall& call) const override {
    const auto* const values = static_cast<const float*>(call.in[0]);
    if (!accepts({values, count_})) throw BackendError("callback", kRefusal);
    std::memmove(call.out[0], values, count_ * sizeof(float));
  }

 private:
  std::size_t count_;
};

std::vector<stablehlo::Value> lower(const graph::LowerCall& call) {
  return {call.writer.op("custom_call", call.in, call.in[0].type,
                         "api_version = 4 : i32, backend_config = {}, call_target_name = \"" +
                             std::string(kTarget) + "\"")};
}

const graph::OpRow kCallback{
    .name = "callback",
    .infer = [](std::span<const graph::TensorType> in,
                const graph::Attrs&) { return graph::TensorTypes{in[0]}; },
    .gradient = graph::no_gradient("a test"),
    .vectorize = [](const graph::VectorizeCall&) { return graph::Tensors{}; },
    .lower = lower,
    .host = graph::HostRule(graph::KernelRule{
        [](const graph::KernelSpec& spec) -> std::unique_ptr<kernels::PreparedKernel> {
          return std::make_unique<HostCallback>(static_cast<std::size_t>(spec.in[0].count()));
        }}),
};

#if NX_TEST_HAS_PJRT

// -- what the custom call sees ----------------------------------------------------------------
struct FfiVersion {
  std::size_t size;
  void* extensions;
  int major, minor;
};
struct FfiError;
struct FfiErrorCreate {
  std::size_t size;
  void* extensions;
  const char* message;
  int code;
};
struct FfiApi {
  std::size_t size;
  void* extensions;
  FfiVersion version;
  const void* internal;
  FfiError* (*create_error)(FfiErrorCreate*);
};
struct FfiBuffer {
  std::size_t size;
  void* extensions;
  int type;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};
struct FfiList {  // arguments and results alike
  std::size_t size;
  void* extensions;
  std::int64_t count;
  int* types;
  void** items;
};
struct FfiMetadata {
  std::size_t size;
  FfiVersion version;
};
struct FfiExtension {
  std::size_t size;
  int type;  // 1: metadata
  FfiExtension* next;
  FfiMetadata* metadata;
};
struct FfiFrame {
  std::size_t size;
  FfiExtension* extensions;
  const FfiApi* api;
  void* context;
  int stage;
  FfiList arguments, results;
};
constexpr int kMetadata = 1;
constexpr int kInternal = 13;

FfiError* xla_callback(FfiFrame* frame) {
  // At registration the plugin asks which interface the callback speaks.
  if (frame->extensions != nullptr && frame->extensions->type == kMetadata) {
    frame->extensions->metadata->version.major = frame->api->version.major;
    frame->extensions->metadata->version.minor = frame->api->version.minor;
    return nullptr;
  }
  const auto& from = *static_cast<const FfiBuffer*>(frame->arguments.items[0]);
  const auto& to = *static_cast<const FfiBuffer*>(frame->results.items[0]);
  std::size_t count = 1;
  for (std::int64_t i = 0; i < from.rank; ++i) count *= static_cast<std::size_t>(from.dims[i]);
  if (!accepts({static_cast<const float*>(from.data), count})) {
    FfiErrorCreate create{sizeof(FfiErrorCreate), nullptr, kRefusal, kInternal};
    return frame->api->create_error(&create);
  }
  std::memmove(to.data, from.data, count * sizeof(float));
  return nullptr;
}

// -- how it is registered ---------------------------------------------------------------------
struct FfiRegister {
  std::size_t size;
  const char* name;
  std::size_t name_size;
  void* handler;
  const char* platform;
  std::size_t platform_size;
  int traits;
};
struct FfiPluginExtension {
  PJRT_Extension_Base base;
  void* register_type;
  void* add_user_data;
  PJRT_Error* (*register_handler)(FfiRegister*);
};

bool register_once() {
  const xla::Client& client = xla::Client::get();
  for (const PJRT_Extension_Base* at = client.api().extension_start; at != nullptr; at = at->next) {
    // Newer plugins have types that our header does not know: the number is read as one.
    int type = 0;
    std::memcpy(&type, &at->type, sizeof type);
    if (type != PJRT_Extension_Type_FFI || at->struct_size < sizeof(FfiPluginExtension)) continue;
    constexpr std::string_view kPlatform = "HOST";
    FfiRegister args{sizeof(FfiRegister),
                     kTarget,
                     std::strlen(kTarget),
                     reinterpret_cast<void*>(&xla_callback),
                     kPlatform.data(),
                     kPlatform.size(),
                     0};
    const auto* const ffi = reinterpret_cast<const FfiPluginExtension*>(at);
    xla::check(client.api(), ffi->register_handler(&args), "register_callback");
    return true;
  }
  return false;
}

#endif

}  // namespace

Tensor callback(const Tensor& x) {
  return graph::emit(kCallback, {x}, {}, SourceLocation::current());
}

CallbackHook::CallbackHook(std::function<void(std::span<const float>)> what) {
  const std::lock_guard lock(hook_mutex());
  hook() = std::move(what);
}
CallbackHook::~CallbackHook() {
  const std::lock_guard lock(hook_mutex());
  hook() = nullptr;
}

bool register_callback() {
#if NX_TEST_HAS_PJRT
  static const bool done = register_once();
  return done;
#else
  return false;
#endif
}

}  // namespace nx::test
