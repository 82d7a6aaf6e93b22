// Rows and functions of binary arithmetic: add, subtract, multiply, divide, max, min.
#include "kernels/simd_targets.h"
#include "ops/binary.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/binary_arithmetic.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/chain-inl.h"

#define NX_KERNELS(X)                  \
  X(kAdd, add, 2, Add)                 \
  X(kSubtract, subtract, 2, Subtract)  \
  X(kMultiply, multiply, 2, Multiply)  \
  X(kDivide, divide, 2, Divide)        \
  X(kMax, max, 2, Max)                 \
  X(kMin, min, 2, Min)

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
  static constexpr bool kPredicate = false, kIsLink = true;
};
struct Add : Real {
  static constexpr bool kTakesScaled = true;
  template <class D, class V> static V many(D, V a, V b) { return hn::Add(a, b); }
  template <class T> static T one(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a + b;
    else return static_cast<T>(Wrapping<T>(a) + Wrapping<T>(b));
  }
};
struct Subtract : Real {
  static constexpr bool kTakesScaled = true;
  template <class D, class V> static V many(D, V a, V b) { return hn::Sub(a, b); }
  template <class T> static T one(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a - b;
    else return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
  }
};
struct Multiply : Real {
  static constexpr bool kMultiplies = true;
  template <class D, class V> static V many(D, V a, V b) { return hn::Mul(a, b); }
  template <class T> static T one(T a, T b) {
    if constexpr (std::is_floating_point_v<T>) return a * b;
    else return static_cast<T>(Wrapping<T>(a) * Wrapping<T>(b));
  }
};
struct Divide : Real {
  static constexpr Domain kDomain = Domain::kFloat;
  template <class D, class V> static V many(D, V a, V b) { return hn::Div(a, b); }
  template <class T> static T one(T a, T b) { return a / b; }
};
// A NaN on either side is the result.
struct Max : Real {
  template <class D, class V> static V many(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Gt(a, b), hn::IsNaN(a)), a, b);
  }
  template <class T> static T one(T a, T b) { return ((a > b) | (a != a)) ? a : b; }
};
struct Min : Real {
  template <class D, class V> static V many(D, V a, V b) {
    return hn::IfThenElse(hn::Or(hn::Lt(a, b), hn::IsNaN(a)), a, b);
  }
  template <class T> static T one(T a, T b) { return ((a < b) | (a != a)) ? a : b; }
};

}  // namespace

NX_KERNELS(NX_DEFINE_KERNEL)
NX_KERNELS(NX_DEFINE_CHAIN)

}  // namespace nx::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "graph/match.h"
#include "nx/operators.h"
#include "ops/creation.h"
#include "ops/elementwise_functions.h"
#include "ops/elementwise_rows.h"
#include "ops/families.h"

