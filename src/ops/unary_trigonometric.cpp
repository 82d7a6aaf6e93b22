// Rows and functions of the trigonometric functions and their inverses.
#include <cmath>

#include "kernels/simd_targets.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"
#include "ops/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/unary_trigonometric.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/math-inl.h"

#define NX_KERNELS(X)      \
  X(kSin, sin, 1, Sin)     \
  X(kCos, cos, 1, Cos)     \
  X(kTan, tan, 1, Tan)     \
  X(kAsin, asin, 1, Asin)  \
  X(kAcos, acos, 1, Acos)  \
  X(kAtan, atan, 1, Atan)

HWY_BEFORE_NAMESPACE();
namespace nx::ops::HWY_NAMESPACE {
namespace {
using namespace kernels::HWY_NAMESPACE;
using kernels::Domain;
using kernels::TileKernel;

/// Floats by F::fast on vectors, with the C library for lanes outside F::usual.
template <class F>
struct Guarded {
  static constexpr Domain kDomain = Domain::kFloat;
  static constexpr bool kPredicate = false;
  template <class D, class V> static V many(D d, V x) { return guarded<F>(d, x); }
};

template <class D>
constexpr bool kWide = sizeof(hn::TFromD<D>) == 8;

struct Sin : Guarded<Sin> {
  template <class D, class V> static V fast(D d, V x) { return hn::Sin(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return between(d, hn::Abs(x), kWide<D> ? 1e-150 : 1e-18, 30000); }
  template <class T> static T exact(T x) { return std::sin(x); }
};
struct Cos : Guarded<Cos> {
  template <class D, class V> static V fast(D d, V x) { return hn::Cos(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return hn::Le(hn::Abs(x), constant(d, 30000)); }
  template <class T> static T exact(T x) { return std::cos(x); }
};
struct Tan : Guarded<Tan> {
  template <class D, class V> static V fast(D d, V x) { return hn::Div(hn::Sin(d, x), hn::Cos(d, x)); }
  template <class D, class V> static auto usual(D d, V x) { return between(d, hn::Abs(x), kWide<D> ? 1e-150 : 1e-18, 30000); }
  template <class T> static T exact(T x) { return std::tan(x); }
};
struct Asin : Guarded<Asin> {
  template <class D, class V> static V fast(D d, V x) { return hn::Asin(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return hn::Le(hn::Abs(x), constant(d, 1)); }
  template <class T> static T exact(T x) { return std::asin(x); }
};
struct Acos : Guarded<Acos> {
  template <class D, class V> static V fast(D d, V x) { return hn::Acos(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return hn::Le(hn::Abs(x), constant(d, 1)); }
  template <class T> static T exact(T x) { return std::acos(x); }
};
struct Atan : Guarded<Atan> {
  template <class D, class V> static V fast(D d, V x) { return hn::Atan(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return hn::Le(hn::Abs(x), constant(d, 1e30)); }
  template <class T> static T exact(T x) { return std::atan(x); }
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

/// sqrt((1 - x)(1 + x)), accurate near -1 and 1.
Formula::Value cosine_of_sine(const Formula& f) {
  const auto one = f.number(Number(1));
  return f.op("sqrt", {f.mul(f.sub(one, f.x()), f.add(one, f.x()))});
}

}  // namespace

constinit const graph::OpRow kSin = unary_row<kSin, sin_kernel>({
    .name = "sin",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] * cos(c.in[0])}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "sine"); },
    .cost_ns = 0.4f,
});
constinit const graph::OpRow kCos = unary_row<kCos, cos_kernel>({
    .name = "cos",
    .gradient = +[](const GradCall& c) -> Tensors { return {-(c.g[0] * sin(c.in[0]))}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "cosine"); },
    .cost_ns = 0.4f,
});
constinit const graph::OpRow kTan = unary_row<kTan, tan_kernel>({
    .name = "tan",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] * (1 + c.out[0] * c.out[0])}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "tan"); },
    .cost_ns = 0.8f,
});
constinit const graph::OpRow kAsin = unary_row<kAsin, asin_kernel>({
    .name = "asin",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] / sqrt((1 - c.in[0]) * (1 + c.in[0]))}; },
    .lower = +[](const LowerCall& c) {
      const Formula f(c);
      return f.finish(f.op("atan2", {f.x(), cosine_of_sine(f)}));
    },
    .cost_ns = 0.6f,
});
constinit const graph::OpRow kAcos = unary_row<kAcos, acos_kernel>({
    .name = "acos",
    .gradient = +[](const GradCall& c) -> Tensors { return {-(c.g[0] / sqrt((1 - c.in[0]) * (1 + c.in[0])))}; },
    .lower = +[](const LowerCall& c) {
      const Formula f(c);
      return f.finish(f.op("atan2", {cosine_of_sine(f), f.x()}));
    },
    .cost_ns = 0.6f,
});
constinit const graph::OpRow kAtan = unary_row<kAtan, atan_kernel>({
    .name = "atan",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] / (1 + c.in[0] * c.in[0])}; },
    .lower = +[](const LowerCall& c) {
      const Formula f(c);
      return f.finish(f.op("atan2", {f.x(), f.number(Number(1))}));
    },
    .cost_ns = 0.5f,
});

namespace {

const graph::OpRow* const kOps[] = {NX_KERNELS(NX_ROW_ADDRESS)};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "sin",
                  .doc = "The sine of an angle in radians.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{4, -3, 3},
                  .examples = +[] { return example(0.8414709848078965, 1.0); },
                  .call = erase<&nx::sin>}),
    function_row({.name = "cos",
                  .doc = "The cosine of an angle in radians.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{4, -1.5, 1.5},
                  .examples = +[] { return example(0.5403023058681398, 1.0); },
                  .call = erase<&nx::cos>}),
    function_row({.name = "tan",
                  .doc = "The tangent of an angle in radians.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{6, -1.5, 1.5},
                  .examples = +[] { return example(1.5574077246549023, 1.0); },
                  .call = erase<&nx::tan>}),
    function_row({.name = "asin",
                  .doc = "The angle in [-pi/2, pi/2] whose sine is x.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{4, -0.99, 0.99},
                  .examples = +[] { return example(0.5235987755982989, 0.5); },
                  .call = erase<&nx::asin>}),
    function_row({.name = "acos",
                  .doc = "The angle in [0, pi] whose cosine is x.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{4, -0.99, 0.99},
                  .examples = +[] { return example(1.0471975511965979, 0.5); },
                  .call = erase<&nx::acos>}),
    function_row({.name = "atan",
                  .doc = "The angle in (-pi/2, pi/2) whose tangent is x.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{4, -10, 10},
                  .examples = +[] { return example(0.7853981633974483, 1.0); },
                  .call = erase<&nx::atan>}),
};

}  // namespace

constinit const Family kTrigonometricFamily{"trigonometric", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

using ops::elementwise;
using ops::TypeRule;

Tensor sin(const Operand& x) { return elementwise(ops::kSin, TypeRule::kInexact, {x}); }
Tensor cos(const Operand& x) { return elementwise(ops::kCos, TypeRule::kInexact, {x}); }
Tensor tan(const Operand& x) { return elementwise(ops::kTan, TypeRule::kInexact, {x}); }
Tensor asin(const Operand& x) { return elementwise(ops::kAsin, TypeRule::kInexact, {x}); }
Tensor acos(const Operand& x) { return elementwise(ops::kAcos, TypeRule::kInexact, {x}); }
Tensor atan(const Operand& x) { return elementwise(ops::kAtan, TypeRule::kInexact, {x}); }

}  // namespace nx
#endif
