// Functions of activations: documentation, examples (values from Python's math), calls by name.
#include "nn/families.h"
#include "nx/activations.h"
#include "ops/row_values.h"

namespace nx::nn {
namespace {

using ops::Accepts;
using ops::Accuracy;
using ops::erase;
using ops::Example;
using ops::Examples;
using ops::f;
using ops::FunctionRow;
using ops::NamesRule;
using ops::RowMaker;
using ops::t;

constexpr RowMaker elementwise{.module = "Axon.Activations",
                               .accepts = Accepts::kReal,
                               .names = NamesRule::kKeep,
                               .accuracy = Accuracy{8, -5, 5},
                               .elementwise = true};
constexpr RowMaker along_axis{.module = "Axon.Activations",
                              .accepts = Accepts::kReal,
                              .names = NamesRule::kKeep,
                              .accuracy = Accuracy{8}};

const FunctionRow kFunctions[] = {
    elementwise(
        "linear", "The argument itself.", erase<&nn::linear>,
        +[]() -> Examples {
          return {{{f({-2, 1.5})}, {}, f({-2, 1.5})}};
        }),
    elementwise(
        "relu", "max(x, 0).", erase<&nn::relu>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({0, 0, 0, 1.5})}};
        }),
    elementwise(
        "relu6", "min(max(x, 0), 6).", erase<&nn::relu6>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({0, 0, 0, 1.5})}};
        }),
    elementwise(
        "sigmoid", "1 / (1 + e^-x).", erase<&nn::sigmoid>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({0.119202922, 0.3775406688, 0.5, 0.8175744762})}};
        }),
    elementwise(
        "tanh", "The hyperbolic tangent.", erase<&nn::tanh>,
        +[]() -> Examples {
          return {
              {{f({-2, -0.5, 0, 1.5})}, {}, f({-0.9640275801, -0.4621171573, 0, 0.9051482536})}};
        }),
    elementwise(
        "exp", "e to the power of each element.", erase<&nn::exp>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({0.1353352832, 0.6065306597, 1, 4.48168907})}};
        }),
    elementwise(
        "silu", "x sigmoid(x).", erase<&nn::silu>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({-0.238405844, -0.1887703344, 0, 1.226361714})}};
        }),
    elementwise(
        "softplus", "log(1 + e^x), without overflow.", erase<&nn::softplus>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})},
                   {},
                   f({0.126928011, 0.4740769842, 0.6931471806, 1.701413278})}};
        }),
    elementwise(
        "softsign", "x / (1 + |x|).", erase<&nn::softsign>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({-0.6666666667, -0.3333333333, 0, 0.6})}};
        }),
    elementwise(
        "log_sigmoid", "log(sigmoid(x)), without overflow.", erase<&nn::log_sigmoid>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})},
                   {},
                   f({-2.126928011, -0.9740769842, -0.6931471806, -0.201413278})}};
        }),
    elementwise(
        "mish", "x tanh(softplus(x)).", erase<&nn::mish>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({-0.2525014827, -0.2207437747, 0, 1.403378266})}};
        }),
    elementwise(
        "gelu", "x (1 + erf(x / sqrt 2)) / 2.", erase<&nn::gelu>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({-0.0455002639, -0.1542687694, 0, 1.399789198})}};
        }),
    elementwise(
        "hard_tanh", "x, kept in [-1, 1].", erase<&nn::hard_tanh>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({-1, -0.5, 0, 1})}};
        }),
    elementwise(
        "leaky_relu", "x, times alpha below 0.", erase<&nn::leaky_relu>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {{"alpha", 0.25}}, f({-0.5, -0.125, 0, 1.5})}};
        }),
    elementwise(
        "elu", "x, alpha (e^x - 1) below 0.", erase<&nn::elu>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})},
                   {{"alpha", 0.5}},
                   f({-0.4323323584, -0.1967346701, 0, 1.5})}};
        }),
    elementwise(
        "celu", "x, alpha (e^(x / alpha) - 1) below 0.", erase<&nn::celu>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})},
                   {{"alpha", 0.5}},
                   f({-0.4908421806, -0.3160602794, 0, 1.5})}};
        }),
    elementwise(
        "selu", "gamma times elu with alpha.", erase<&nn::selu>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({-1.520166469, -0.6917581878, 0, 1.576051481})}};
        }),
    elementwise(
        "hard_sigmoid", "alpha x + beta, kept in [0, 1].", erase<&nn::hard_sigmoid>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({0, 0.1, 0.2, 0.5})}};
        }),
    elementwise(
        "hard_silu", "x hard_sigmoid(x).", erase<&nn::hard_silu>,
        +[]() -> Examples {
          return {{{f({-2, -0.5, 0, 1.5})}, {}, f({0, -0.05, 0, 0.75})}};
        }),
    along_axis(
        "softmax", "e^x, normalised to a sum of 1 along an axis.", erase<&nn::softmax>,
        +[]() -> Examples {
          return {{{f({1, 2, 3})}, {}, f({0.09003057317, 0.2447284711, 0.6652409558})},
                  {{f({{1, 4}, {2, 3}})},
                   {{"axis", 0}},
                   f({{0.2689414214, 0.7310585786}, {0.7310585786, 0.2689414214}})},
                  {{f({1000, 1000})}, {}, f({0.5, 0.5})}};
        }),
    along_axis(
        "log_softmax", "The logarithm of softmax, without overflow.", erase<&nn::log_softmax>,
        +[]() -> Examples {
          return {{{f({1, 2, 3})}, {}, f({-2.407605964, -1.407605964, -0.4076059644})},
                  {{f({{1, 4}, {2, 3}})},
                   {{"axis", 0}},
                   f({{-1.313261688, -0.3132616875}, {-0.3132616875, -1.313261688}})}};
        }),
    along_axis(
        "log_sumexp", "log(sum(e^x)) along an axis, which stays with size 1.",
        erase<&nn::log_sumexp>,
        +[]() -> Examples {
          return {{{f({1, 2, 3})}, {}, f({3.407605964})},
                  {{t({200, 3}, {.type = u8})}, {}, f({200})}};
        }),
};

}  // namespace

const ops::Family kActivationsFamily{"activations", {}, kFunctions};

}  // namespace nx::nn
