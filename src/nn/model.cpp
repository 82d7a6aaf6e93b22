// Walking a model: names, shapes, initial state, forward pass, table.
#include <algorithm>
#include <map>

#include "nn/layer.h"
#include "nn/name_hash.h"
#include "nx/ops.h"

namespace nx::nn {
namespace detail_nn {
namespace {

void collect(const LayerPtr& layer, std::vector<NamedLayer>& out) {
  for (const NamedLayer& known : out)
    if (known.layer == layer) return;
  for (const LayerPtr& in : layer->inputs) collect(in, out);
  out.push_back({layer, layer->name});
}

}  // namespace

std::vector<NamedLayer> named_layers(const LayerPtr& output) {
  std::vector<NamedLayer> layers;
  collect(output, layers);
  std::map<std::string, int> count;
  std::map<std::string, int> uses;
  for (NamedLayer& l : layers) {
    if (l.name.empty()) {
      // Activations are counted by what they compute, as relu_0.
      const std::string kind =
          l.layer->row->kind == std::string("activation") ? l.layer->options.text : l.layer->row->kind;
      l.name = kind + "_" + std::to_string(count[kind]++);
    }
    if (++uses[l.name] > 1)
      throw ArgumentError("model", "two layers are called `" + l.name + "`; name one of them");
  }
  return layers;
}

}  // namespace detail_nn

namespace {

using detail_nn::Forward;
using detail_nn::Layer;
using detail_nn::NamedLayer;
using detail_nn::named_layers;

/// Values of all layers by walking them in order; `at` computes one from those of its inputs.
template <class T, class F>
std::map<const Layer*, T> walk(const std::vector<NamedLayer>& layers, F&& at) {
  std::map<const Layer*, T> values;
  for (const NamedLayer& l : layers) {
    std::vector<T> in;
    for (const auto& input : l.layer->inputs) in.push_back(values.at(input.get()));
    values.emplace(l.layer.get(), at(l, in));
  }
  return values;
}

std::map<const Layer*, Shape> shapes_of(const std::vector<NamedLayer>& layers) {
  return walk<Shape>(layers, [](const NamedLayer& l, const std::vector<Shape>& in) {
    return l.layer->row->output_shape(*l.layer, in);
  });
}

std::vector<detail_nn::ParameterSpec> specs_of(const NamedLayer& l,
                                               const std::map<const Layer*, Shape>& shapes) {
  std::vector<Shape> in;
  for (const auto& input : l.layer->inputs) in.push_back(shapes.at(input.get()));
  return l.layer->row->parameters(*l.layer, in);
}

bool is_input(const NamedLayer& l) { return l.layer->row->forward == nullptr; }

void check_input(const std::string& name, const Shape& want, const Tensor& x) {
  const Shape have = x.shape();
  bool fits = have.size() == want.size();
  for (std::size_t i = 0; fits && i < want.size(); ++i) fits = want[i] < 0 || want[i] == have[i];
  if (!fits)
    throw ShapeError("predict", "input `" + name + "` does not fit; expected " + to_string(want) +
                                    " (-1: any size), got " + to_string(have));
}

}  // namespace

ModelState Model::init(std::uint64_t seed, DType type) const {
  const auto layers = named_layers(layer_);
  const auto shapes = shapes_of(layers);
  ModelState made;
  // Every parameter draws from a key made of the seed and its own name, so that a layer more or
  // less changes no other layer's values.
  const Tensor root = random::key(static_cast<std::int64_t>(seed));
  const auto key_of = [&](const std::string& name) {
    return random::fold_in(root, tensor(std::int64_t{detail_nn::name_hash(name)}, {.type = u32}));
  };
  for (const NamedLayer& l : layers) {
    for (const auto& spec : specs_of(l, shapes))
      made.parameters[l.name][spec.name] =
          spec.initializer(spec.shape, type, key_of(l.name + "." + spec.name));
    if (l.layer->row->init_state)
      made.state[l.name] = l.layer->row->init_state(*l.layer, key_of(l.name));
  }
  return made;
}

std::pair<Tensor, Tree> Model::forward(const ModelState& state,
                                       const std::map<std::string, Tensor>& inputs,
                                       Mode mode) const {
  Tree next = state.state;
  const auto values = walk<Tensor>(
      named_layers(layer_), [&](const NamedLayer& l, const std::vector<Tensor>& in) {
        if (is_input(l)) {
          const auto given = inputs.find(l.name);
          if (given == inputs.end())
            throw ArgumentError("predict", "input `" + l.name + "` is missing");
          check_input(l.name, l.layer->options.shape, given->second);
          return given->second;
        }
        Forward context;
        context.mode = mode;
        if (state.parameters.contains(l.name)) context.parameters = &state.parameters.at(l.name);
        if (next.contains(l.name)) context.state = &next[l.name];
        return l.layer->row->forward(*l.layer, in, context);
      });
  return {values.at(layer_.get()), std::move(next)};
}

std::pair<Tensor, Tree> Model::forward(const ModelState& state, const Tensor& input,
                                       Mode mode) const {
  const std::vector<std::string> names = inputs();
  if (names.size() != 1)
    throw ArgumentError("predict", "the model has " + std::to_string(names.size()) +
                                       " inputs; give them by name");
  return forward(state, {{names[0], input}}, mode);
}

Tensor Model::predict(const ModelState& state, const Tensor& input) const {
  return forward(state, input, Mode::kInference).first;
}

Tensor Model::predict(const ModelState& state, const std::map<std::string, Tensor>& inputs) const {
  return forward(state, inputs, Mode::kInference).first;
}

Shape Model::output_shape() const { return shapes_of(named_layers(layer_)).at(layer_.get()); }

std::string Model::last_activation() const { return layer_->options.text; }

std::vector<std::string> Model::inputs() const {
  std::vector<std::string> names;
  for (const NamedLayer& l : named_layers(layer_))
    if (is_input(l)) names.push_back(l.name);
  return names;
}

std::int64_t Model::parameter_count() const {
  const auto layers = named_layers(layer_);
  const auto shapes = shapes_of(layers);
  std::int64_t count = 0;
  for (const NamedLayer& l : layers)
    for (const auto& spec : specs_of(l, shapes)) count += element_count(spec.shape);
  return count;
}

std::string Model::as_table() const {
  const auto layers = named_layers(layer_);
  const auto shapes = shapes_of(layers);
  std::vector<std::array<std::string, 4>> rows{{"layer", "kind", "output", "parameters"}};
  for (const NamedLayer& l : layers) {
    std::int64_t count = 0;
    for (const auto& spec : specs_of(l, shapes)) count += element_count(spec.shape);
    rows.push_back({l.name, l.layer->row->kind, to_string(shapes.at(l.layer.get())),
                    std::to_string(count)});
  }
  rows.push_back({"total", "", "", std::to_string(parameter_count())});
  std::array<std::size_t, 4> width{};
  for (const auto& row : rows)
    for (std::size_t i = 0; i < 4; ++i) width[i] = std::max(width[i], row[i].size());
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < 4; ++i)
      text += row[i] + (i == 3 ? "\n" : std::string(width[i] - row[i].size() + 2, ' '));
  }
  return text;
}

}  // namespace nx::nn
