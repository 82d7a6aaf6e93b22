// Rows and functions of the hyperbolic functions and their inverses.
#include <cmath>
#include <numbers>

#include "kernels/simd_targets.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"
#include "ops/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/unary_hyperbolic.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/math-inl.h"

#define NX_KERNELS(X)         \
  X(kSinh, sinh, 1, Sinh)     \
  X(kCosh, cosh, 1, Cosh)     \
  X(kTanh, tanh, 1, Tanh)     \
  X(kAsinh, asinh, 1, Asinh)  \
  X(kAcosh, acosh, 1, Acosh)  \
  X(kAtanh, atanh, 1, Atanh)

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

// Highway's tanh is 1 beyond a bound but not for NaN.
struct Tanh : Guarded<Tanh> {
  template <class D, class V> static V many(D d, V x) {
    return hn::IfThenElse(hn::IsNaN(x), x, hn::Tanh(d, x));
  }
};
struct Sinh : Guarded<Sinh> {
  template <class D, class V> static V fast(D d, V x) { return hn::Sinh(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return between(d, hn::Abs(x), kWide<D> ? 1e-150 : 1e-18, kWide<D> ? 700 : 88); }
  template <class T> static T exact(T x) { return std::sinh(x); }
};
struct Cosh : Guarded<Cosh> {
  template <class D, class V> static V fast(D d, V x) { 
    const V e = hn::Exp(d, hn::Abs(x)), half = constant(d, 0.5);
    return hn::Add(hn::Mul(half, e), hn::Div(half, e));
   }
  template <class D, class V> static auto usual(D d, V x) { return hn::Le(hn::Abs(x), constant(d, kWide<D> ? 700 : 87)); }
  template <class T> static T exact(T x) { return std::cosh(x); }
};
struct Asinh : Guarded<Asinh> {
  template <class D, class V> static V fast(D d, V x) { return hn::Asinh(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return between(d, hn::Abs(x), kWide<D> ? 1e-150 : 1e-18, kWide<D> ? 1e150 : 1e18); }
  template <class T> static T exact(T x) { return std::asinh(x); }
};
struct Acosh : Guarded<Acosh> {
  template <class D, class V> static V fast(D d, V x) { return hn::Acosh(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return between(d, x, 1, kWide<D> ? 1e150 : 1e18); }
  template <class T> static T exact(T x) { return std::acosh(x); }
};
struct Atanh : Guarded<Atanh> {
  template <class D, class V> static V fast(D d, V x) { return hn::Atanh(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return between(d, hn::Abs(x), kWide<D> ? 1e-150 : 1e-18, 0.9999); }
  template <class T> static T exact(T x) { return std::atanh(x); }
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

/// e^|x| / 2 and e^-|x| / 2 by way of e^(|x|/2): the first overflows only where the result does.
std::pair<Formula::Value, Formula::Value> half_exponentials(const Formula& f) {
  const auto half = f.number(0.5);
  const auto root = f.op("exponential", {f.mul(f.abs(f.x()), half)});
  return {f.mul(f.mul(root, half), root), f.div(f.div(half, root), root)};
}
Formula::Value with_sign_of_x(const Formula& f, const Formula::Value& magnitude) {
  return f.select(f.test("LT", f.x(), f.number(Number(0))), f.neg(magnitude), magnitude);
}
std::vector<Formula::Value> lower_sinh(const LowerCall& c) {
  const Formula f(c);
  const auto [up, down] = half_exponentials(f);
  const auto one = f.number(Number(1)), x = f.abs(f.x());
  const auto e = f.op("exponential_minus_one", {x});
  const auto small = f.mul(f.number(0.5), f.add(e, f.div(e, f.add(e, one))));
  return f.finish(with_sign_of_x(f, f.select(f.test("LT", x, one), small, f.sub(up, down))));
}
std::vector<Formula::Value> lower_cosh(const LowerCall& c) {
  const Formula f(c);
  const auto [up, down] = half_exponentials(f);
  return f.finish(f.add(up, down));
}
/// Beyond 1e8 the square under the root is all there is: ln 2x, without overflow.
Formula::Value log_of_double(const Formula& f, const Formula::Value& x) {
  return f.add(f.op("log", {x}), f.number(std::numbers::ln2));
}
std::vector<Formula::Value> lower_asinh(const LowerCall& c) {
  const Formula f(c);
  const auto one = f.number(Number(1)), x = f.abs(f.x());
  const auto square = f.mul(x, x);
  const auto root = f.op("sqrt", {f.add(square, one)});
  const auto small = f.op("log_plus_one", {f.add(x, f.div(square, f.add(one, root)))});
  const auto far = f.test("GT", x, f.number(1e8));
  return f.finish(with_sign_of_x(f, f.select(far, log_of_double(f, x), small)));
}
std::vector<Formula::Value> lower_acosh(const LowerCall& c) {
  const Formula f(c);
  const auto t = f.sub(f.x(), f.number(Number(1)));
  const auto root = f.op("sqrt", {f.mul(t, f.add(t, f.number(Number(2))))});
  const auto small = f.op("log_plus_one", {f.add(t, root)});
  const auto far = f.test("GT", f.x(), f.number(1e8));
  return f.finish(f.select(far, log_of_double(f, f.x()), small));
}
std::vector<Formula::Value> lower_atanh(const LowerCall& c) {
  const Formula f(c);
  const auto up = f.op("log_plus_one", {f.x()}), down = f.op("log_plus_one", {f.neg(f.x())});
  return f.finish(f.mul(f.number(0.5), f.sub(up, down)));
}

}  // namespace

constinit const graph::OpRow kSinh = unary_row<kSinh, sinh_kernel>({
    .name = "sinh",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] * cosh(c.in[0])}; },
    .lower = lower_sinh,
    .cost_ns = 0.7f,
});
constinit const graph::OpRow kCosh = unary_row<kCosh, cosh_kernel>({
    .name = "cosh",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] * sinh(c.in[0])}; },
    .lower = lower_cosh,
    .cost_ns = 0.5f,
});
constinit const graph::OpRow kTanh = unary_row<kTanh, tanh_kernel>({
    .name = "tanh",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] * (1 - c.out[0] * c.out[0])}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "tanh"); },
    .cost_ns = 0.5f,
});
constinit const graph::OpRow kAsinh = unary_row<kAsinh, asinh_kernel>({
    .name = "asinh",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] / sqrt(c.in[0] * c.in[0] + 1)}; },
    .lower = lower_asinh,
    .cost_ns = 0.8f,
});
constinit const graph::OpRow kAcosh = unary_row<kAcosh, acosh_kernel>({
    .name = "acosh",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] / sqrt((c.in[0] - 1) * (c.in[0] + 1))}; },
    .lower = lower_acosh,
    .cost_ns = 0.8f,
});
constinit const graph::OpRow kAtanh = unary_row<kAtanh, atanh_kernel>({
    .name = "atanh",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] / (1 - c.in[0] * c.in[0])}; },
    .lower = lower_atanh,
    .cost_ns = 0.6f,
});

