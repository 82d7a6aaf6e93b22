// Rows and functions that give 0 and 1: comparisons and logic.
#include "kernels/simd_targets.h"
#include "ops/binary.h"
#include "ops/elementwise.h"
#include "ops/kernel_list.h"
#include "ops/unary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/compare.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/elementwise-inl.h"

#define NX_KERNELS(X)                                     \
  X(kEqual, equal, 2, Equal)                              \
  X(kNotEqual, not_equal, 2, NotEqual)                    \
  X(kLess, less, 2, Less)                                 \
  X(kLessEqual, less_equal, 2, LessEqual)                 \
  X(kGreater, greater, 2, Swapped<Less>)                  \
  X(kGreaterEqual, greater_equal, 2, Swapped<LessEqual>)  \
  X(kLogicalAnd, logical_and, 2, And)                     \
  X(kLogicalOr, logical_or, 2, Or)                        \
  X(kLogicalXor, logical_xor, 2, Xor)                     \
  X(kLogicalNot, logical_not, 1, Not)

HWY_BEFORE_NAMESPACE();
namespace nx::ops::HWY_NAMESPACE {
namespace {
using namespace kernels::HWY_NAMESPACE;
using kernels::Domain;
using kernels::TileKernel;

struct Predicate {
  static constexpr Domain kDomain = Domain::kReal;
  static constexpr bool kPredicate = true;
};
struct Equal : Predicate {
  template <class T> static std::uint8_t one(T a, T b) { return a == b; }
};
struct NotEqual : Predicate {
  template <class T> static std::uint8_t one(T a, T b) { return a != b; }
};
struct Less : Predicate {
  template <class T> static std::uint8_t one(T a, T b) { return a < b; }
};
struct LessEqual : Predicate {
  template <class T> static std::uint8_t one(T a, T b) { return a <= b; }
};
struct And : Predicate {
  template <class T> static std::uint8_t one(T a, T b) { return (a != T{0}) & (b != T{0}); }
};
struct Or : Predicate {
  template <class T> static std::uint8_t one(T a, T b) { return (a != T{0}) | (b != T{0}); }
};
struct Xor : Predicate {
  template <class T> static std::uint8_t one(T a, T b) { return (a != T{0}) ^ (b != T{0}); }
};
struct Not : Predicate {
  template <class T> static std::uint8_t one(T a) { return a == T{0}; }
};
template <class Op>
struct Swapped : Predicate {
  template <class T> static std::uint8_t one(T a, T b) { return Op::template one<T>(b, a); }
};

}  // namespace

NX_KERNELS(NX_DEFINE_KERNEL)

}  // namespace nx::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "nx/binary.h"
#include "nx/type.h"
#include "nx/unary.h"
#include "ops/elementwise_functions.h"
#include "ops/elementwise_rows.h"
#include "ops/families.h"

namespace nx::ops {

NX_KERNELS(NX_EXPORT_KERNEL)

namespace {

using graph::LowerCall;

std::vector<stablehlo::Value> lower_logical(const LowerCall& call, std::string_view name) {
  stablehlo::Writer& w = call.writer;
  const stablehlo::Type type{DType::u8, call.in_types[0].dims, true};
  return {w.from_predicate(
      w.op(name, {w.to_predicate(call.in[0]), w.to_predicate(call.in[1])}, type), DType::u8)};
}

}  // namespace

#define NX_COMPARE_ROW_(Row, text, direction, is_commutative)                       \
  constinit const graph::OpRow Row = predicate_row<Row, text##_kernel>({            \
      .name = #text,                                                                \
      .gradient = graph::zero_gradient_rule,                                        \
      .lower = +[](const LowerCall& c) { return lower_compare(c, direction); },     \
      .commutative = is_commutative,                                                \
  })
NX_COMPARE_ROW_(kEqual, equal, "EQ", true);
NX_COMPARE_ROW_(kNotEqual, not_equal, "NE", true);
NX_COMPARE_ROW_(kLess, less, "LT", false);
NX_COMPARE_ROW_(kLessEqual, less_equal, "LE", false);
NX_COMPARE_ROW_(kGreater, greater, "GT", false);
NX_COMPARE_ROW_(kGreaterEqual, greater_equal, "GE", false);
#undef NX_COMPARE_ROW_

#define NX_LOGICAL_ROW_(Row, text, hlo)                                        \
  constinit const graph::OpRow Row = predicate_row<Row, text##_kernel>({       \
      .name = #text,                                                           \
      .gradient = graph::zero_gradient_rule,                                   \
      .lower = +[](const LowerCall& c) { return lower_logical(c, hlo); },      \
      .commutative = true,                                                     \
  })
NX_LOGICAL_ROW_(kLogicalAnd, logical_and, "and");
NX_LOGICAL_ROW_(kLogicalOr, logical_or, "or");
NX_LOGICAL_ROW_(kLogicalXor, logical_xor, "xor");
#undef NX_LOGICAL_ROW_

constinit const graph::OpRow kLogicalNot = unary_predicate_row<kLogicalNot, logical_not_kernel>({
    .name = "logical_not",
    .gradient = graph::GradFn(nullptr),
    .lower = +[](const LowerCall& c) -> std::vector<stablehlo::Value> {
      stablehlo::Writer& w = c.writer;
      const auto zero = w.constant(Number(0), c.in_types[0].type, c.in_types[0].dims);
      return {w.from_predicate(w.compare("EQ", c.in[0], zero), DType::u8)};
    },
    .no_gradient = "it jumps between 0 and 1; compare with 0, whose gradient is zero",
});

