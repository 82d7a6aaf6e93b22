// Rows and functions on bits: and, or, xor, shifts, not, leading zeros, population count.
#include <bit>

#include "kernels/simd_targets.h"
#include "ops/binary.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"
#include "ops/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/binary_bits.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/elementwise-inl.h"

#define NX_KERNELS(X)                                    \
  X(kBitwiseAnd, bitwise_and, 2, And)                    \
  X(kBitwiseOr, bitwise_or, 2, Or)                       \
  X(kBitwiseXor, bitwise_xor, 2, Xor)                    \
  X(kBitwiseNot, bitwise_not, 1, Not)                    \
  X(kLeftShift, left_shift, 2, Shift<true>)              \
  X(kRightShift, right_shift, 2, Shift<false>)           \
  X(kCountLeadingZeros, leading_zeros, 1, LeadingZeros)  \
  X(kPopulationCount, population, 1, Population)

HWY_BEFORE_NAMESPACE();
namespace nx::ops::HWY_NAMESPACE {
namespace {
using namespace kernels::HWY_NAMESPACE;
using kernels::Domain;
using kernels::KernelError;
using kernels::TileCall;
using kernels::TileKernel;
using kernels::Wrapping;

struct Bits {
  static constexpr Domain kDomain = Domain::kInteger;
  static constexpr bool kPredicate = false;
};
struct And : Bits {
  template <class T> static T one(T a, T b) { return static_cast<T>(a & b); }
};
struct Or : Bits {
  template <class T> static T one(T a, T b) { return static_cast<T>(a | b); }
};
struct Xor : Bits {
  template <class T> static T one(T a, T b) { return static_cast<T>(a ^ b); }
};
struct Not : Bits {
  template <class T> static T one(T a) { return static_cast<T>(~a); }
};
struct LeadingZeros : Bits {
  template <class T> static T one(T a) {
    return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(a)));
  }
};
struct Population : Bits {
  template <class T> static T one(T a) {
    return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(a)));
  }
};
// A negative shift sets the status; compiled code takes it for one by more than the width.
template <bool kLeft>
struct Shift : Bits {
  template <class T> static void run(const TileCall& call) {
    using U = std::make_unsigned_t<T>;
    constexpr unsigned kWidth = 8 * sizeof(T);
    const T* const a = static_cast<const T*>(call.in[0]);
    const T* const b = static_cast<const T*>(call.in[1]);
    T* const out = static_cast<T*>(call.out);
    T signs = 0;
    NX_INDEPENDENT_ITERATIONS
    for (std::size_t i = 0; i < call.count; ++i) {
      const U by = static_cast<U>(b[i]);
      signs = static_cast<T>(signs | b[i]);
      if constexpr (kLeft) {
        const auto shifted = static_cast<Wrapping<T>>(a[i]) << (by & (kWidth - 1));
        out[i] = by >= kWidth ? T{0} : static_cast<T>(shifted);
      } else {
        const U most = std::is_signed_v<T> ? U{kWidth - 1} : U{kWidth};
        const U kept = by < most ? by : most;
        out[i] = kept >= kWidth ? T{0} : static_cast<T>(a[i] >> (kept & (kWidth - 1)));
      }
    }
    if constexpr (std::is_signed_v<T>) {
      if (signs < 0 && call.status) call.status->set(KernelError::kNegativeShift);
    }
  }
};

}  // namespace

NX_KERNELS(NX_DEFINE_KERNEL)

}  // namespace nx::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "nx/binary.h"
#include "nx/unary.h"
#include "ops/elementwise_functions.h"
#include "ops/elementwise_rows.h"
#include "ops/families.h"

