// Rows and functions of the exponential function, logarithms and sigmoid.
#include <cmath>
#include <numbers>

#include "kernels/simd_targets.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"
#include "ops/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/unary_exp.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/math-inl.h"

#define NX_KERNELS(X)               \
  X(kExp, exp, 1, Exp)              \
  X(kExpm1, expm1, 1, Expm1)        \
  X(kLog, log, 1, Log)              \
  X(kLog1p, log1p, 1, Log1p)        \
  X(kLog2, log2, 1, Log2)           \
  X(kLog10, log10, 1, Log10)        \
  X(kSigmoid, sigmoid, 1, Sigmoid)

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

/// Highway's exp with overflow to infinity and NaN kept: without branches, since arguments far
/// below zero are common (softmax) and far above not rare.
template <class D, class V>
V full_exp(D d, V x) {
  const double most = kWide<D> ? 709.782712893384 : 88.72283935546875;
  const V capped = hn::Min(x, constant(d, most));
  V y = hn::Exp(d, capped);
  y = hn::IfThenElse(hn::Gt(x, constant(d, most)), hn::Inf(d), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}
struct Exp : Guarded<Exp> {
  template <class D, class V> static V many(D d, V x) { return full_exp(d, x); }
};
struct Sigmoid : Guarded<Sigmoid> {
  template <class D, class V> static V many(D d, V x) {
    const V one = constant(d, 1);
    return hn::Div(one, hn::Add(one, full_exp(d, hn::Neg(x))));
  }
};
struct Expm1 : Guarded<Expm1> {
  template <class D, class V> static V fast(D d, V x) {
    return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, hn::Expm1(d, x));  // keeps -0
  }
  template <class D, class V> static auto usual(D d, V x) { return between(d, x, kWide<D> ? -700 : -80, kWide<D> ? 700 : 80); }
  template <class T> static T exact(T x) { return std::expm1(x); }
};
struct Log : Guarded<Log> {
  template <class D, class V> static V fast(D d, V x) { return hn::Log(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return between(d, x, kWide<D> ? 2.3e-308 : 1.2e-38, kWide<D> ? 1.7e308 : 3.4e38); }
  template <class T> static T exact(T x) { return std::log(x); }
};
struct Log1p : Guarded<Log1p> {
  template <class D, class V> static V fast(D d, V x) { return hn::Log1p(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return between(d, x, -0.999, kWide<D> ? 1e300 : 1e37); }
  template <class T> static T exact(T x) { return std::log1p(x); }
};
struct Log2 : Guarded<Log2> {
  template <class D, class V> static V fast(D d, V x) { return hn::Log2(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return between(d, x, kWide<D> ? 2.3e-308 : 1.2e-38, kWide<D> ? 1.7e308 : 3.4e38); }
  template <class T> static T exact(T x) { return std::log2(x); }
};
struct Log10 : Guarded<Log10> {
  template <class D, class V> static V fast(D d, V x) { return hn::Log10(d, x); }
  template <class D, class V> static auto usual(D d, V x) { return between(d, x, kWide<D> ? 2.3e-308 : 1.2e-38, kWide<D> ? 1.7e308 : 3.4e38); }
  template <class T> static T exact(T x) { return std::log10(x); }
};

}  // namespace

NX_KERNELS(NX_DEFINE_KERNEL)

}  // namespace nx::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "nx/operators.h"
#include "ops/creation.h"
#include "ops/elementwise_functions.h"
#include "ops/elementwise_rows.h"
#include "ops/families.h"

namespace nx::ops {

NX_KERNELS(NX_EXPORT_KERNEL)

namespace {

using graph::GradCall;
using graph::LowerCall;
using graph::Tensors;

}  // namespace

constinit const graph::OpRow kExp = unary_row<kExp, exp_kernel>({
    .name = "exp",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] * c.out[0]}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "exponential"); },
    .cost_ns = 0.3f,
});
constinit const graph::OpRow kSigmoid = unary_row<kSigmoid, sigmoid_kernel>({
    .name = "sigmoid",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] * (c.out[0] * (1 - c.out[0]))}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "logistic"); },
    .cost_ns = 0.5f,
});
constinit const graph::OpRow kExpm1 = unary_row<kExpm1, expm1_kernel>({
    .name = "expm1",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] * (c.out[0] + 1)}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "exponential_minus_one"); },
    .cost_ns = 0.5f,
});
constinit const graph::OpRow kLog = unary_row<kLog, log_kernel>({
    .name = "log",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] / c.in[0]}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "log"); },
    .cost_ns = 0.3f,
});
constinit const graph::OpRow kLog1p = unary_row<kLog1p, log1p_kernel>({
    .name = "log1p",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] / (c.in[0] + 1)}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "log_plus_one"); },
    .cost_ns = 0.5f,
});
constinit const graph::OpRow kLog2 = unary_row<kLog2, log2_kernel>({
    .name = "log2",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] / (c.in[0] * std::numbers::ln2)}; },
    .lower = +[](const LowerCall& c) {
      const Formula f(c);
      return f.finish(f.mul(f.op("log", {f.x()}), f.number(std::numbers::log2e)));
    },
    .cost_ns = 0.4f,
});
constinit const graph::OpRow kLog10 = unary_row<kLog10, log10_kernel>({
    .name = "log10",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] / (c.in[0] * std::numbers::ln10)}; },
    .lower = +[](const LowerCall& c) {
      const Formula f(c);
      return f.finish(f.mul(f.op("log", {f.x()}), f.number(std::numbers::log10e)));
    },
    .cost_ns = 0.4f,
});