namespace {

DType own_type(const Operand& x) {
  return x.is_number() ? default_type(x.number()) : x.tensor().type();
}
bool is_negative_number(const Operand& x) {
  return x.is_number() && x.number().kind() == Number::Kind::kInteger && x.number().integer() < 0;
}
/// u64 against a signed operand: no type holds both, so the sign is looked at first.
bool mixes_signs(const Operand& wide, const Operand& other) {
  if (wide.is_number() || wide.tensor().type() != DType::u64) return false;
  return other.is_number() ? is_negative_number(other) : is_signed_integer(own_type(other));
}

Tensor compare(const graph::OpRow& row, const Operand& a, const Operand& b) {
  if (mixes_signs(a, b) || mixes_signs(b, a)) {
    const bool swapped = mixes_signs(b, a);
    const Tensor natural = as_type(swapped ? b : a, DType::u64);
    const Tensor integer = as_type(swapped ? a : b, DType::s64);
    const Tensor negative = less(integer, 0);
    const Tensor as_natural = as_type(integer, DType::u64);
    const Operand whole(swapped ? as_natural : natural, a.where());
    const Operand part(swapped ? natural : as_natural, a.where());
    const Tensor if_positive = elementwise(row, TypeRule::kCompare, {whole, part});
    // A negative integer is below every natural number: what `row` says of 0 and 1 then.
    const bool holds = row.is(kNotEqual) || (swapped ? row.is(kLess) || row.is(kLessEqual)
                                                     : row.is(kGreater) || row.is(kGreaterEqual));
    return holds ? logical_or(negative, if_positive)
                 : logical_and(logical_not(negative), if_positive);
  }
  return elementwise(row, TypeRule::kCompare, a, b);
}

}  // namespace
namespace {

const graph::OpRow* const kOps[] = {NX_KERNELS(NX_ROW_ADDRESS)};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "equal",
                  .doc = "1 where both are equal.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(0, 1, 2); },
                  .call = erase<&nx::equal>,
                  .differentiable = false}),
    function_row({.name = "not_equal",
                  .doc = "1 where both differ.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(1, 1, 2); },
                  .call = erase<&nx::not_equal>,
                  .differentiable = false}),
    function_row({.name = "less",
                  .doc = "1 where the first is below the second.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(1, 1, 2); },
                  .call = erase<&nx::less>,
                  .differentiable = false}),
    function_row({.name = "less_equal",
                  .doc = "1 where the first is not above the second.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(1, 1, 2); },
                  .call = erase<&nx::less_equal>,
                  .differentiable = false}),
    function_row({.name = "greater",
                  .doc = "1 where the first is above the second.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(0, 1, 2); },
                  .call = erase<&nx::greater>,
                  .differentiable = false}),
    function_row({.name = "greater_equal",
                  .doc = "1 where the first is not below the second.",
                  .accepts = Accepts::kAnyButComplex,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(0, 1, 2); },
                  .call = erase<&nx::greater_equal>,
                  .differentiable = false}),
    function_row({.name = "logical_and",
                  .doc = "1 where neither is 0.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(0, 1, 0); },
                  .call = erase<&nx::logical_and>,
                  .differentiable = false}),
    function_row({.name = "logical_or",
                  .doc = "1 where either is not 0.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(1, 1, 0); },
                  .call = erase<&nx::logical_or>,
                  .differentiable = false}),
    function_row({.name = "logical_xor",
                  .doc = "1 where exactly one is not 0.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(1, 1, 0); },
                  .call = erase<&nx::logical_xor>,
                  .differentiable = false}),
    function_row({.name = "logical_not",
                  .doc = "1 where the element is 0.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(0, 2); },
                  .call = erase<&nx::logical_not>,
                  .differentiable = false}),
};

}  // namespace

constinit const Family kCompareFamily{"compare", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

using ops::elementwise;
using ops::TypeRule;

Tensor equal(const Operand& a, const Operand& b) { return ops::compare(ops::kEqual, a, b); }
Tensor not_equal(const Operand& a, const Operand& b) { return ops::compare(ops::kNotEqual, a, b); }
Tensor less(const Operand& a, const Operand& b) { return ops::compare(ops::kLess, a, b); }
Tensor less_equal(const Operand& a, const Operand& b) {
  return ops::compare(ops::kLessEqual, a, b);
}
Tensor greater(const Operand& a, const Operand& b) { return ops::compare(ops::kGreater, a, b); }
Tensor greater_equal(const Operand& a, const Operand& b) {
  return ops::compare(ops::kGreaterEqual, a, b);
}
Tensor logical_and(const Operand& a, const Operand& b) {
  return elementwise(ops::kLogicalAnd, TypeRule::kCompare, a, b);
}
Tensor logical_or(const Operand& a, const Operand& b) {
  return elementwise(ops::kLogicalOr, TypeRule::kCompare, a, b);
}
Tensor logical_xor(const Operand& a, const Operand& b) {
  return elementwise(ops::kLogicalXor, TypeRule::kCompare, a, b);
}
Tensor logical_not(const Operand& x) {
  return elementwise(ops::kLogicalNot, TypeRule::kCompare, {x});
}

}  // namespace nx
#endif
