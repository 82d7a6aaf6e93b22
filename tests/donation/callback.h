// An operation that calls back into the test while it runs, on both compilers: a run can be made to
// fail (R18), and looked at from inside.
#pragma once

#include <functional>
#include <span>

#include "nx/tensor.h"

namespace nx::test {

/// `x` (f32, any shape) as it is. A run in which an element of it is negative fails with kRefusal:
/// on the host a kernel throws, on XLA a custom call reports an error.
Tensor callback(const Tensor& x);
inline constexpr const char* kRefusal = "the callback got a negative number";

/// What else the operation does with its values, until the object is gone. One at a time; it must
/// not throw.
class CallbackHook {
 public:
  explicit CallbackHook(std::function<void(std::span<const float>)> hook);
  ~CallbackHook();
  CallbackHook(const CallbackHook&) = delete;
  CallbackHook& operator=(const CallbackHook&) = delete;
};

/// Makes the operation known to the plugin that "xla" stands for. False when that plugin takes no
/// custom calls (it has no FFI extension).
bool register_callback();

}  // namespace nx::test
