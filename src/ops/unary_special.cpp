// Rows and functions of the cubic root, the error function, its complement and its inverse.
#include <cmath>
#include <limits>

#include "kernels/simd_targets.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"
#include "ops/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/unary_special.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/math-inl.h"
#include "ops/erf-inl.h"
#include "ops/special-inl.h"

#define NX_KERNELS(X)                             \
  X(kCbrt, cbrt, 1, Cbrt)                         \
  X(kErf, erf, 1, Erf)                            \
  X(kErfc, erfc, 1, Erfc)                         \
  X(kErfInv, erf_inv, 1, ErfInv)                  \
  X(kErfInvGiles, erf_inv_giles, 1, ErfInvGiles)

HWY_BEFORE_NAMESPACE();
namespace nx::ops::HWY_NAMESPACE {
namespace {
using namespace kernels::HWY_NAMESPACE;
using kernels::Domain;
using kernels::TileKernel;

/// Always in f64, where the formulas are good to f64's last digits; NaN is kept.
template <class F>
struct Wide {
  static constexpr Domain kDomain = Domain::kFloat;
  static constexpr bool kPredicate = false;
  template <class D, class V> static V many(D d, V x) {
    V y;
    if constexpr (sizeof(hn::TFromD<D>) == 8) y = F::wide(d, x);
    else y = in_double<F>(d, x);
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};
/// f64 by its formula, f32 by its own.
struct Erf {
  static constexpr Domain kDomain = Domain::kFloat;
  static constexpr bool kPredicate = false;
  template <class D, class V> static HWY_INLINE V many(D d, V x) {
    V y;
    if constexpr (sizeof(hn::TFromD<D>) == 8) y = erf_formula(VectorAlgebra<D>{d}, x);
    else y = erf_of_f32(d, x);
    return hn::IfThenElse(hn::IsNaN(x), x, y);
  }
};
struct Erfc : Wide<Erfc> {
  template <class D, class V> static V wide(D d, V x) {
    return erfc_formula(VectorAlgebra<D>{d}, x);
  }
};
struct ErfInv : Wide<ErfInv> {
  template <class D, class V> static V wide(D d, V x) {
    const V y = erf_inv_formula(VectorAlgebra<D>{d}, x);
    const V one = hn::Set(d, 1.0), size = hn::Abs(x);
    const V edge = hn::IfThenElse(hn::Eq(size, one), hn::CopySign(hn::Inf(d), x), hn::NaN(d));
    return hn::IfThenElse(hn::Lt(size, one), y, edge);
  }
};
struct ErfInvGiles : Wide<ErfInvGiles> {
  template <class D, class V> static V wide(D d, V x) {
    return erf_inv_giles_formula(VectorAlgebra<D>{d}, x);
  }
};
struct Cbrt {
  static constexpr Domain kDomain = Domain::kFloat;
  static constexpr bool kPredicate = false;
  template <class T> static T one(T x) { return std::cbrt(x); }
};

}  // namespace

NX_KERNELS(NX_DEFINE_KERNEL)

}  // namespace nx::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <numbers>

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

/// The algebra of special-inl.h over StableHLO values, in f64 whatever the operand's type.
struct HloAlgebra {
  using Value = stablehlo::Value;
  stablehlo::Writer& w;
  stablehlo::Type type;
  Value op(const char* name, std::initializer_list<Value> in) const { return w.op(name, in, type); }
  Value number(double value) const { return w.constant(value, type.type, type.dims); }
  Value add(const Value& a, const Value& b) const { return op("add", {a, b}); }
  Value sub(const Value& a, const Value& b) const { return op("subtract", {a, b}); }
  Value mul(const Value& a, const Value& b) const { return op("multiply", {a, b}); }
  Value div(const Value& a, const Value& b) const { return op("divide", {a, b}); }
  Value neg(const Value& a) const { return op("negate", {a}); }
  Value abs(const Value& a) const { return op("abs", {a}); }
  Value sqrt(const Value& a) const { return op("sqrt", {a}); }
  Value exp(const Value& a) const { return op("exponential", {a}); }
  Value log(const Value& a) const { return op("log", {a}); }
  Value below(const Value& x, double limit, const Value& a, const Value& b) const {
    return w.select(w.compare("LT", x, number(limit)), a, b);
  }
  template <std::size_t N>
  Value polynomial(const Value& x, const double (&c)[N]) const {
    Value sum = number(c[N - 1]);
    for (std::size_t i = N - 1; i-- > 0;) sum = add(mul(sum, x), number(c[i]));
    return sum;
  }
};

template <class F>
std::vector<stablehlo::Value> lower_wide(const LowerCall& call, const F& formula) {
  stablehlo::Writer& w = call.writer;
  const HloAlgebra a{w, {DType::f64, call.in_types[0].dims, false}};
  const auto x = w.convert(call.in[0], DType::f64);
  const auto y = w.select(w.compare("NE", x, x), x, formula(a, x));
  return {w.convert(y, call.out_types[0].type)};
}

std::vector<stablehlo::Value> lower_erf_inv(const LowerCall& call) {
  return lower_wide(call, [](const HloAlgebra& a, const stablehlo::Value& x) {
    const auto y = HWY_NAMESPACE::erf_inv_formula(a, x);
    const auto size = a.abs(x), one = a.number(1.0);
    const double infinity = std::numeric_limits<double>::infinity();
    const auto edge = a.below(x, 0.0, a.number(-infinity), a.number(infinity));
    const auto outside = a.w.select(a.w.compare("EQ", size, one), edge,
                                    a.number(std::numeric_limits<double>::quiet_NaN()));
    return a.below(size, 1.0, y, outside);
  });
}

}  // namespace

