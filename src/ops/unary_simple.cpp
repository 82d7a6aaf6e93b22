// Rows and functions of abs, negate, sign, rounding, square roots, is_nan, is_infinity, and the
// complex parts of real tensors.
#include <cmath>

#include "kernels/simd_targets.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"
#include "ops/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/unary_simple.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/chain-inl.h"

#define NX_KERNELS(X)                         \
  X(kAbs, abs, 1, Abs)                        \
  X(kNegate, negate, 1, Negate)               \
  X(kSign, sign, 1, Sign)                     \
  X(kFloor, floor, 1, Floor)                  \
  X(kCeil, ceil, 1, Ceil)                     \
  X(kRound, round, 1, Round)                  \
  X(kSqrt, sqrt, 1, Sqrt)                     \
  X(kRsqrt, rsqrt, 1, Rsqrt)                  \
  X(kIsNan, is_nan, 1, IsNan)                 \
  X(kIsInfinity, is_infinity, 1, IsInfinity)

HWY_BEFORE_NAMESPACE();
namespace nx::ops::HWY_NAMESPACE {
namespace {
using namespace kernels::HWY_NAMESPACE;
using kernels::ChainForm;
using kernels::Domain;
using kernels::TileKernel;
using kernels::Wrapping;

struct Real {
  static constexpr Domain kDomain = Domain::kReal;
  static constexpr bool kPredicate = false;
};
struct Float : Real {
  static constexpr Domain kDomain = Domain::kFloat;
};
struct Abs : Real {
  static constexpr bool kIsLink = true;
  template <class D, class V> static V many(D, V a) { return hn::Abs(a); }
  template <class T> static T one(T a) {
    if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
    else if constexpr (std::is_unsigned_v<T>) return a;
    else return static_cast<T>(a < 0 ? 0 - Wrapping<T>(a) : Wrapping<T>(a));
  }
};
struct Negate : Real {
  static constexpr bool kIsLink = true;
  template <class D, class V> static V many(D, V a) { return hn::Neg(a); }
  template <class T> static T one(T a) {
    if constexpr (std::is_floating_point_v<T>) return -a;
    else return static_cast<T>(0 - Wrapping<T>(a));
  }
};
struct Sign : Real {
  template <class T> static T one(T a) {
    if constexpr (std::is_floating_point_v<T>) return a > 0 ? T{1} : a < 0 ? T{-1} : a;
    else return static_cast<T>((a > 0) - (a < 0));
  }
};
struct Floor : Float {
  template <class D, class V> static V many(D, V a) { return hn::Floor(a); }
};
struct Ceil : Float {
  template <class D, class V> static V many(D, V a) { return hn::Ceil(a); }
};
// Halves away from zero: truncation, and one more where at least a half is left over.
struct Round : Float {
  template <class D, class V> static V many(D d, V a) {
    using T = hn::TFromD<D>;
    const V whole = hn::Trunc(a);
    const auto more = hn::Ge(hn::Abs(hn::Sub(a, whole)), hn::Set(d, T{0.5}));
    const V step = hn::CopySign(hn::Set(d, T{1}), a);
    // The sign is put back for -0.3, and infinities stay: inf - inf is NaN, which is not >= 0.5.
    return hn::CopySign(hn::IfThenElse(more, hn::Add(whole, step), whole), a);
  }
};
struct Sqrt : Float {
  static constexpr bool kIsLink = true;
  template <class D, class V> static V many(D, V a) { return hn::Sqrt(a); }
};
struct Rsqrt : Float {
  static constexpr bool kIsLink = true;
  template <class D, class V> static V many(D d, V a) {
    return hn::Div(hn::Set(d, hn::TFromD<D>{1}), hn::Sqrt(a));
  }
};
struct IsNan : Float {
  static constexpr bool kPredicate = true;
  template <class T> static std::uint8_t one(T a) { return a != a; }
};
struct IsInfinity : Float {
  static constexpr bool kPredicate = true;
  template <class T> static std::uint8_t one(T a) {
    return std::fabs(a) > std::numeric_limits<T>::max();
  }
};

}  // namespace

NX_KERNELS(NX_DEFINE_KERNEL)
NX_KERNELS(NX_DEFINE_CHAIN)

}  // namespace nx::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "graph/match.h"
#include "nx/operators.h"
#include "nx/type.h"
#include "ops/convert.h"
#include "ops/elementwise_functions.h"
#include "ops/elementwise_rows.h"
#include "ops/families.h"

