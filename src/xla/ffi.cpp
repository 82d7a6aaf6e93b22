// The function that programs call, and telling a plugin of it. The structs are those of XLA's
// interface for such functions (xla/ffi/api/c_api.h, version 0.x) and of PJRT's extension for
// registering them, as far as they are read here.
#include "xla/ffi.h"

#include <fmt/format.h>

#include <array>
#include <cfenv>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>

#include "kernels/threads.h"
#include "nx/error.h"
#include "xla/buffer.h"
#include "xla/called_kernels.h"
#include "xla/compile.h"
#include "xla/execute.h"
#include "xla/pjrt.h"

namespace nx::xla {
namespace {

// -- the interface of the called function -----------------------------------------------------
struct Extension {
  std::size_t struct_size;
  int type;
  Extension* next;
};
struct Version {
  std::size_t struct_size;
  Extension* extensions;
  int major, minor;
};
struct Metadata {
  std::size_t struct_size;
  Version version;
  std::uint32_t traits;
};
struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};
struct Text {
  const char* data;
  std::size_t size;
};
struct Array {
  std::size_t struct_size;
  Extension* extensions;
  int type;
  void* data;
  std::int64_t rank;
  std::int64_t* dims;
};
struct Arrays {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t count;
  int* kinds;
  Array** arrays;
};
struct Attributes {
  std::size_t struct_size;
  Extension* extensions;
  std::int64_t count;
  int* kinds;
  Text** names;
  void** values;
};
struct ErrorArgs {
  std::size_t struct_size;
  Extension* extensions;
  const char* message;
  int code;
};
struct Api {
  std::size_t struct_size;
  Extension* extensions;
  Version version;
  const void* internal;
  void* (*create_error)(ErrorArgs* args);
};
struct Call {
  std::size_t struct_size;
  Extension* extensions;
  const Api* api;
  void* context;
  int stage;
  Arrays arguments, results;
  Attributes attributes;
};
constexpr int kMetadata = 1, kExecute = 3, kTextAttribute = 4, kInternalError = 13;
constexpr int kMajor = 0, kMinor = 1;

std::string_view kernel_name(const Attributes& attributes) {
  for (std::int64_t i = 0; i < attributes.count; ++i) {
    const Text& name = *attributes.names[i];
    if (std::string_view(name.data, name.size) != kKernelName) continue;
    if (attributes.kinds[i] != kTextAttribute) break;
    const Text& value = *static_cast<const Text*>(attributes.values[i]);
    return {value.data, value.size};
  }
  throw InternalError(kKernelTarget.data(), "the call has no attribute that names a kernel");
}

/// The arithmetic of all our threads, which keeps numbers below the smallest normal one: XLA's
/// threads flush them to zero, and the bits would depend on who computes which part.
class OurArithmetic {
 public:
  OurArithmetic() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~OurArithmetic() { std::fesetenv(&before_); }
  OurArithmetic(const OurArithmetic&) = delete;

 private:
  std::fenv_t before_;
};

/// The results are those of the operation, then the scratch if the kernel needs one.
void run_kernel(const Call& call) {
  const std::string_view name = kernel_name(call.attributes);
  if (name.empty()) return;  // the trial of can_call_kernels
  const auto kernel = find_called_kernel(name);
  if (kernel == nullptr)
    throw InternalError(kKernelTarget.data(), fmt::format("no kernel is called {}", name));
  InlineVector<const void*, 4> in;
  InlineVector<void*, 4> out;
  for (std::int64_t i = 0; i < call.arguments.count; ++i)
    in.push_back(call.arguments.arrays[i]->data);
  for (std::int64_t i = 0; i < call.results.count; ++i) out.push_back(call.results.arrays[i]->data);
  void* const scratch = kernel->scratch_bytes() == 0 ? nullptr : out.back();
  const int threads = kernels::threads_for(kernel->cost_us(), kernels::available_threads());
  const OurArithmetic arithmetic;
  const kernels::AmongOthers among_xlas_threads;
  kernel->run({in.data(), out.data(), scratch, nullptr, threads});
}

void* report(const Api& api, const char* message) noexcept {
  ErrorArgs args{sizeof args, nullptr, message, kInternalError};
  return api.create_error(&args);
}

/// What XLA calls: for the version it is written for, for each stage of a run, and for the work.
void* on_call(Call* call) noexcept {
  if (call->extensions != nullptr && call->extensions->type == kMetadata) {
    Metadata& metadata = *reinterpret_cast<MetadataExtension*>(call->extensions)->metadata;
    metadata.version.major = kMajor;
    metadata.version.minor = kMinor;
    metadata.traits = 0;
    return nullptr;
  }
  if (call->stage != kExecute) return nullptr;
  try {
    run_kernel(*call);
    return nullptr;
  } catch (const std::exception& error) {
    return report(*call->api, error.what());
  } catch (...) {
    return report(*call->api, "a kernel failed");
  }
}

// -- PJRT's extension -------------------------------------------------------------------------
struct Registration {
  std::size_t struct_size;
  const char* name;
  std::size_t name_size;
  void* function;
  const char* platform;
  std::size_t platform_size;
  int traits;
};
struct FfiExtension {
  PJRT_Extension_Base base;
  void* register_type;
  void* add_user_data;
  PJRT_Error* (*register_function)(Registration*);
};

bool register_function(const PJRT_Api& api) {
  const PJRT_Extension_Base* extension = api.extension_start;
  while (extension != nullptr && extension->type != PJRT_Extension_Type_FFI)
    extension = extension->next;
  if (extension == nullptr || extension->struct_size < sizeof(FfiExtension)) return false;
  constexpr std::string_view kPlatform = "Host";
  Registration args{sizeof args,
                    kKernelTarget.data(),
                    kKernelTarget.size(),
                    reinterpret_cast<void*>(&on_call),
                    kPlatform.data(),
                    kPlatform.size(),
                    0};
  PJRT_Error* const error =
      reinterpret_cast<const FfiExtension*>(extension)->register_function(&args);
  discard(api, error);
  return error == nullptr;
}

bool runs_a_call(Client& client) {
  const std::string text = fmt::format(
      "module @trial {{ func.func public @main() -> (tensor<f32>) {{\n"
      "  %0 = \"stablehlo.custom_call\"() {{call_target_name = \"{}\", api_version = 4 : i32, "
      "backend_config = {{{} = \"\"}}}} : () -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n}} }}",
      kKernelTarget, kKernelName);
  try {
    const Program trial = Program::compile(client, text);
    std::array<Buffer, 1> result;
    run(trial, {}, result, {.completion = Completion::kWait});
    return true;
  } catch (const BackendError&) {
    return false;
  }
}

}  // namespace

bool can_call_kernels(Client& client) {
  static auto* const mutex = new std::mutex;  // never destroyed, as the clients
  static auto* const known = new std::map<const Client*, bool>;
  const std::lock_guard lock(*mutex);
  const auto [entry, is_new] = known->try_emplace(&client, false);
  if (is_new)
    entry->second =
        client.is_host_memory() && register_function(client.api()) && runs_a_call(client);
  return entry->second;
}

}  // namespace nx::xla