namespace nx::ops {

NX_KERNELS(NX_EXPORT_KERNEL)

namespace {

using graph::LowerCall;

// Types below a byte sit in the low bits of one: the spare bits are taken off again.
kernels::TileKernel subbyte_leading_zeros(std::span<const DType> in, DType) {
  if (!is_subbyte(in[0])) return leading_zeros_kernel(in[0]);
  static constexpr auto kRun = []<int kBits>(const kernels::TileCall& call) {
    const auto* const a = static_cast<const std::uint8_t*>(call.in[0]);
    auto* const out = static_cast<std::uint8_t*>(call.out);
    for (std::size_t i = 0; i < call.count; ++i)
      out[i] = static_cast<std::uint8_t>(
          std::countl_zero(static_cast<std::uint8_t>(a[i] << (8 - kBits) | (1 << (7 - kBits)))));
  };
  if (bits_of(in[0]) == 2) return [](const kernels::TileCall& c) { kRun.operator()<2>(c); };
  return [](const kernels::TileCall& c) { kRun.operator()<4>(c); };
}
kernels::TileKernel subbyte_population(std::span<const DType> in, DType) {
  if (!is_subbyte(in[0])) return population_kernel(in[0]);
  static constexpr auto kRun = []<int kBits>(const kernels::TileCall& call) {
    const auto* const a = static_cast<const std::uint8_t*>(call.in[0]);
    auto* const out = static_cast<std::uint8_t*>(call.out);
    for (std::size_t i = 0; i < call.count; ++i)
      out[i] = static_cast<std::uint8_t>(std::popcount(static_cast<std::uint8_t>(a[i] << (8 - kBits))));
  };
  if (bits_of(in[0]) == 2) return [](const kernels::TileCall& c) { kRun.operator()<2>(c); };
  return [](const kernels::TileCall& c) { kRun.operator()<4>(c); };
}

/// Counts the type's own bits: below a byte a plugin would count those of the extended sign too.
std::vector<stablehlo::Value> lower_count(const LowerCall& call, std::string_view name) {
  const stablehlo::Type type{call.out_types[0].type, call.out_types[0].dims};
  if (type.type != DType::s2 && type.type != DType::s4) return lower_as(call, name);
  stablehlo::Writer& w = call.writer;
  const stablehlo::Type bits{type.type == DType::s2 ? DType::u2 : DType::u4, type.dims};
  const auto counted = w.op(name, {w.op("bitcast_convert", call.in, bits)}, bits);
  return {w.op("bitcast_convert", {counted}, type)};
}

constexpr graph::OpRow with_kernel(graph::OpRow row,
                                   kernels::TileKernel (*kernel)(std::span<const DType>, DType)) {
  return graph::OpRow{.name = row.name, .infer = row.infer, .gradient = row.gradient,
                      .vectorize = row.vectorize, .lower = row.lower,
                      .host = graph::HostRule(graph::ElementwiseRule{kernel, 0.1f})};
}

}  // namespace

#define NX_BITWISE_ROW_(Row, kernel, text, hlo, builder)                    \
  constinit const graph::OpRow Row = builder<Row, kernel>({                 \
      .name = text,                                                         \
      .gradient = graph::zero_gradient_rule,                                \
      .lower = +[](const LowerCall& c) { return lower_as(c, hlo); },        \
  })
NX_BITWISE_ROW_(kBitwiseAnd, bitwise_and_kernel, "bitwise_and", "and", binary_row);
NX_BITWISE_ROW_(kBitwiseOr, bitwise_or_kernel, "bitwise_or", "or", binary_row);
NX_BITWISE_ROW_(kBitwiseXor, bitwise_xor_kernel, "bitwise_xor", "xor", binary_row);
NX_BITWISE_ROW_(kBitwiseNot, bitwise_not_kernel, "bitwise_not", "not", unary_row);
NX_BITWISE_ROW_(kLeftShift, left_shift_kernel, "left_shift", "shift_left", binary_row);
#undef NX_BITWISE_ROW_

constinit const graph::OpRow kRightShift = binary_row<kRightShift, right_shift_kernel>({
    .name = "right_shift",
    .gradient = graph::zero_gradient_rule,
    .lower = +[](const LowerCall& c) {
      return lower_as(c, is_unsigned(c.in_types[0].type) ? "shift_right_logical"
                                                         : "shift_right_arithmetic");
    },
});
constinit const graph::OpRow kCountLeadingZeros = with_kernel(
    unary_row<kCountLeadingZeros, leading_zeros_kernel>({
        .name = "count_leading_zeros",
        .gradient = graph::zero_gradient_rule,
        .lower = +[](const LowerCall& c) { return lower_count(c, "count_leading_zeros"); },
    }), subbyte_leading_zeros);
constinit const graph::OpRow kPopulationCount = with_kernel(
    unary_row<kPopulationCount, population_kernel>({
        .name = "population_count",
        .gradient = graph::zero_gradient_rule,
        .lower = +[](const LowerCall& c) { return lower_count(c, "popcnt"); },
    }), subbyte_population);

namespace {

const graph::OpRow* const kOps[] = {NX_KERNELS(NX_ROW_ADDRESS)};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "bitwise_and",
                  .doc = "Bits set in both.",
                  .accepts = Accepts::kInteger,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(4, 12, 6); },
                  .call = erase<&nx::bitwise_and>,
                  .differentiable = false}),
    function_row({.name = "bitwise_or",
                  .doc = "Bits set in either.",
                  .accepts = Accepts::kInteger,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(14, 12, 6); },
                  .call = erase<&nx::bitwise_or>,
                  .differentiable = false}),
    function_row({.name = "bitwise_xor",
                  .doc = "Bits set in one of them.",
                  .accepts = Accepts::kInteger,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(10, 12, 6); },
                  .call = erase<&nx::bitwise_xor>,
                  .differentiable = false}),
    function_row({.name = "bitwise_not",
                  .doc = "Every bit turned over.",
                  .accepts = Accepts::kInteger,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(-6, 5); },
                  .call = erase<&nx::bitwise_not>,
                  .differentiable = false}),
    function_row({.name = "left_shift",
                  .doc = "Bits moved up; 0 for shifts by the width or more.",
                  .accepts = Accepts::kInteger,
                  .accuracy = Accuracy{0, 0, 10},
                  .examples = +[] { return example(20, 5, 2); },
                  .call = erase<&nx::left_shift>,
                  .differentiable = false}),
    function_row({.name = "right_shift",
                  .doc = "Bits moved down, keeping the sign.",
                  .accepts = Accepts::kInteger,
                  .accuracy = Accuracy{0, 0, 10},
                  .examples = +[] { return example(-2, -7, 2); },
                  .call = erase<&nx::right_shift>,
                  .differentiable = false}),
    function_row({.name = "count_leading_zeros",
                  .doc = "The number of zero bits above the highest set one.",
                  .accepts = Accepts::kInteger,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(28, 8); },
                  .call = erase<&nx::count_leading_zeros>,
                  .differentiable = false}),
    function_row({.name = "population_count",
                  .doc = "The number of set bits.",
                  .accepts = Accepts::kInteger,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(3, 7); },
                  .call = erase<&nx::population_count>,
                  .differentiable = false}),
};

}  // namespace

