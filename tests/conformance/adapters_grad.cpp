// Cases of gradients: their functions are described in words or in the small language of
// expression.h; the words are translated here.
#include <fmt/format.h>

#include <algorithm>

#include "conformance/expression.h"
#include "conformance/run.h"
#include "nx/creation.h"
#include "nx/grad.h"
#include "nx/tree.h"

namespace nx::conformance {
namespace {

using ops::Value;

struct Translation {
  std::string_view description, expression;
};
constexpr Translation kTranslations[] = {
    {"|x| at 0", "abs(x)"},
    {"sum(sqrt(x)) at 4", "sum(sqrt(x))"},
    {"x^2, integer x=3", "x^2"},
    {"x*x with u8 x", "x*x"},
    {"x*x bf16", "x*x"},
    {"x*x f64", "x*x"},
    {"constant 5", "[5]"},
    {"number constant 5", "5"},
    {"plain number argument: 3*x", "3*x"},
    {"non scalar output", "2*x"},
    {"integer-valued output sum(as_type(x, s32))", "sum(as_type(x, s32))"},
    {"max(x,y) with tie", "max(x,y)"},
    {"min(x,y) with tie", "min(x,y)"},
    {"sum(max(x,0)) incl. 0", "sum(max(x,0))"},
    {"x^0 at 0", "x^0"},
    {"x^0.5 at 0.25", "x^0.5"},
    {"sum(x, axis 0)^2 summed", "sum(sum(x, axis 0)^2)"},
    {"sum(w * reshape(x))", "sum(w * reshape(reshape(x, [6]), [2, 3]))"},
    {"sum(w * transpose(x))", "sum(reshape(w, [3, 2]) * transpose(x))"},
    {"sum(w * x[broadcast])", "sum(reshape(iota(12) + 0, [2, 2, 3]) * broadcast(x, [2, 2, 3]))"},
    {"sum(slice with stride 2 ^2)", "sum(slice(x, [0, 0], [2, 3], strides [1, 2])^2)"},
    {"sum(w * reverse(x))", "sum(w * reverse(x))"},
    {"reduce_max(x) all", "reduce_max(x)"},
    {"reduce_max([2,2,1]) tie", "reduce_max(x)"},
    {"reduce_min([1,2,1]) tie", "reduce_min(x)"},
    {"product with one zero", "product(x)"},
    {"product with two zeros", "product(x)"},
    {"window_max tie sum", "sum(window_max(x, {2}))"},
    {"sum(batched dot a[0,i,k] b[0,k,j] ^2)", "sum(dot(a, [2], [0], b, [1], [0])^2)"},
    {"determinant 3x3", "determinant(x)"},
    {"norm ord 1", "norm(x, ord 1)"},
    {"vectorized x: sum(x^2)", "sum(x^2)"},
    {"vectorized x: product", "product(x)"},
    {"vectorized scalar: sin(x)", "sin(x)"},
    {"second derivative of x^4", "grad(x^4)"},
    {"second derivative of sin(x)", "grad(sin(x))"},
    {"third derivative of x^5", "grad(grad(x^5))"},
    {"sum of grad(sum(exp(x)*x))", "sum(grad(sum(exp(x)*x)))"},
    {"second derivative of tanh", "grad(tanh(x))"},
    {"second derivative of sigmoid", "grad(sigmoid(x))"},
    {"x with vectorized constant: sum(x*c), c=[1,2] over v", "sum(x*vectorize([1,2], v))"},
    {"grad of sum(x^2), donated x", "sum(x^2)"},
    {"value_and_grad of sum(x^2), donated x", "sum(x^2)"},
    {"-mean(y log s(xw) + (1-y) log(1-s(xw)))",
     "-mean(z*log(sigmoid(dot(y,x))) + (1-z)*log(1-sigmoid(dot(y,x))))"},
    {"container tuple (a,b): sum(a*b+a)", "sum(a*b+a)"},
    {"acc=x; for i in 1..3 acc=acc*i (unrolled)", "x*1*2*3"},
    {"mean((tanh(x.w1+b1).w2+b2-y)^2) w.r.t. (w1,b1,w2,b2)",
     "mean((dot(tanh(dot(y,a)+b),c)+d-z)^2)"},
    {"map %{w, b: {p, q}}: sum(w^2)*p + sum(q)", "sum(c^2)*a + sum(b)"},
};

/// The part of a description that is a function.
std::string_view function_text(std::string_view description) {
  for (const std::string_view prefix : {"d/dx ", "d/dw ", "(d/dx, d/dy) ", "(d/da, d/db) "})
    if (description.starts_with(prefix)) {
      description.remove_prefix(prefix.size());
      break;
    }
  if (description.ends_with(" at scalar")) description.remove_suffix(10);
  for (const auto& row : kTranslations)
    if (row.description == description) return row.expression;
  return description;
}

/// Tensors in an argument, in order, and the same structure around other tensors.
void collect(const Value& value, std::vector<Tensor>& leaves) {
  if (const auto* list = value.as<Value::List>()) {
    for (const Value& v : *list) collect(v, leaves);
  } else if (const auto* map = value.as<Value::Map>()) {
    for (const auto& [key, v] : *map) collect(v, leaves);
  } else {
    leaves.push_back(tensor_from(value));
  }
}
Value rebuild(const Value& value, const std::vector<Tensor>& leaves, std::size_t& next) {
  if (const auto* list = value.as<Value::List>()) {
    Value::List built;
    for (const Value& v : *list) built.push_back(rebuild(v, leaves, next));
    return built;
  }
  if (const auto* map = value.as<Value::Map>()) {
    Value::Map built;
    for (const auto& [key, v] : *map) built[key] = rebuild(v, leaves, next);
    return built;
  }
  return leaves[next++];
}

Tensor constant_w(const Tensor& x) {
  const bool is_square = x.shape() == Dims{2, 2};
  return is_square ? tensor({{1.0, 2.0}, {3.0, 4.0}}) : tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}});
}

