// The function that programs call.
#include "xla/ffi.h"

#include <fmt/format.h>

#include <array>
#include <cfenv>
#include <exception>
#include <map>
#include <mutex>

#include "kernels/threads.h"
#include "nx/error.h"
#include "xla/buffer.h"
#include "xla/called_kernels.h"
#include "xla/compile.h"
#include "xla/execute.h"
#include "xla/ffi_interface.h"

namespace nx::xla {
namespace {

std::string_view kernel_name(const ffi::Attributes& attributes) {
  for (std::int64_t i = 0; i < attributes.count; ++i) {
    const ffi::Text& name = *attributes.names[i];
    if (std::string_view(name.data, name.size) != kKernelName) continue;
    if (attributes.kinds[i] != ffi::kTextAttribute) break;
    const ffi::Text& value = *static_cast<const ffi::Text*>(attributes.values[i]);
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
void run_kernel(const ffi::Call& call) {
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

/// What XLA calls.
ffi::Error* on_call(ffi::Call* call) noexcept {
  if (ffi::is_no_work(*call)) return nullptr;
  try {
    run_kernel(*call);
    return nullptr;
  } catch (const std::exception& error) {
    return ffi::error_of(*call, error.what());
  } catch (...) {
    return ffi::error_of(*call, "a kernel failed");
  }
}

bool takes_calls(Client& client) {
  const std::string text = fmt::format(
      "module @trial {{ func.func public @main() -> (tensor<f32>) {{\n"
      "  %0 = \"stablehlo.custom_call\"() {{call_target_name = \"{}\", api_version = 4 : i32, "
      "backend_config = {{{} = \"\"}}}} : () -> tensor<f32>\n"
      "  return %0 : tensor<f32>\n}} }}",
      kKernelTarget, kKernelName);
  try {
    if (!ffi::register_function(client.api(), kKernelTarget, &on_call)) return false;
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
  if (is_new) entry->second = client.is_host_memory() && takes_calls(client);
  return entry->second;
}

}  // namespace nx::xla
