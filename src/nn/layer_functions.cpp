// Functions of layers: documentation, examples (by hand; draws recorded from the reference), calls
// by name.
#include "nn/families.h"
#include "nx/layers.h"
#include "ops/row_values.h"

namespace nx::nn {
namespace {

using ops::Accepts;
using ops::Accuracy;
using ops::Examples;
using ops::f;
using ops::FunctionRow;
using ops::NamesRule;
using ops::Options;
using ops::RowMaker;
using ops::t;
using ops::Value;

constexpr RowMaker layer{.module = "Axon.Layers",
                         .accepts = Accepts::kReal,
                         .names = NamesRule::kSpecial,
                         .accuracy = Accuracy{8}};
/// Not swept: the next key has no vectorised axes.
constexpr RowMaker drawing_layer{.module = "Axon.Layers",
                                 .accepts = Accepts::kSpecial,
                                 .names = NamesRule::kSpecial,
                                 .accuracy = Accuracy{8}};

/// Whether the layer is used in training, and the options without that.
std::pair<bool, Options> split_mode(const Options& options) {
  std::pair<bool, Options> split{false, {}};
  for (const auto& [name, value] : options) {
    if (name != "mode") {
      split.second.emplace_back(name, value);
      continue;
    }
    const auto mode = ops::FromValue<std::string>::get(value);
    if (mode != "train" && mode != "inference")
      throw ArgumentError("call", "unknown mode; expected train or inference, got " + mode);
    split.first = mode == "train";
  }
  return split;
}

Value call_dense(std::span<const Value> args, const Options& options) {
  ops::expect_arguments(args, 2, 3);
  if (!options.empty()) throw ArgumentError("call", "unknown option");
  const auto tensor_at = [&](std::size_t i) { return ops::FromValue<Tensor>::get(args[i]); };
  return layers::dense(tensor_at(0), tensor_at(1),
                       args.size() == 3 ? std::optional(tensor_at(2)) : std::nullopt);
}

/// In training {output, state}, else the input as it is.
Value call_dropout(std::span<const Value> args, const Options& options) {
  ops::expect_arguments(args, 2, 2);
  const auto x = ops::FromValue<Tensor>::get(args[0]), key = ops::FromValue<Tensor>::get(args[1]);
  const auto [trains, own] = split_mode(options);
  const auto [output, next] =
      layers::dropout(x, key, ops::options_from<layers::DropoutOptions>(own));
  if (!trains) return as_type(x, x.type());
  return Value::Map{{"output", output}, {"state", Value::Map{{"key", next}}}};
}

const FunctionRow kFunctions[] = {
    layer(
        "dense", "x . kernel + bias over the last axis.", call_dense,
        +[]() -> Examples {
          return {{{f({{1, 2}}), f({{1, 3}, {2, 4}}), f({0.5, -0.5})}, {}, f({{5.5, 10.5}})},
                  {{f({{1, 2}}), f({{1}, {2}})}, {}, f({{5}})}};
        }),
    layer(
        "flatten", "[batch, …] as [batch, product of the rest].", ops::erase<&layers::flatten>,
        +[]() -> Examples {
          return {{{f({{{1, 2}, {3, 4}}})}, {}, f({{1, 2, 3, 4}})},
                  {{f({1, 2})}, {}, f({{1}, {2}})}};
        }),
    drawing_layer(
        "dropout", "In training, zeros for some elements, the others scaled up.", call_dropout,
        +[]() -> Examples {
          const Value x = f({{4, -1.25, -3, 3, -2, 2.75}, {2.75, -2.75, 1, -1.75, -1.25, -2.5}});
          const Value key = t({0, 42}, {.type = u32});
          return {{{x, key}, {{"rate", 0.5}}, x},
                  {{x, key},
                   {{"rate", 0.5}, {"mode", "train"}},
                   Value::Map{{"output", f({{8, 0, -6, 0, -4, 0}, {0, 0, 0, 0, -2.5, -5}})},
                              {"state",
                               Value::Map{{"key", t({2465931498, 3679230171}, {.type = u32})}}}}}};
        }),
};

}  // namespace

const ops::Family kLayersFamily{"layers", {}, kFunctions};

}  // namespace nx::nn