namespace nx::ops {

NX_KERNELS(NX_EXPORT_KERNEL)
NX_KERNELS(NX_EXPORT_CHAIN)

namespace {

using graph::GradCall;
using graph::LowerCall;
using graph::SimplifyCall;
using graph::Tensors;

bool is_splat(const Tensor& x, double value) {
  const auto number = graph::splat_of(x);
  return number && number->kind() != Number::Kind::kComplex && number->real() == value &&
         std::signbit(number->real()) == std::signbit(value);
}
/// What added to x gives x: -0 for floats, since -0 + 0 is 0.
bool is_neutral_addend(const Tensor& x) { return is_splat(x, is_integer(x.type()) ? 0.0 : -0.0); }

Tensor simplify_add(const SimplifyCall& call) {
  if (is_neutral_addend(call.in[1])) return call.in[0];
  if (is_neutral_addend(call.in[0])) return call.in[1];
  return {};
}
Tensor simplify_subtract(const SimplifyCall& call) {
  return is_splat(call.in[1], 0.0) ? call.in[0] : Tensor();
}
Tensor simplify_multiply(const SimplifyCall& call) {
  for (const int i : {0, 1}) {
    if (is_splat(call.in[i], 1)) return call.in[1 - i];
    if (is_splat(call.in[i], 0) && is_integer(call.out[0].type)) return call.in[i];
    if (is_splat(call.in[i], -1)) return negate(call.in[1 - i]);
  }
  return {};
}
// Division by a power of two is the multiplication by its inverse, to the bit.
Tensor simplify_divide(const SimplifyCall& call) {
  if (is_splat(call.in[1], 1)) return call.in[0];
  const auto by = graph::splat_of(call.in[1]);
  int exponent = 0;
  if (by && bits_of(call.out[0].type) >= 32 && std::isfinite(by->real()) &&
      std::fabs(std::frexp(by->real(), &exponent)) == 0.5 && std::abs(exponent) < 100)
    return call.in[0] * full_dims(1.0 / by->real(), call.out[0].type, call.out[0].dims);
  return {};
}

/// XLA may compile `maximum` to a comparison that loses a NaN: NaNs are put back, as a sum.
std::vector<stablehlo::Value> lower_extremum(const LowerCall& call, std::string_view name) {
  if (is_integer(call.in_types[0].type)) return lower_as(call, name);
  stablehlo::Writer& w = call.writer;
  const stablehlo::Value &a = call.in[0], &b = call.in[1];
  const stablehlo::Type bit{DType::u8, call.in_types[0].dims, true};
  const auto any_nan = w.op("or", {w.compare("NE", a, a), w.compare("NE", b, b)}, bit);
  return {w.select(any_nan, w.op("add", {a, b}, a.type), w.op(name, {a, b}, a.type))};
}

/// Half of the upstream gradient to each side where both are equal.
template <bool kMax>
Tensors extremum_gradient(const GradCall& call) {
  const Tensor &a = call.in[0], &b = call.in[1], &g = call.g[0];
  const Tensor shared = select(a == b, g * 0.5, 0);
  return {select(kMax ? a > b : a < b, g, shared), select(kMax ? b > a : b < a, g, shared)};
}

}  // namespace

constinit const graph::OpRow kAdd = binary_row<kAdd, add_kernel>({
    .name = "add",
    .gradient = +[](const GradCall& c) -> Tensors { return {c.g[0], c.g[0]}; },
    .lower = +[](const LowerCall& c) { return lower_as(c, "add"); },
    .simplify = simplify_add,
    .commutative = true,
    .chain = add_chain,
});
constinit const graph::OpRow kSubtract = binary_row<kSubtract, subtract_kernel>({
    .name = "subtract",
    .gradient = +[](const GradCall& c) -> Tensors {
      return {c.g[0], c.wanted[1] ? -c.g[0] : Tensor()};
    },
    .lower = +[](const LowerCall& c) { return lower_as(c, "subtract"); },
    .simplify = simplify_subtract,
    .chain = subtract_chain,
});
constinit const graph::OpRow kMultiply = binary_row<kMultiply, multiply_kernel>({
    .name = "multiply",
    .gradient = +[](const GradCall& c) -> Tensors {
      return {c.wanted[0] ? c.g[0] * c.in[1] : Tensor(), c.wanted[1] ? c.g[0] * c.in[0] : Tensor()};
    },
    .lower = +[](const LowerCall& c) { return lower_as(c, "multiply"); },
    .simplify = simplify_multiply,
    .commutative = true,
    .chain = multiply_chain,
});
constinit const graph::OpRow kDivide = binary_row<kDivide, divide_kernel>({
    .name = "divide",
    .gradient = +[](const GradCall& c) -> Tensors {
      const Tensor g = c.g[0] / c.in[1];
      return {g, c.wanted[1] ? -(g * c.out[0]) : Tensor()};
    },
    .lower = +[](const LowerCall& c) { return lower_as(c, "divide"); },
    .simplify = simplify_divide,
    .chain = divide_chain,
});
constinit const graph::OpRow kMax = binary_row<kMax, max_kernel>({
    .name = "max",
    .gradient = +extremum_gradient<true>,
    .lower = +[](const LowerCall& c) { return lower_extremum(c, "maximum"); },
    .commutative = true,
    .chain = max_chain,
});
constinit const graph::OpRow kMin = binary_row<kMin, min_kernel>({
    .name = "min",
    .gradient = +extremum_gradient<false>,
    .lower = +[](const LowerCall& c) { return lower_extremum(c, "minimum"); },
    .commutative = true,
    .chain = min_chain,
});

namespace {

const graph::OpRow* const kOps[] = {NX_KERNELS(NX_ROW_ADDRESS)};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "add",
                  .doc = "The sum of both.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(3.75, 1.5, 2.25); },
                  .call = erase<&nx::add>}),
    function_row({.name = "subtract",
                  .doc = "The first less the second.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(-0.75, 1.5, 2.25); },
                  .call = erase<&nx::subtract>}),
    function_row({.name = "multiply",
                  .doc = "The product of both.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(3.375, 1.5, 2.25); },
                  .call = erase<&nx::multiply>}),
    function_row({.name = "divide",
                  .doc = "The first over the second; integers become f32.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, 0.5, 10},
                  .examples = +[] { return example(0.75, 3, 4); },
                  .call = erase<&nx::divide>}),
    function_row({.name = "max",
                  .doc = "The larger of both; NaN if either is.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(2.25, 1.5, 2.25); },
                  .call = erase<&nx::max>}),
    function_row({.name = "min",
                  .doc = "The smaller of both; NaN if either is.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(1.5, 1.5, 2.25); },
                  .call = erase<&nx::min>}),
};

}  // namespace

constinit const Family kArithmeticFamily{"arithmetic", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

using ops::elementwise;
using ops::TypeRule;

Tensor add(const Operand& a, const Operand& b) {
  return elementwise(ops::kAdd, TypeRule::kMerged, a, b);
}
Tensor subtract(const Operand& a, const Operand& b) {
  return elementwise(ops::kSubtract, TypeRule::kMerged, a, b);
}
Tensor multiply(const Operand& a, const Operand& b) {
  return elementwise(ops::kMultiply, TypeRule::kMerged, a, b);
}
Tensor divide(const Operand& a, const Operand& b) {
  return elementwise(ops::kDivide, TypeRule::kInexact, a, b);
}
Tensor max(const Operand& a, const Operand& b) {
  return elementwise(ops::kMax, TypeRule::kMerged, a, b);
}
Tensor min(const Operand& a, const Operand& b) {
  return elementwise(ops::kMin, TypeRule::kMerged, a, b);
}

}  // namespace nx
#endif