namespace nx::ops {

NX_KERNELS(NX_EXPORT_KERNEL)
NX_KERNELS(NX_EXPORT_CHAIN)

namespace {

using graph::GradCall;
using graph::LowerCall;
using graph::Tensors;

Tensor simplify_negate(const graph::SimplifyCall& call) {
  return graph::is_made_by(call.in[0], kNegate) ? graph::operand_of(call.in[0], 0) : Tensor();
}

}  // namespace

constinit const graph::OpRow kAbs = unary_row<kAbs, abs_kernel>({
    .name = "abs",
    .gradient = +[](const GradCall& c) -> Tensors {  // 1 at 0
      return {select(c.in[0] >= 0, c.g[0], -c.g[0])};
    },
    .lower = +[](const LowerCall& c) -> std::vector<stablehlo::Value> {
      if (is_unsigned(c.in_types[0].type)) return {c.in[0]};
      return lower_as(c, "abs");
    },
    .chain = abs_chain,
});
constinit const graph::OpRow kNegate = unary_row<kNegate, negate_kernel>({
    .name = "negate",
    .gradient = +[](const GradCall& c) -> Tensors { return {-c.g[0]}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "negate"); },
    .simplify = simplify_negate,
    .chain = negate_chain,
});
constinit const graph::OpRow kSign = unary_row<kSign, sign_kernel>({
    .name = "sign",
    .gradient = graph::zero_gradient_rule,
    .lower = +[](const LowerCall& c) -> std::vector<stablehlo::Value> {
      const DType type = c.in_types[0].type;
      if (!is_unsigned(type)) return lower_as(c, "sign");
      return {c.writer.from_predicate(c.writer.to_predicate(c.in[0]), type)};
    },
});
constinit const graph::OpRow kFloor = unary_row<kFloor, floor_kernel>({
    .name = "floor",
    .gradient = graph::zero_gradient_rule,
    .lower = +[](const LowerCall& c) { return lower_as(c, "floor"); },
});
constinit const graph::OpRow kCeil = unary_row<kCeil, ceil_kernel>({
    .name = "ceil",
    .gradient = graph::zero_gradient_rule,
    .lower = +[](const LowerCall& c) { return lower_as(c, "ceil"); },
});
constinit const graph::OpRow kRound = unary_row<kRound, round_kernel>({
    .name = "round",
    .gradient = graph::zero_gradient_rule,
    .lower = +[](const LowerCall& c) { return lower_as(c, "round_nearest_afz"); },
});
constinit const graph::OpRow kSqrt = unary_row<kSqrt, sqrt_kernel>({
    .name = "sqrt",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0] * 0.5 / c.out[0]}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "sqrt"); },
    .cost_ns = 0.3f,
    .chain = sqrt_chain,
});
constinit const graph::OpRow kRsqrt = unary_row<kRsqrt, rsqrt_kernel>({
    .name = "rsqrt",
    .gradient = +[](const GradCall& c) -> Tensors {
      return {c.g[0] * -0.5 * c.out[0] / c.in[0]};
    },
    .lower = +[](const LowerCall& c) { return lower_as(c, "rsqrt"); },
    .cost_ns = 0.5f,
    .chain = rsqrt_chain,
});
constinit const graph::OpRow kIsNan = unary_predicate_row<kIsNan, is_nan_kernel>({
    .name = "is_nan",
    .gradient = graph::zero_gradient_rule,
    .lower = +[](const LowerCall& c) -> std::vector<stablehlo::Value> {
      return {c.writer.from_predicate(c.writer.compare("NE", c.in[0], c.in[0]), DType::u8)};
    },
});
constinit const graph::OpRow kIsInfinity = unary_predicate_row<kIsInfinity, is_infinity_kernel>({
    .name = "is_infinity",
    .gradient = graph::zero_gradient_rule,
    .lower = +[](const LowerCall& c) -> std::vector<stablehlo::Value> {
      const Formula f(c);
      const auto infinity = f.number(Number(std::numeric_limits<double>::infinity()));
      return {c.writer.from_predicate(f.test("EQ", f.abs(f.x()), infinity), DType::u8)};
    },
});

