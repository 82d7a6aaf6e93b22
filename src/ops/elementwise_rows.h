// Class builders of elementwise rows: what follows from an operation being elementwise is filled in
// here, a family file gives the kernel, the gradient and the lowering.
#pragma once

#include "graph/op_row.h"
#include "graph/trace.h"
#include "kernels/elementwise.h"

namespace nx::ops {

/// What a family file says of one operation.
struct ElementwiseDef {
  graph::Required<const char*> name;
  graph::Required<graph::GradFn> gradient;
  graph::Required<graph::LowerFn> lower;
  graph::SimplifyFn simplify = nullptr;
  const char* no_gradient = nullptr;  // the reason, beside a null `gradient`
  float cost_ns = 0.1f;  // for one f32
  bool commutative = false;
  kernels::ChainForm (*chain)(DType type) = nullptr;
};

/// All operands have one type and the result's dims; predicates give u8.
graph::TensorTypes infer_same(std::string_view name, std::span<const graph::TensorType> in,
                              int arity, bool predicate, kernels::SelectKernel select);

namespace detail_rows {

template <const graph::OpRow& kRow, kernels::SelectKernel kSelect, int kArity, bool kPredicate>
graph::TensorTypes infer(std::span<const graph::TensorType> in, const graph::Attrs&) {
  return infer_same(kRow.name, in, kArity, kPredicate, kSelect);
}
template <const graph::OpRow& kRow>
graph::Tensors vectorize(const graph::VectorizeCall& call) {
  return {graph::emit(kRow, call.in, call.attrs, {})};
}
template <kernels::SelectKernel kSelect, int kArity, bool kPredicate>
kernels::TileKernel kernel(std::span<const DType> in, DType) {
  return kernels::any_kernel<kSelect, kArity, kPredicate>(in[0]);
}

}  // namespace detail_rows

template <const graph::OpRow& kRow, kernels::SelectKernel kSelect, int kArity, bool kPredicate>
constexpr graph::OpRow elementwise_row(const ElementwiseDef& def) {
  return graph::OpRow{
      .name = *def.name,
      .infer = &detail_rows::infer<kRow, kSelect, kArity, kPredicate>,
      .gradient = graph::Gradient(*def.gradient, def.no_gradient),
      .vectorize = &detail_rows::vectorize<kRow>,
      .lower = *def.lower,
      .host = graph::HostRule(graph::ElementwiseRule{
          &detail_rows::kernel<kSelect, kArity, kPredicate>, def.cost_ns, def.chain}),
      .simplify = def.simplify,
      .commutative = def.commutative,
  };
}

/// Operand(s) and result of one type.
template <const graph::OpRow& kRow, kernels::SelectKernel kSelect>
constexpr graph::OpRow unary_row(const ElementwiseDef& def) {
  return elementwise_row<kRow, kSelect, 1, false>(def);
}
template <const graph::OpRow& kRow, kernels::SelectKernel kSelect>
constexpr graph::OpRow binary_row(const ElementwiseDef& def) {
  return elementwise_row<kRow, kSelect, 2, false>(def);
}
/// A result of 0 and 1 in u8.
template <const graph::OpRow& kRow, kernels::SelectKernel kSelect>
constexpr graph::OpRow unary_predicate_row(const ElementwiseDef& def) {
  return elementwise_row<kRow, kSelect, 1, true>(def);
}
template <const graph::OpRow& kRow, kernels::SelectKernel kSelect>
constexpr graph::OpRow predicate_row(const ElementwiseDef& def) {
  return elementwise_row<kRow, kSelect, 2, true>(def);
}

// -- lowering ---------------------------------------------------------------------------------

/// Writes one StableHLO operation of the result's type on all operands.
std::vector<stablehlo::Value> lower_as(const graph::LowerCall& call, std::string_view name,
                                       std::string_view attributes = {});
/// Writes a comparison and gives its result as u8.
std::vector<stablehlo::Value> lower_compare(const graph::LowerCall& call,
                                            std::string_view direction);

/// Arithmetic on StableHLO values of one type, for lowerings that are formulas. Floats below f32
/// are computed in f32: `finish` rounds once.
class Formula {
 public:
  using Value = stablehlo::Value;
  explicit Formula(const graph::LowerCall& call);
  const Value& x() const { return in_[0]; }
  const Value& y() const { return in_[1]; }
  bool is_wide() const { return type_.type == DType::f64; }

  Value number(const Number& value) const;
  Value op(std::string_view name, std::initializer_list<Value> operands) const;
  Value add(const Value& a, const Value& b) const { return op("add", {a, b}); }
  Value sub(const Value& a, const Value& b) const { return op("subtract", {a, b}); }
  Value mul(const Value& a, const Value& b) const { return op("multiply", {a, b}); }
  Value div(const Value& a, const Value& b) const { return op("divide", {a, b}); }
  Value neg(const Value& a) const { return op("negate", {a}); }
  Value abs(const Value& a) const { return op("abs", {a}); }
  Value test(std::string_view direction, const Value& a, const Value& b) const;
  Value select(const Value& predicate, const Value& a, const Value& b) const;
  /// c[0] + x (c[1] + x (c[2] + …)).
  Value polynomial(const Value& x, std::span<const double> coefficients) const;
  std::vector<Value> finish(const Value& result) const;

 private:
  const graph::LowerCall& call_;
  stablehlo::Type type_;
  std::vector<Value> in_;
};

}  // namespace nx::ops
