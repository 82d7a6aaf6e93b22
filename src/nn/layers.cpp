// The table of layers: each kind with its shape rule, parameters and computation.
#include <numeric>

#include "nn/layer.h"
#include "nx/activations.h"
#include "nx/layers.h"
#include "nx/ops.h"

namespace nx::nn {
namespace {

using detail_nn::Forward;
using detail_nn::Layer;
using detail_nn::LayerRow;
using detail_nn::Options;
using detail_nn::ParameterSpec;

using Shapes = std::vector<Shape>;
using Specs = std::vector<ParameterSpec>;
using Inputs = std::vector<Tensor>;

Shape same_shape(const Layer&, const Shapes& in) { return in[0]; }
Specs no_parameters(const Layer&, const Shapes&) { return {}; }

Model make(const LayerRow& row, const Model& x, const std::string& name, Options options) {
  Layer layer{&row, name, {x.layer()}, std::move(options)};
  Model model(std::make_shared<const Layer>(std::move(layer)));
  (void)model.output_shape();  // throws now when the layers do not fit
  return model;
}

// -- input ------------------------------------------------------------------------------------

const LayerRow kInput{"input", [](const Layer& l, const Shapes&) { return l.options.shape; },
                      no_parameters, nullptr, nullptr};

// -- dense ------------------------------------------------------------------------------------

std::int64_t features(const Layer& layer, const Shape& in) {
  if (in.empty() || in.back() < 0)
    throw ShapeError(layer.name.empty() ? layer.row->kind : layer.name,
                     "needs an input whose last axis has a known size, got " + to_string(in));
  return in.back();
}

Specs dense_parameters(const Layer& layer, const Shapes& in) {
  const Options& o = layer.options;
  Specs specs{{"kernel", {features(layer, in[0]), o.units}, o.kernel_initializer}};
  if (o.use_bias) specs.push_back({"bias", {o.units}, o.bias_initializer});
  return specs;
}

Tensor dense_forward(const Layer& layer, const Inputs& in, Forward& context) {
  const auto bias =
      layer.options.use_bias ? std::optional(context.parameters->at("bias").tensor) : std::nullopt;
  const Tensor y = layers::dense(in[0], context.parameters->at("kernel"), bias);
  return layer.options.text.empty() ? y : activate(layer.options.text, y);
}

const LayerRow kDense{"dense",
                      [](const Layer& l, const Shapes& in) {
                        (void)features(l, in[0]);
                        Shape out = in[0];
                        out.back() = l.options.units;
                        return out;
                      },
                      dense_parameters, nullptr, dense_forward};

// -- activation -------------------------------------------------------------------------------

const LayerRow kActivation{
    "activation", same_shape, no_parameters, nullptr,
    [](const Layer& l, const Inputs& in, Forward&) { return activate(l.options.text, in[0]); }};

// -- dropout ----------------------------------------------------------------------------------

Tree dropout_state(const Layer& layer, const Tensor& key) {
  Tree state;
  state["key"] = layer.options.seed ? random::key(*layer.options.seed) : key;
  return state;
}

Tensor dropout_forward(const Layer& layer, const Inputs& in, Forward& context) {
  const double rate = layer.options.rate;
  if (context.mode == Mode::kInference || rate == 0) return in[0];
  const auto [output, next] = layers::dropout(in[0], context.state->at("key"), {.rate = rate});
  (*context.state)["key"] = next;
  return output;
}

const LayerRow kDropout{"dropout", same_shape, no_parameters, dropout_state, dropout_forward};

// -- flatten ----------------------------------------------------------------------------------

Shape flat_shape(const Layer& layer, const Shapes& in) {
  if (in[0].empty()) throw ShapeError(layer.row->kind, "expected [batch, …], got a scalar");
  std::int64_t rest = 1;
  for (std::size_t i = 1; i < in[0].size(); ++i)
    rest = rest < 0 || in[0][i] < 0 ? -1 : rest * in[0][i];
  return {in[0][0], rest};
}

const LayerRow kFlatten{
    "flatten", flat_shape, no_parameters, nullptr,
    [](const Layer&, const Inputs& in, Forward&) { return layers::flatten(in[0]); }};

}  // namespace

Model input(const std::string& name, const Shape& shape) {
  if (name.empty()) throw ArgumentError("input", "an input needs a name");
  Options options;
  options.shape = shape;
  return Model(std::make_shared<const Layer>(Layer{&kInput, name, {}, std::move(options)}));
}

Model dense(const Model& x, std::int64_t units, const DenseOptions& o) {
  if (units < 1)
    throw ArgumentError("dense", "expected at least 1 unit, got " + std::to_string(units));
  Options options;
  options.text = o.activation;
  options.units = units;
  options.use_bias = o.use_bias;
  options.kernel_initializer = o.kernel_initializer;
  options.bias_initializer = o.bias_initializer;
  return make(kDense, x, o.name, std::move(options));
}

Model activation(const Model& x, const std::string& name, const LayerOptions& o) {
  Options options;
  options.text = name;
  return make(kActivation, x, o.name, std::move(options));
}

Model dropout(const Model& x, const DropoutOptions& o) {
  if (!(o.rate >= 0 && o.rate < 1))
    throw ArgumentError("dropout", "expected a rate in [0, 1), got " + std::to_string(o.rate));
  Options options;
  options.rate = o.rate;
  options.seed = o.seed;
  return make(kDropout, x, o.name, std::move(options));
}

Model flatten(const Model& x, const LayerOptions& o) { return make(kFlatten, x, o.name, {}); }

}  // namespace nx::nn