namespace {

const graph::OpRow* const kOps[] = {NX_KERNELS(NX_ROW_ADDRESS)};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "abs",
                  .doc = "The size of each element.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(2.5, -2.5); },
                  .call = erase<&nx::abs>}),
    function_row({.name = "negate",
                  .doc = "Each element with the other sign.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(-2.5, 2.5); },
                  .call = erase<&nx::negate>}),
    function_row({.name = "sign",
                  .doc = "-1, 0 or 1 by the sign of each element.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(-1.0, -2.5); },
                  .call = erase<&nx::sign>}),
    function_row({.name = "floor",
                  .doc = "The largest whole number that is not above.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(-3.0, -2.5); },
                  .call = erase<&nx::floor>}),
    function_row({.name = "ceil",
                  .doc = "The smallest whole number that is not below.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(-2.0, -2.5); },
                  .call = erase<&nx::ceil>}),
    function_row({.name = "round",
                  .doc = "The nearest whole number, halves away from zero.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(-3.0, -2.5); },
                  .call = erase<&nx::round>}),
    function_row({.name = "sqrt",
                  .doc = "The square root.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0.5, 0, 100},
                  .examples = +[] { return example(1.4142135623730951, 2.0); },
                  .call = erase<&nx::sqrt>}),
    function_row({.name = "rsqrt",
                  .doc = "1 over the square root.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{1.5, 0.01, 100},
                  .examples = +[] { return example(0.7071067811865476, 2.0); },
                  .call = erase<&nx::rsqrt>}),
    function_row({.name = "is_nan",
                  .doc = "1 where the element is not a number.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(0, 1.0); },
                  .call = erase<&nx::is_nan>,
                  .differentiable = false}),
    function_row({.name = "is_infinity",
                  .doc = "1 where the element is infinite.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(0, 1.0); },
                  .call = erase<&nx::is_infinity>,
                  .differentiable = false}),
    function_row({.name = "real",
                  .doc = "The real part.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(1.5, 1.5); },
                  .call = erase<&nx::real>}),
    function_row({.name = "imag",
                  .doc = "The imaginary part.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(0.0, 1.5); },
                  .call = erase<&nx::imag>,
                  .differentiable = false}),
    function_row({.name = "phase",
                  .doc = "The angle in the complex plane.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{1, -10, 10},
                  .examples = +[] { return example(3.141592653589793, -2.0); },
                  .call = erase<&nx::phase>,
                  .differentiable = false}),
};

}  // namespace

constinit const Family kSimpleFamily{"simple", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

using ops::elementwise;
using ops::TypeRule;

namespace {

bool is_whole(const Operand& x) {
  return is_integer(ops::merge_operand_types({&x, 1}));
}
/// Whole numbers are their own floor, ceiling and rounding.
Tensor rounded(const graph::OpRow& row, const Operand& x) {
  return is_whole(x) ? ops::as_tensor(x) : elementwise(row, TypeRule::kMerged, {x});
}
/// What holds of no integer.
Tensor float_predicate(const graph::OpRow& row, const Operand& x) {
  return is_whole(x) ? not_equal(x, x) : elementwise(row, TypeRule::kCompare, {x});
}
Tensor real_part(const Operand& x) {
  const Tensor t = ops::as_tensor(x);
  return as_type(t, to_inexact(t.type()));
}

}  // namespace

Tensor abs(const Operand& x) { return elementwise(ops::kAbs, TypeRule::kMerged, {x}); }
Tensor negate(const Operand& x) { return elementwise(ops::kNegate, TypeRule::kMerged, {x}); }
Tensor sign(const Operand& x) { return elementwise(ops::kSign, TypeRule::kMerged, {x}); }
Tensor floor(const Operand& x) { return rounded(ops::kFloor, x); }
Tensor ceil(const Operand& x) { return rounded(ops::kCeil, x); }
Tensor round(const Operand& x) { return rounded(ops::kRound, x); }
Tensor sqrt(const Operand& x) { return elementwise(ops::kSqrt, TypeRule::kInexact, {x}); }
Tensor rsqrt(const Operand& x) { return elementwise(ops::kRsqrt, TypeRule::kInexact, {x}); }
Tensor is_nan(const Operand& x) { return float_predicate(ops::kIsNan, x); }
Tensor is_infinity(const Operand& x) { return float_predicate(ops::kIsInfinity, x); }
Tensor real(const Operand& x) { return real_part(x); }
Tensor imag(const Operand& x) {
  const Tensor t = real_part(x);
  return select(less(t, t), t, 0);  // never t: zeros of its shape, whatever it holds
}
Tensor phase(const Operand& x) { return atan2(imag(x), real_part(x)); }

}  // namespace nx
#endif