namespace {

const graph::OpRow* const kOps[] = {NX_KERNELS(NX_ROW_ADDRESS)};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "sinh",
                  .doc = "The hyperbolic sine.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{5, -20, 20},
                  .examples = +[] { return example(1.1752011936438014, 1.0); },
                  .call = erase<&nx::sinh>}),
    function_row({.name = "cosh",
                  .doc = "The hyperbolic cosine.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{4, -20, 20},
                  .examples = +[] { return example(1.5430806348152437, 1.0); },
                  .call = erase<&nx::cosh>}),
    function_row({.name = "tanh",
                  .doc = "The hyperbolic tangent.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{5, -10, 10},
                  .examples = +[] { return example(0.7615941559557649, 1.0); },
                  .call = erase<&nx::tanh>}),
    function_row({.name = "asinh",
                  .doc = "The inverse of sinh.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{5, -100, 100},
                  .examples = +[] { return example(0.881373587019543, 1.0); },
                  .call = erase<&nx::asinh>}),
    function_row({.name = "acosh",
                  .doc = "The inverse of cosh, on [1, inf).",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{5, 1.01, 100},
                  .examples = +[] { return example(1.3169578969248166, 2.0); },
                  .call = erase<&nx::acosh>}),
    function_row({.name = "atanh",
                  .doc = "The inverse of tanh, on (-1, 1).",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{5, -0.99, 0.99},
                  .examples = +[] { return example(0.5493061443340549, 0.5); },
                  .call = erase<&nx::atanh>}),
};

}  // namespace

constinit const Family kHyperbolicFamily{"hyperbolic", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

using ops::elementwise;
using ops::TypeRule;

Tensor sinh(const Operand& x) { return elementwise(ops::kSinh, TypeRule::kInexact, {x}); }
Tensor cosh(const Operand& x) { return elementwise(ops::kCosh, TypeRule::kInexact, {x}); }
Tensor tanh(const Operand& x) { return elementwise(ops::kTanh, TypeRule::kInexact, {x}); }
Tensor asinh(const Operand& x) { return elementwise(ops::kAsinh, TypeRule::kInexact, {x}); }
Tensor acosh(const Operand& x) { return elementwise(ops::kAcosh, TypeRule::kInexact, {x}); }
Tensor atanh(const Operand& x) { return elementwise(ops::kAtanh, TypeRule::kInexact, {x}); }

}  // namespace nx
#endif
