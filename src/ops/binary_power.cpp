// Rows and functions of pow and atan2.
#include "kernels/simd_targets.h"
#include "ops/binary.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/binary_power.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/elementwise-inl.h"
#include "ops/pow-inl.h"

#define NX_KERNELS(X)  \
  X(kPow, pow, 2, Pow) \
  X(kAtan2, atan2, 2, Atan2)

HWY_BEFORE_NAMESPACE();
namespace nx::ops::HWY_NAMESPACE {
namespace {
using namespace kernels::HWY_NAMESPACE;
using kernels::Domain;
using kernels::TileKernel;
using kernels::Wrapping;

struct Pow {
  static constexpr Domain kDomain = Domain::kReal;
  static constexpr bool kPredicate = false;

  template <class T>
  requires(!std::is_same_v<T, float>)
  static T one(T a, T b) {
    if constexpr (std::is_same_v<T, double>) {
      return std::pow(a, b);
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (b < 0) return static_cast<T>(a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0);
      }
      Wrapping<T> base = static_cast<Wrapping<T>>(a), result = 1;
      for (auto left = static_cast<std::make_unsigned_t<T>>(b); left != 0; left >>= 1) {
        if (left & 1) result *= base;
        base *= base;
      }
      return static_cast<T>(result);
    }
  }

  template <class D, class V>
  requires std::is_same_v<hn::TFromD<D>, float>
  static HWY_INLINE V many(D d, V a, V b) { return pow_of_f32(d, a, b); }
};

struct Atan2 {
  static constexpr Domain kDomain = Domain::kFloat;
  static constexpr bool kPredicate = false;
  template <class T> static T one(T a, T b) { return std::atan2(a, b); }
};

}  // namespace

NX_KERNELS(NX_DEFINE_KERNEL)

}  // namespace nx::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "graph/match.h"
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

// Where x or the exponent is 0 the formula is taken at a harmless neighbour, times 0 or once.
Tensors pow_gradient(const GradCall& c) {
  const Tensor &x = c.in[0], &y = c.in[1], &g = c.g[0];
  Tensor dx, dy;
  if (c.wanted[0]) dx = g * (y * pow(x, select(y == 0, 1, y - 1)));
  if (c.wanted[1]) dy = g * (c.out[0] * log(select(x == 0, 1, x)));
  return {dx, dy};
}

Tensors atan2_gradient(const GradCall& c) {
  const Tensor &a = c.in[0], &b = c.in[1];
  const Tensor scaled = c.g[0] / (a * a + b * b);
  return {scaled * b, c.wanted[1] ? -(scaled * a) : Tensor()};
}

// As the public function does with numbers; gradients of powers make such exponents.
Tensor simplify_pow(const graph::SimplifyCall& call) {
  const auto exponent = graph::splat_of(call.in[1]);
  if (exponent && exponent->real() == 1 && exponent->imag() == 0) return call.in[0];
  if (exponent && exponent->real() == 2 && exponent->imag() == 0)
    return multiply(call.in[0], call.in[0]);
  return {};
}

/// Integer powers by squaring, as the kernel has them: backends look at a few bits of the exponent.
std::vector<stablehlo::Value> lower_pow(const LowerCall& call) {
  using stablehlo::Type;
  using stablehlo::Value;
  using stablehlo::Writer;
  const DType of = call.in_types[0].type;
  if (is_inexact(of) || is_subbyte(of)) return lower_as(call, "power");
  const Formula f(call);
  const Type type = f.x().type, bit{DType::u8, {}, true};
  const Value zero = f.number(Number(0)), one = f.number(Number(1));
  const std::vector<Type> carried(3, type);  // what is left of the exponent, base, result
  const Writer::Region is_left = [&](Writer& w, std::span<const Value> in) {
    const Value none = w.constant(Number(0), of), some = w.op("constant", {}, bit,
                                                              "value = dense<false> : tensor<i1>");
    const Value left = w.compare("NE", in[0], w.broadcast_scalar(none, type.dims));
    Dims axes;
    for (std::size_t i = 0; i < type.dims.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    return std::vector<Value>{w.reduce(left, some, axes, "or")};
  };
  const Writer::Region square = [&](Writer& w, std::span<const Value> in) {
    const Value bit_0 = w.constant(Number(1), of, type.dims);
    const Value odd = w.compare("EQ", w.op("and", {in[0], bit_0}, type), bit_0);
    return std::vector<Value>{w.op("shift_right_logical", {in[0], bit_0}, type),
                              w.op("multiply", {in[1], in[1]}, type),
                              w.select(odd, w.op("multiply", {in[2], in[1]}, type), in[2])};
  };
  const Value operands[] = {f.y(), f.x(), one};
  const std::vector<Type> arguments[] = {carried, carried};
  const Writer::Region regions[] = {is_left, square};
  Value result = call.writer.op_with_regions("while", operands, carried, "", arguments, regions)[2];
  if (!is_unsigned(of)) {  // 1 and -1 have inverses: the bits of a negative exponent give them
    const Value size = f.abs(f.x());
    const Value vanishes = call.writer.op(
        "and", {f.test("LT", f.y(), zero), f.test("NE", size, one)}, {DType::u8, type.dims, true});
    result = f.select(vanishes, zero, result);
  }
  return f.finish(result);
}

}  // namespace

constinit const graph::OpRow kPow = binary_row<kPow, pow_kernel>({
    .name = "pow",
    .gradient = pow_gradient,
    .lower = lower_pow,
    .simplify = simplify_pow,
    .cost_ns = 2,
});
constinit const graph::OpRow kAtan2 = binary_row<kAtan2, atan2_kernel>({
    .name = "atan2",
    .gradient = atan2_gradient,
    .lower = +[](const LowerCall& c) { return lower_as(c, "atan2"); },
    .cost_ns = 15,
});
namespace {

const graph::OpRow* const kOps[] = {NX_KERNELS(NX_ROW_ADDRESS)};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "pow",
                  .doc = "The first to the power of the second.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{1, 0.1, 5},
                  .examples = +[] { return example(8, 2, 3); },
                  .call = erase<&nx::pow>}),
    function_row({.name = "atan2",
                  .doc = "The angle of the point (second, first).",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{2, -10, 10},
                  .examples = +[] { return example(0.7853981633974483, 1, 1); },
                  .call = erase<&nx::atan2>}),
};

}  // namespace

constinit const Family kPowerFamily{"power", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

using ops::elementwise;
using ops::TypeRule;

// The usual small powers are products, in eager and compiled code alike.
Tensor pow(const Operand& a, const Operand& b) {
  if (!a.is_number() && b.is_number() && b.number().real() == 2 && b.number().imag() == 0 &&
      ops::merge_operand_types(std::initializer_list<Operand>{a, b}) ==
          ops::merge_operand_types(std::initializer_list<Operand>{a}))
    return multiply(a, a);
  return elementwise(ops::kPow, TypeRule::kMerged, a, b);
}
Tensor atan2(const Operand& a, const Operand& b) {
  return elementwise(ops::kAtan2, TypeRule::kInexact, a, b);
}

}  // namespace nx
#endif
