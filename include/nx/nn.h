// layer: nn
// Models as graphs of layers. A model is an immutable value: each layer function takes models and
// gives a new one.
//
//   using namespace nx;
//   auto model = nn::input("image", {-1, 784});
//   model = nn::dense(model, 90, {.activation = "relu"});
//   model = nn::dense(model, 10);
//   const nn::ModelState state = model.init(42);
//   Tensor logits = model.predict(state, images);
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nx/initializers.h"
#include "nx/tree.h"

namespace nx::nn {

/// What a model computes with: trained parameters, layer name to parameter name to tensor, and
/// other state that training changes (keys of dropout).
struct ModelState {
  Tree parameters, state;
};
NX_CONTAINER(ModelState, parameters, state)

enum class Mode : std::uint8_t { kInference, kTrain };

namespace detail_nn {
struct Layer;
using LayerPtr = std::shared_ptr<const Layer>;
}  // namespace detail_nn

class NX_API Model {
 public:
  explicit Model(detail_nn::LayerPtr layer) : layer_(std::move(layer)) {}

  /// Parameters drawn by the layers' initialisers from the seed, each in a buffer of its own.
  ModelState init(std::uint64_t seed, DType type = DType::f32) const;
  /// The output for inputs of these shapes. Throws ShapeError, naming the layer, when an input
  /// does not fit.
  Tensor predict(const ModelState& state, const Tensor& input) const;
  Tensor predict(const ModelState& state, const std::map<std::string, Tensor>& inputs) const;
  /// The output and the state after it; in training dropout is active.
  std::pair<Tensor, Tree> forward(const ModelState& state,
                                  const std::map<std::string, Tensor>& inputs, Mode mode) const;
  std::pair<Tensor, Tree> forward(const ModelState& state, const Tensor& input, Mode mode) const;
  /// Sizes of the output; -1 where an input's size is free.
  Shape output_shape() const;
  /// The name of the activation that makes the output; empty for none.
  std::string last_activation() const;
  /// Names of the inputs in the order they were made.
  std::vector<std::string> inputs() const;
  std::int64_t parameter_count() const;
  /// A table of layers: name, kind, output shape, parameters.
  std::string as_table() const;
  const detail_nn::LayerPtr& layer() const noexcept { return layer_; }

 private:
  detail_nn::LayerPtr layer_;
};

/// An input of the model; -1 is a free size.
NX_API Model input(const std::string& name, const Shape& shape);

struct DenseOptions {
  std::string activation = {};  ///< a name that nn::activate knows; none: linear
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros_initializer();
  std::string name = {};        ///< none: dense_0, dense_1, …
};
/// x . kernel + bias over the last axis: […, n] to […, units].
NX_API Model dense(const Model& x, std::int64_t units, const DenseOptions& options = {});

struct LayerOptions {
  std::string name = {};
};
/// An activation as a layer.
NX_API Model activation(const Model& x, const std::string& activation,
                        const LayerOptions& options = {});

struct DropoutOptions {
  double rate = 0.5;
  /// Of the layer's key; without one the key comes of the model's seed and the layer's name.
  std::optional<std::int64_t> seed = {};
  std::string name = {};
};
/// In training each element is 0 with probability `rate`, the others are scaled by 1 / (1 - rate);
/// in inference nothing changes. Throws ArgumentError unless 0 <= rate < 1.
NX_API Model dropout(const Model& x, const DropoutOptions& options = {});

/// [batch, …] to [batch, product of the rest].
NX_API Model flatten(const Model& x, const LayerOptions& options = {});

}  // namespace nx::nn
