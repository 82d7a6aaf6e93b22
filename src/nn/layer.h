// A layer of a model, and the row of a kind of layer: all that any part needs to know of it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "nx/nn.h"

namespace nx::nn::detail_nn {

struct ParameterSpec {
  std::string name;
  Shape shape;
  Initializer initializer;
};

/// What a layer sees while the model runs.
struct Forward {
  const Tree* parameters = nullptr;  // of this layer; null when it has none
  Tree* state = nullptr;             // of this layer; null when it keeps none
  Mode mode = Mode::kInference;
};

struct Options {
  std::string text;              // activation
  std::int64_t units = 0;
  double rate = 0;
  std::optional<std::int64_t> seed;  // of dropout
  bool use_bias = true;
  Initializer kernel_initializer, bias_initializer;
  Shape shape;                   // of an input
};

/// A kind of layer. `kind` also begins the automatic names.
struct LayerRow {
  const char* kind;
  Shape (*output_shape)(const Layer& layer, const std::vector<Shape>& in);
  std::vector<ParameterSpec> (*parameters)(const Layer& layer, const std::vector<Shape>& in);
  Tree (*init_state)(const Layer& layer, const Tensor& key);
  Tensor (*forward)(const Layer& layer, const std::vector<Tensor>& in, Forward& context);
};

struct Layer {
  const LayerRow* row = nullptr;
  std::string name;  // empty: automatic
  std::vector<LayerPtr> inputs;
  Options options;
};

/// The layers that `output` depends on, inputs first, each once, with their final names.
struct NamedLayer {
  LayerPtr layer;
  std::string name;
};
std::vector<NamedLayer> named_layers(const LayerPtr& output);

}  // namespace nx::nn::detail_nn