constinit const graph::OpRow kCbrt = unary_row<kCbrt, cbrt_kernel>({
    .name = "cbrt",
    .gradient = +[](const GradCall& c) -> Tensors {
      return {c.g[0] / (3 * c.out[0] * c.out[0])};
    },
    .lower = +[](const LowerCall& c) { return lower_as(c, "cbrt"); },
    .cost_ns = 10,
});
constinit const graph::OpRow kErf = unary_row<kErf, erf_kernel>({
    .name = "erf",
    .gradient = +[](const GradCall& c) -> Tensors {
      return {c.g[0] * (2 * std::numbers::inv_sqrtpi) * exp(-(c.in[0] * c.in[0]))};
    },
    .lower = +[](const LowerCall& c) {
      return lower_wide(c, [](const HloAlgebra& a, const stablehlo::Value& x) {
        return HWY_NAMESPACE::erf_formula(a, x);
      });
    },
    .cost_ns = 0.4f,
});
constinit const graph::OpRow kErfc = unary_row<kErfc, erfc_kernel>({
    .name = "erfc",
    .gradient = +[](const GradCall& c) -> Tensors {
      return {c.g[0] * (-2 * std::numbers::inv_sqrtpi) * exp(-(c.in[0] * c.in[0]))};
    },
    .lower = +[](const LowerCall& c) {
      return lower_wide(c, [](const HloAlgebra& a, const stablehlo::Value& x) {
        return HWY_NAMESPACE::erfc_formula(a, x);
      });
    },
    .cost_ns = 4,
});
constinit const graph::OpRow kErfInv = unary_row<kErfInv, erf_inv_kernel>({
    .name = "erf_inv",
    .gradient = +[](const GradCall& c) -> Tensors {
      return {c.g[0] * (0.5 / std::numbers::inv_sqrtpi) * exp(c.out[0] * c.out[0])};
    },
    .lower = lower_erf_inv,
    .cost_ns = 4,
});
constinit const graph::OpRow kErfInvGiles = unary_row<kErfInvGiles, erf_inv_giles_kernel>({
    .name = "erf_inv_giles",
    .gradient = +[](const GradCall& c) -> Tensors {
      return {c.g[0] * (0.5 / std::numbers::inv_sqrtpi) * exp(c.out[0] * c.out[0])};
    },
    .lower = +[](const LowerCall& c) {
      return lower_wide(c, [](const HloAlgebra& a, const stablehlo::Value& x) {
        return HWY_NAMESPACE::erf_inv_giles_formula(a, x);
      });
    },
    .cost_ns = 4,
});

namespace {

const graph::OpRow* const kOps[] = {NX_KERNELS(NX_ROW_ADDRESS)};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "cbrt",
                  .doc = "The cubic root.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{1, 0.01, 100},
                  .examples = +[] { return example(2.0, 8.0); },
                  .call = erase<&nx::cbrt>}),
    function_row({.name = "erf",
                  .doc = "The error function.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{4, -4, 4},
                  .examples = +[] { return example(0.8427007929497149, 1.0); },
                  .call = erase<&nx::erf>}),
    function_row({.name = "erfc",
                  .doc = "1 - erf(x), accurate for large x.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{4, -4, 4},
                  .examples = +[] { return example(0.15729920705028513, 1.0); },
                  .call = erase<&nx::erfc>}),
    function_row({.name = "erf_inv",
                  .doc = "The inverse of erf, on (-1, 1).",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{4, -0.99, 0.99},
                  .examples = +[] { return example(0.4769362762044699, 0.5); },
                  .call = erase<&nx::erf_inv>}),
};

}  // namespace

constinit const Family kSpecialFamily{"special", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

using ops::elementwise;
using ops::TypeRule;

Tensor cbrt(const Operand& x) { return elementwise(ops::kCbrt, TypeRule::kInexact, {x}); }
Tensor erf(const Operand& x) { return elementwise(ops::kErf, TypeRule::kInexact, {x}); }
Tensor erfc(const Operand& x) { return elementwise(ops::kErfc, TypeRule::kInexact, {x}); }
Tensor erf_inv(const Operand& x) { return elementwise(ops::kErfInv, TypeRule::kInexact, {x}); }

}  // namespace nx
#endif
