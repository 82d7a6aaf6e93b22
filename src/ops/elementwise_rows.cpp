// Shape rule and lowering of elementwise rows.
#include "ops/elementwise_rows.h"

#include <fmt/format.h>

namespace nx::ops {

graph::TensorTypes infer_same(std::string_view name, std::span<const graph::TensorType> in,
                              int arity, bool predicate, kernels::SelectKernel select) {
  if (in.size() != static_cast<std::size_t>(arity))
    throw InternalError(name, fmt::format("expected {} operands, got {}", arity, in.size()));
  const DType type = in[0].type;
  for (const graph::TensorType& t : in)
    if (!(t == in[0]))
      throw InternalError(name, fmt::format("operands differ; expected {}, got {}",
                                            graph::to_string(in[0]), graph::to_string(t)));
  const bool any = select(DType::u8) != nullptr || select(DType::f32) != nullptr;
  const bool integer = is_integer(type) && select(DType::u8) != nullptr;
  const bool real = is_float(type) && select(DType::f32) != nullptr;
  if (any && !integer && !real)
    throw DTypeError(name, fmt::format("does not take {}", name_of(type)));
  return {{predicate ? DType::u8 : type, in[0].dims}};
}

std::vector<stablehlo::Value> lower_as(const graph::LowerCall& call, std::string_view name,
                                       std::string_view attributes) {
  return {call.writer.op(name, call.in, {call.out_types[0].type, call.out_types[0].dims},
                         attributes)};
}

std::vector<stablehlo::Value> lower_compare(const graph::LowerCall& call,
                                            std::string_view direction) {
  return {call.writer.from_predicate(call.writer.compare(direction, call.in[0], call.in[1]),
                                     DType::u8)};
}

Formula::Formula(const graph::LowerCall& call) : call_(call) {
  const DType type = call.in_types[0].type;
  type_ = {kernels::is_narrow_float(type) ? DType::f32 : type, call.in_types[0].dims};
  for (const Value& value : call.in) in_.push_back(call.writer.convert(value, type_.type));
}

Formula::Value Formula::number(const Number& value) const {
  return call_.writer.constant(value, type_.type, type_.dims);
}

Formula::Value Formula::op(std::string_view name, std::initializer_list<Value> operands) const {
  return call_.writer.op(name, operands, type_);
}

Formula::Value Formula::test(std::string_view direction, const Value& a, const Value& b) const {
  return call_.writer.compare(direction, a, b);
}

Formula::Value Formula::select(const Value& predicate, const Value& a, const Value& b) const {
  return call_.writer.select(predicate, a, b);
}

Formula::Value Formula::polynomial(const Value& x, std::span<const double> coefficients) const {
  Value sum = number(coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;)
    sum = add(mul(sum, x), number(coefficients[i]));
  return sum;
}

std::vector<Formula::Value> Formula::finish(const Value& result) const {
  return {call_.writer.convert(result, call_.out_types[0].type)};
}

}  // namespace nx::ops
