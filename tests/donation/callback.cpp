// The row, its host kernel, and its custom call through the FFI extension of PJRT.
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
#include "xla/ffi_interface.h"
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

xla::ffi::Error* xla_callback(xla::ffi::Call* call) {
  if (xla::ffi::is_no_work(*call)) return nullptr;
  const xla::ffi::Array &from = *call->arguments.arrays[0], &to = *call->results.arrays[0];
  std::size_t count = 1;
  for (std::int64_t i = 0; i < from.rank; ++i) count *= static_cast<std::size_t>(from.dims[i]);
  if (!accepts({static_cast<const float*>(from.data), count}))
    return xla::ffi::error_of(*call, kRefusal);
  std::memmove(to.data, from.data, count * sizeof(float));
  return nullptr;
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
  static const bool done =
      xla::ffi::register_function(xla::Client::get().api(), kTarget, &xla_callback);
  return done;
#else
  return false;
#endif
}

}  // namespace nx::test