constinit const Family kBitsFamily{"bits", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

using ops::elementwise;
using ops::TypeRule;

Tensor bitwise_and(const Operand& a, const Operand& b) {
  return elementwise(ops::kBitwiseAnd, TypeRule::kInteger, a, b);
}
Tensor bitwise_or(const Operand& a, const Operand& b) {
  return elementwise(ops::kBitwiseOr, TypeRule::kInteger, a, b);
}
Tensor bitwise_xor(const Operand& a, const Operand& b) {
  return elementwise(ops::kBitwiseXor, TypeRule::kInteger, a, b);
}
Tensor bitwise_not(const Operand& x) {
  return elementwise(ops::kBitwiseNot, TypeRule::kInteger, {x});
}
Tensor left_shift(const Operand& a, const Operand& b) {
  return elementwise(ops::kLeftShift, TypeRule::kInteger, a, b);
}
Tensor right_shift(const Operand& a, const Operand& b) {
  return elementwise(ops::kRightShift, TypeRule::kInteger, a, b);
}
Tensor count_leading_zeros(const Operand& x) {
  return elementwise(ops::kCountLeadingZeros, TypeRule::kInteger, {x});
}
Tensor population_count(const Operand& x) {
  return elementwise(ops::kPopulationCount, TypeRule::kInteger, {x});
}

}  // namespace nx
#endif