namespace {

Value call_log(std::span<const Value> args, const Options& options) {
  using Natural = Tensor (*)(const Operand&);
  using ToBase = Tensor (*)(const Operand&, const Operand&);
  return args.size() == 2 ? erase<static_cast<ToBase>(&nx::log)>(args, options)
                          : erase<static_cast<Natural>(&nx::log)>(args, options);
}

const graph::OpRow* const kOps[] = {NX_KERNELS(NX_ROW_ADDRESS)};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "exp",
                  .doc = "e to the power of each element.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{2, -80, 88},
                  .examples = +[] { return example(2.718281828459045, 1.0); },
                  .call = erase<&nx::exp>}),
    function_row({.name = "expm1",
                  .doc = "e^x - 1, accurate near 0.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{5, -80, 88},
                  .examples = +[] { return example(1.718281828459045, 1.0); },
                  .call = erase<&nx::expm1>}),
    function_row({.name = "log",
                  .doc = "The natural logarithm.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{5, 0.001, 1000},
                  .examples = +[] { return example(0.6931471805599453, 2.0); },
                  .call = call_log}),
    function_row({.name = "log1p",
                  .doc = "ln(1 + x), accurate near 0.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{5, -0.9, 1000},
                  .examples = +[] { return example(0.6931471805599453, 1.0); },
                  .call = erase<&nx::log1p>}),
    function_row({.name = "log2",
                  .doc = "The logarithm to base 2.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{5, 0.001, 1000},
                  .examples = +[] { return example(3.0, 8.0); },
                  .call = erase<&nx::log2>}),
    function_row({.name = "log10",
                  .doc = "The logarithm to base 10.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{5, 0.001, 1000},
                  .examples = +[] { return example(2.0, 100.0); },
                  .call = erase<&nx::log10>}),
    function_row({.name = "sigmoid",
                  .doc = "1 / (1 + e^-x).",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{4, -20, 20},
                  .examples = +[] { return example(0.7310585786300049, 1.0); },
                  .call = erase<&nx::sigmoid>}),
};

}  // namespace

constinit const Family kExponentialFamily{"exponential", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

using ops::elementwise;
using ops::TypeRule;

Tensor exp(const Operand& x) { return elementwise(ops::kExp, TypeRule::kInexact, {x}); }
Tensor sigmoid(const Operand& x) { return elementwise(ops::kSigmoid, TypeRule::kInexact, {x}); }
Tensor expm1(const Operand& x) { return elementwise(ops::kExpm1, TypeRule::kInexact, {x}); }
Tensor log(const Operand& x) { return elementwise(ops::kLog, TypeRule::kInexact, {x}); }
Tensor log1p(const Operand& x) { return elementwise(ops::kLog1p, TypeRule::kInexact, {x}); }

namespace {

/// Narrow floats give f32, as the quotient of two logarithms does whose second is an f32.
Tensor log_to_base(const graph::OpRow& row, const Operand& x, double log_of_base) {
  if (!kernels::is_narrow_float(ops::merge_operand_types({&x, 1})))
    return elementwise(row, TypeRule::kInexact, {x});
  return divide(log(x), ops::scalar(log_of_base, DType::f32));
}

}  // namespace

Tensor log(const Operand& x, const Operand& base) { return divide(log(x), log(base)); }
Tensor log2(const Operand& x) { return log_to_base(ops::kLog2, x, std::numbers::ln2); }
Tensor log10(const Operand& x) { return log_to_base(ops::kLog10, x, std::numbers::ln10); }

}  // namespace nx
#endif
