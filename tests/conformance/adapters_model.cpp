// Cases of whole models: initial parameters, predictions, shapes. A case names its model; those
// whose layers are there are built here.
#include "conformance/expression.h"
#include "conformance/run.h"
#include "conformance/trees.h"
#include "nx/creation.h"
#include "nx/nn.h"

namespace nx::conformance {
namespace {

using ops::Value;

Shape free_batch(Shape shape) {
  shape[0] = -1;
  return shape;
}

/// The model of that name over inputs of that shape.
nn::Model model_named(std::string_view name, const Shape& shape) {
  const nn::Model x = nn::input("x", free_batch(shape));
  if (name == "mlp")
    return nn::dense(nn::dense(x, 4, {.activation = "relu"}), 2, {.activation = "softmax"});
  if (name == "dense_tanh") return nn::dense(x, 4, {.activation = "tanh", .use_bias = false});
  if (name == "dropout_eval") return nn::dense(nn::dropout(x, {.rate = 0.5, .seed = 5}), 2);
  if (name == "dense") return nn::dense(x, 4);
  if (name == "flat") return nn::flatten(x);
  throw Skip("a model with layers that are not there");
}

std::string_view name_of_model(const Case& c) {
  return std::string_view(c.fn).substr(c.fn.find(':') + 1);
}

std::uint64_t seed_of(const Case& c) { return c.opts.at("seed").get<std::uint64_t>(); }

/// {params, output} of a fresh model.
Value run_model(const Case& c, const Setup& setup) {
  const std::vector<Value> args{value_of(c.args.at(0))};
  const nn::Model model = model_named(name_of_model(c), tensor_from(args[0]).shape());
  const nn::ModelState state = model.init(seed_of(c));
  const Call predict = [&](std::span<const Value> given, const ops::Options&) -> Value {
    return model.predict(state, tensor_from(given[0]));
  };
  return Value::Map{{"params", value_of_tree(state.parameters)},
                    {"output", run_call(setup, c.fn, predict, args, {})}};
}

/// {params with the keys of dropout, prediction, state} of one call in training.
Value run_train_mode(const Case& c, const Setup& setup) {
  const std::vector<Value> args{value_of(c.args.at(0))};
  const nn::Model model = model_named(name_of_model(c), tensor_from(args[0]).shape());
  const nn::ModelState state = model.init(seed_of(c));
  const Call forward = [&](std::span<const Value> given, const ops::Options&) -> Value {
    const auto [prediction, next] = model.forward(state, tensor_from(given[0]), nn::Mode::kTrain);
    return Value::Map{{"prediction", prediction}, {"state", value_of_tree(next)}};
  };
  Value result = run_call(setup, c.fn, forward, args, {});
  auto& map = *std::get_if<Value::Map>(&result.data);
  map["params"] = value_of_tree(merged(state.parameters, state.state));
  return result;
}

/// {param_shapes, output_shape} for inputs of a shape.
Value run_shapes(const Case& c, const Setup&) {
  const auto shape = ops::Value(value_of(c.args.at(0)));
  Shape dims;
  for (const Value& size : *shape.as<Value::List>()) dims.push_back(size.as<Number>()->integer());
  const nn::Model model = model_named(name_of_model(c), dims);
  const Tree params =
      map_leaves(model.init(seed_of(c)).parameters, [](const Tensor& t) { return to_template(t); });
  Shape out = model.output_shape();
  out[0] = dims[0];
  // Templates have no value, so that a tree of them has no leaves.
  const std::function<Value(const Tree&)> convert = [&](const Tree& tree) -> Value {
    if (tree.children.empty()) return tree.tensor;
    Value::Map map;
    for (const auto& [name, child] : tree.children) map[name] = convert(child);
    return map;
  };
  return Value::Map{
      {"param_shapes", params.children.empty() ? Value(Value::Map{}) : convert(params)},
      {"output_shape", make_template(out, DType::f32)}};
}

constexpr AdapterRow kRows[] = {
    {"model:", run_model},
    {"model_train_mode:", run_train_mode},
    {"model_shapes:", run_shapes},
};

}  // namespace

const std::span<const AdapterRow> kModelAdapters = kRows;

}  // namespace nx::conformance