/// {value, gradients of the leaves} of the described function at the case's arguments. With
/// `count` arguments differentiated; further ones are constants.
std::pair<Tensor, std::vector<Tensor>> differentiate(const Expression& function,
                                                     const std::vector<Tensor>& leaves,
                                                     const std::vector<Tensor>& constants) {
  // The first argument's tensors are x or a, b, c, d; a second one is y or b; a third z.
  const auto call = [&](std::vector<Tensor> at) {
    Expression::Names names;
    const char* const letters[] = {"a", "b", "c", "d"};
    for (std::size_t i = 0; i < at.size() && i < 4; ++i) names[letters[i]] = at[i];
    names["x"] = at[0];
    if (at.size() > 1) names["y"] = at[1];
    if (!constants.empty()) names["y"] = constants[0];
    if (constants.size() > 1) names["z"] = constants[1];
    names["w"] = constant_w(at[0]);
    names["m2"] = tensor({{-3.25, 0.5}, {1.5, 1.5}, {3.5, 2.25}});
    names["v"] = Value("v");
    const Value result = function.evaluate(names);
    if (const auto* list = result.as<Value::List>(); list != nullptr && list->size() == 1)
      return tensor_from((*list)[0]);
    return tensor_from(result);
  };
  return nx::value_and_grad(call)(leaves);
}

enum class Want { gradient, both };

Value run_gradient(const Case& c, const Setup& setup, Want want, bool all_arguments) {
  const auto function = Expression::parse(function_text(c.desc));
  std::vector<Value> args;
  for (const Json& arg : c.args) args.push_back(value_of(arg));
  for (Value& arg : args)  // a plain number is differentiated as an f32
    if (const auto* n = arg.as<Number>()) arg = tensor(*n, {.type = DType::f32});
  const Call call = [&](std::span<const Value> given, const ops::Options&) -> Value {
    std::vector<Tensor> leaves, constants;
    collect(given[0], leaves);
    for (std::size_t i = 1; i < given.size(); ++i) collect(given[i], all_arguments ? leaves : constants);
    const auto [value, gradients] = differentiate(function, leaves, constants);
    std::size_t next = 0;
    Value gradient = all_arguments ? rebuild(Value(Value::List(given.begin(), given.end())),
                                             gradients, next)
                                   : rebuild(given[0], gradients, next);
    if (want == Want::gradient) return gradient;
    return Value::List{value, std::move(gradient)};
  };
  return run_call(setup, c.fn, call, args, {});
}

Value run_grad(const Case& c, const Setup& setup) {
  return run_gradient(c, setup, Want::gradient, false);
}
Value run_grad2(const Case& c, const Setup& setup) {
  return run_gradient(c, setup, Want::gradient, true);
}
Value run_value_and_grad(const Case& c, const Setup& setup) {
  if (c.desc.starts_with("aux: value is {sum(x^2), sin x}")) {
    const Call call = [](std::span<const Value> given, const ops::Options&) -> Value {
      const auto function = [](Tensor x) {
        const Expression::Names names{{"x", Value(x)}};
        return std::pair(tensor_from(Expression::parse("sum(x^2)").evaluate(names)),
                         tensor_from(Expression::parse("sin(x)").evaluate(names)));
      };
      const auto [value, gradient] = nx::value_and_grad_with_aux(function)(tensor_from(given[0]));
      return Value::List{Value(Value::List{value.first, value.second}), gradient};
    };
    const Value args[] = {value_of(c.args.at(0))};
    return run_call(setup, c.fn, call, args, {});
  }
  return run_gradient(c, setup, Want::both, false);
}

/// What the gradient of a function row is taken of, and of which argument.
struct Differentiated {
  std::size_t argument = 0;
  std::string_view of_result;  // y: what the function gives
};
Differentiated differentiated(std::string_view description) {
  if (description == "d/dx sum([1,2,3,4,5,6] * f(x))") return {0, "sum([1,2,3,4,5,6] * y)"};
  if (description == "d/d(y_pred) of the loss with reduction mean") return {1, "mean(y)"};
  if (description.find("sum(f(") != std::string::npos) return {0, "sum(y)"};
  throw Skip(fmt::format("a description that is not understood: {}", description));
}

/// The gradient of a function row: `grad:Axon.Activations.relu`.
Value run_grad_of_row(const Case& c, const Setup& setup) {
  const auto* const row = find_function(std::string_view(c.fn).substr(5));
  if (row == nullptr) throw Skip("not there yet");
  const auto [argument, of_result] = differentiated(c.desc);
  std::vector<Value> args;
  for (const Json& arg : c.args) args.push_back(value_of(arg));
  const Call call = [&, argument = argument, text = of_result](
                        std::span<const Value> given, const ops::Options& options) -> Value {
    const auto function = [&](Tensor x) {
      std::vector<Value> own(given.begin(), given.end());
      own[argument] = x;
      const Value y = (*row->call)(own, options);
      return tensor_from(Expression::parse(text).evaluate({{"y", y}}));
    };
    return nx::grad(function)(tensor_from(given[argument]));
  };
  return run_call(setup, c.fn, call, args, options_of(c.opts));
}

constexpr AdapterRow kRows[] = {
    {"grad", run_grad},
    {"grad2", run_grad2},
    {"value_and_grad", run_value_and_grad},
    {"grad:", run_grad_of_row},
};

}  // namespace

const std::span<const AdapterRow> kGradAdapters = kRows;

}  // namespace nx::conformance
