// Functions of losses: documentation, examples (values from Python's math), calls by name.
#include "nn/families.h"
#include "nx/losses.h"
#include "ops/row_values.h"

namespace nx::nn {
namespace {

using ops::Accepts;
using ops::Accuracy;
using ops::erase;
using ops::Examples;
using ops::f;
using ops::FunctionRow;
using ops::list;
using ops::NamesRule;
using ops::Options;
using ops::RowMaker;
using ops::t;
using ops::Value;

constexpr RowMaker loss{.module = "Axon.Losses",
                        .accepts = Accepts::kReal,
                        .names = NamesRule::kDropReduced,
                        .accuracy = Accuracy{16}};

/// Weights may be a list of numbers.
Value call_categorical_cross_entropy(std::span<const Value> args, const Options& options) {
  Options own = options;
  for (auto& [name, value] : own)
    if (name == "class_weights" && value.as<Value::List>() != nullptr)
      value = tensor(ops::FromValue<std::vector<double>>::get(value), {.type = f32});
  return erase<&losses::categorical_cross_entropy>(args, own);
}

const FunctionRow kFunctions[] = {
    loss(
        "binary_cross_entropy", "-y log(p) - (1 - y) log(1 - p), the mean over the last axis.",
        erase<&losses::binary_cross_entropy>,
        +[]() -> Examples {
          return {{{f({{0, 1}, {1, 0}}), f({{0.25, 0.5}, {0.8, 0.4}})},
                   {},
                   f({0.490414627, 0.366984588})},
                  {{f({{0, 1}, {1, 0}}), f({{-1.5, 2}, {0.5, -0.25}})},
                   {{"from_logits", "true"}, {"reduction", "mean"}},
                   f(0.344589423)}};
        }),
    loss(
        "categorical_cross_entropy",
        "-y log(p), the sum over the last axis; y is one-hot or holds class indices.",
        call_categorical_cross_entropy,
        +[]() -> Examples {
          return {{{f({{1, 0, 0}, {0, 0, 1}}), f({{0.7, 0.2, 0.1}, {0.1, 0.3, 0.6}})},
                   {},
                   f({0.356674944, 0.510825624})},
                  {{t({0, 2}), f({{2, -1, 0.5}, {0.1, 0.3, -0.6}})},
                   {{"sparse", "true"}, {"from_logits", "true"}},
                   f({0.241311297, 1.69989192})},
                  {{f({{1, 0, 0}, {0, 0, 1}}), f({{0.7, 0.2, 0.1}, {0.1, 0.3, 0.6}})},
                   {{"class_weights", f({0.5, 1, 2})}, {"reduction", "mean"}},
                   f(0.479995488)}};
        }),
    loss(
        "categorical_hinge", "max(1 + the largest of (1 - y) p - sum(y p), 0) over the last axis.",
        erase<&losses::categorical_hinge>,
        +[]() -> Examples {
          return {
              {{f({{1, 0, 0}, {0, 0, 1}}), f({{2, -1, 0.5}, {0.1, 0.3, -0.6}})}, {}, f({0, 1.9})}};
        }),
    loss(
        "cosine_similarity", "The cosine of the angle between vectors.",
        erase<&losses::cosine_similarity>,
        +[]() -> Examples {
          return {{{f({{1, 0, 0}, {0, 0, 1}}), f({{2, -1, 0.5}, {0.1, 0.3, -0.6}})},
                   {},
                   f({0.872871561, -0.884651737})},
                  {{f({{0, 0}}), f({{3, 4}})}, {}, f({0})}};
        }),
    loss(
        "hinge", "max(1 - y p, 0), the mean over the last axis.", erase<&losses::hinge>,
        +[]() -> Examples {
          return {{{f({{-1, 1, 1}, {1, -1, 1}}), f({{2, -1, 0.5}, {0.1, 0.3, -0.6}})},
                   {},
                   f({1.83333333, 1.26666667})}};
        }),
    loss(
        "huber", "Half the square of the error, from delta on a line.", erase<&losses::huber>,
        +[]() -> Examples {
          return {{{f({1, 1.5, 2}), f({0.75, 4, 2.5})}, {}, f({0.03125, 2, 0.125})},
                  {{f({1, 1.5, 2}), f({0.75, 4, 2.5})},
                   {{"delta", 0.5}, {"reduction", "sum"}},
                   f(1.28125)}};
        }),
    loss(
        "kl_divergence", "y log(y / p), the sum over the last axis.", erase<&losses::kl_divergence>,
        +[]() -> Examples {
          return {{{f({{0.2, 0.3, 0.5}}), f({{0.7, 0.2, 0.1}})}, {}, f({0.675805895})}};
        }),
    loss(
        "log_cosh", "log(cosh(p - y)), the mean over the last axis.", erase<&losses::log_cosh>,
        +[]() -> Examples {
          return {{{f({{1, 0, 0}, {0, 0, 1}}), f({{2, -1, 0.5}, {0.1, 0.3, -0.6}})},
                   {},
                   f({0.329225389, 0.332046204})},
                  {{f({{0}}), f({{-1000}})}, {}, f({999.306853})}};
        }),
    loss(
        "mean_absolute_error", "|y - p|, the mean over the last axis.",
        erase<&losses::mean_absolute_error>,
        +[]() -> Examples {
          return {{{f({{1, 0, 0}, {0, 0, 1}}), f({{2, -1, 0.5}, {0.1, 0.3, -0.6}})},
                   {},
                   f({0.833333333, 0.666666667})}};
        }),
    loss(
        "mean_squared_error", "(y - p)^2, the mean over the last axis.",
        erase<&losses::mean_squared_error>,
        +[]() -> Examples {
          return {{{f({{1, 0, 0}, {0, 0, 1}}), f({{2, -1, 0.5}, {0.1, 0.3, -0.6}})},
                   {},
                   f({0.75, 0.886666667})},
                  {{f({{1, 0, 0}, {0, 0, 1}}), f({{2, -1, 0.5}, {0.1, 0.3, -0.6}})},
                   {{"reduction", "mean"}},
                   f(0.818333333)}};
        }),
    loss(
        "poisson", "p - y log(p), the mean over the last axis.", erase<&losses::poisson>,
        +[]() -> Examples {
          return {{{f({{1, 0, 0}, {0, 0, 1}}), f({{0.7, 0.2, 0.1}, {0.1, 0.3, 0.6}})},
                   {},
                   f({0.452224981, 0.503608541})}};
        }),
    loss(
        "soft_margin", "log(1 + e^(-y p)), the sum over the first axis.",
        erase<&losses::soft_margin>,
        +[]() -> Examples {
          return {{{f({{-1, 1, 1}, {1, -1, 1}}), f({{2, -1, 0.5}, {0.1, 0.3, -0.6}})},
                   {},
                   f({2.77132467, 2.16761693, 1.51156493})}};
        }),
};

const FunctionRow kTargetFunctions[] = {
    loss(
        "margin_ranking", "max(margin - y (first - second), 0).", erase<&nn::margin_ranking>,
        +[]() -> Examples {
          return {{{f({1, 1, -1}), list(f({0.625, -0.25, 1.5}), f({0.5, 0.875, -0.25}))},
                   {{"margin", 0.5}},
                   f({0.375, 1.625, 2.25})}};
        }),
    loss(
        "apply_label_smoothing", "Targets moved towards the even distribution over the classes.",
        erase<&nn::apply_label_smoothing>,
        +[]() -> Examples {
          return {{{f({{1, 0, 0}, {0, 0, 1}}), f({{0.7, 0.2, 0.1}, {0.1, 0.3, 0.6}})},
                   {{"smoothing", 0.3}},
                   f({{0.8, 0.1, 0.1}, {0.1, 0.1, 0.8}})}};
        }),
};

}  // namespace

const ops::Family kLossesFamily{"losses", {}, kFunctions};
const ops::Family kTargetsFamily{"targets of losses", {}, kTargetFunctions};

}  // namespace nx::nn
