// Rows and functions of remainder and quotient.
#include "kernels/simd_targets.h"
#include "ops/binary.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"

#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/binary_division.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/elementwise-inl.h"

#define NX_KERNELS(X)                         \
  X(kRemainder, remainder, 2, Division<true>) \
  X(kQuotient, quotient, 2, Division<false>)

HWY_BEFORE_NAMESPACE();
namespace nx::ops::HWY_NAMESPACE {
namespace {
using namespace kernels::HWY_NAMESPACE;
using kernels::Domain;
using kernels::KernelError;
using kernels::TileCall;
using kernels::TileKernel;
using kernels::Wrapping;

/// Integer division and remainder: by zero they set the status, and give 0 and the dividend.
///
/// The quotient of integers of up to 32 bits is that of floats with twice their bits, truncated: it
/// differs from the next integer by 1 / b at least, which is more than it is rounded by. So it is
/// too when multiplied by an inverse of b that is a little too large.
template <bool kRemainder>
struct Division {
  static constexpr Domain kDomain = kRemainder ? Domain::kReal : Domain::kInteger;
  static constexpr bool kPredicate = false;
  template <class T>
  using Float = std::conditional_t<sizeof(T) == 4, double, float>;

  template <class T> static T result(T a, T b, Wrapping<T> quotient) {
    return static_cast<T>(kRemainder ? static_cast<Wrapping<T>>(a) -
                                           quotient * static_cast<Wrapping<T>>(b)
                                     : quotient);
  }
  template <class T> static T one(T a, T b) {
    using U = Wrapping<T>;
    // 0 and -1 become 1, and the quotient 0 and -a: the lowest integer wraps.
    const U zero = b == 0, minus = std::is_signed_v<T> && b == static_cast<T>(-1);
    const T divisor = static_cast<T>(static_cast<U>(b) + zero + 2 * minus);
    T quotient;
    if constexpr (sizeof(T) == 8) quotient = a / divisor;
    else quotient = static_cast<T>(static_cast<Float<T>>(a) / static_cast<Float<T>>(divisor));
    return result(a, b, ((static_cast<U>(quotient) ^ (0 - minus)) + minus) & (zero - 1));
  }
  template <class T> static void by_one(const T* a, T b, T* out, std::size_t count) {
    using F = Float<T>;
    const F inverse = 1 / static_cast<F>(b) * (1 + 4 * std::numeric_limits<F>::epsilon());
    NX_INDEPENDENT_ITERATIONS
    for (std::size_t i = 0; i < count; ++i)
      out[i] = result(a[i], b, static_cast<Wrapping<T>>(
                                   static_cast<T>(static_cast<F>(a[i]) * inverse)));
  }
  template <class T> static void by_many(const T* a, const T* b, T* out, std::size_t count) {
    NX_INDEPENDENT_ITERATIONS
    for (std::size_t i = 0; i < count; ++i) out[i] = one(a[i], b[i]);
  }
  template <class T> static bool has_zero(const T* b, std::size_t count) {
    bool found = false;
    for (std::size_t i = 0; i < count; ++i) found |= b[i] == 0;
    return found;
  }
  /// Whether all divisors are one number, which `by_one` is made for.
  template <class T> static bool is_one_number(const T* b, std::size_t count) {
    if (count == 0 || *b == 0 || *b == static_cast<T>(-1)) return false;
    T differences = 0;
    for (std::size_t i = 0; i < count; ++i) differences = static_cast<T>(differences | (b[i] ^ *b));
    return differences == 0;
  }
  template <class T> static void run(const TileCall& call) {
    const T* const a = static_cast<const T*>(call.in[0]);
    const T* const b = static_cast<const T*>(call.in[1]);
    T* const out = static_cast<T*>(call.out);
    if constexpr (std::is_floating_point_v<T>) {
      for (std::size_t i = 0; i < call.count; ++i) out[i] = std::fmod(a[i], b[i]);
    } else {
      if (call.status && has_zero(b, call.count)) call.status->set(KernelError::kDivisionByZero);
      if constexpr (sizeof(T) < 8)
        if (is_one_number(b, call.count)) return by_one(a, *b, out, call.count);
      by_many(a, b, out, call.count);
    }
  }
};

}  // namespace

NX_KERNELS(NX_DEFINE_KERNEL)

}  // namespace nx::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "nx/operators.h"
#include "ops/elementwise_functions.h"
#include "ops/elementwise_rows.h"
#include "ops/families.h"

namespace nx::ops {

NX_KERNELS(NX_EXPORT_KERNEL)

namespace {

using graph::GradCall;
using graph::LowerCall;
using graph::Tensors;

// a - b trunc(a / b), between its jumps.
Tensors remainder_gradient(const GradCall& c) {
  const Tensor &a = c.in[0], &b = c.in[1], &g = c.g[0];
  return {g, c.wanted[1] ? -(g * round((a - c.out[0]) / b)) : Tensor()};
}

/// Divides by 1 where the divisor is 0, and puts `by_zero` there: backends differ in what they do.
std::vector<stablehlo::Value> lower_division(const LowerCall& call, const char* name,
                                             bool remainder) {
  if (is_inexact(call.in_types[0].type)) return lower_as(call, name);
  const Formula f(call);
  const auto zero = f.number(Number(0)), one = f.number(Number(1));
  const auto is_zero = f.test("EQ", f.y(), zero);
  const auto result = f.op(name, {f.x(), f.select(is_zero, one, f.y())});
  return f.finish(f.select(is_zero, remainder ? f.x() : zero, result));
}

}  // namespace

constinit const graph::OpRow kRemainder = binary_row<kRemainder, remainder_kernel>({
    .name = "remainder",
    .gradient = remainder_gradient,
    .lower = +[](const LowerCall& c) { return lower_division(c, "remainder", true); },
    .cost_ns = 8,
});
constinit const graph::OpRow kQuotient = binary_row<kQuotient, quotient_kernel>({
    .name = "quotient",
    .gradient = graph::zero_gradient_rule,
    .lower = +[](const LowerCall& c) { return lower_division(c, "divide", false); },
    .cost_ns = 1,
});

namespace {

const graph::OpRow* const kOps[] = {NX_KERNELS(NX_ROW_ADDRESS)};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "remainder",
                  .doc = "What truncating division leaves over.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, 0.5, 10},
                  .examples = +[] { return example(-1, -7, 3); },
                  .call = erase<&nx::remainder>}),
    function_row({.name = "quotient",
                  .doc = "Integer division that truncates towards zero.",
                  .accepts = Accepts::kInteger,
                  .accuracy = Accuracy{0, 1, 10},
                  .examples = +[] { return example(-2, -7, 3); },
                  .call = erase<&nx::quotient>,
                  .differentiable = false}),
};

}  // namespace

constinit const Family kDivisionFamily{"division", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

using ops::elementwise;
using ops::TypeRule;

Tensor remainder(const Operand& a, const Operand& b) {
  return elementwise(ops::kRemainder, TypeRule::kMerged, a, b);
}
Tensor quotient(const Operand& a, const Operand& b) {
  return elementwise(ops::kQuotient, TypeRule::kInteger, a, b);
}

}  // namespace nx
#endif
