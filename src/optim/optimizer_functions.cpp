// Functions of optimizers: documentation, examples (values from Python), calls by name.
#include "optim/by_name.h"

namespace nx::optim {
namespace {

using ops::Examples;
using ops::f;
using ops::FunctionRow;
using ops::list;
using ops::t;
using ops::Value;

constexpr ops::RowMaker optimizer = rows_of("Polaris.Optimizers");

constexpr NamedUpdate kNamed[] = {
    {"adagrad", Made<&adagrad>::from},
    {"adam", Made<&adam>::from},
    {"adamw", Made<&adamw>::from},
    {"lamb", Made<&lamb>::from},
    {"noisy_sgd", Made<&noisy_sgd>::from},
    {"rmsprop", Made<&rmsprop>::from},
    {"sgd", Made<&sgd>::from},
    {"yogi", Made<&yogi>::from},
};

const FunctionRow kFunctions[] = {
    optimizer(
        "adagrad", "Steps over the root of the sum of squared gradients.",
        played<Made<&adagrad>::from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {},
                   Value::List{
                       stepped(f({-0.000845154134, -0.000620173482}), f({0.999154846, -2.00062017}),
                               Value::List{Value::Map{{"scale", f(-0.001)}},
                                           Value::Map{{"sum_of_squares",
                                                       Value::Map{{"w", f({0.35, 0.1625})}}}}}),
                       stepped(f({0.000645497171, -0.000927477752}), f({0.999800343, -2.00154765}),
                               Value::List{Value::Map{{"scale", f(-0.001)}},
                                           Value::Map{{"sum_of_squares",
                                                       Value::Map{{"w", f({0.6, 1.1625})}}}}})}}};
        }),
    optimizer(
        "adam", "Steps by bias-corrected moments of the gradients.", played<Made<&adam>::from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {},
               Value::List{
                   stepped(f({-0.00099999998, -0.00099999996}), f({0.999, -2.001}),
                           Value::List{
                               Value::Map{{"scale", f(-0.001)}},
                               Value::Map{{"count", t(1)},
                                          {"mu", Value::Map{{"w", f({0.05, 0.025})}}},
                                          {"nu", Value::Map{{"w", f({0.00025, 6.25e-05})}}}}}),
                   stepped(f({5.26315779e-05, -0.000884376478}), f({0.999052632, -2.00188438}),
                           Value::List{
                               Value::Map{{"scale", f(-0.001)}},
                               Value::Map{
                                   {"count", t(2)},
                                   {"mu", Value::Map{{"w", f({-0.005, 0.1225})}}},
                                   {"nu", Value::Map{{"w", f({0.00049975, 0.0010624375})}}}}})}}};
        }),
    optimizer(
        "adamw", "Adam with decoupled weight decay.", played<Made<&adamw>::from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {{"learning_rate", 0.1}, {"decay", 0.5}},
               Value::List{
                   stepped(f({-0.149999998, 4.00000064e-09}), f({0.850000002, -2.0}),
                           Value::List{
                               Value::Map{{"scale", f(-0.1)}},
                               Value::Map{{"count", t(1)},
                                          {"mu", Value::Map{{"w", f({0.05, 0.025})}}},
                                          {"nu", Value::Map{{"w", f({0.00025, 6.25e-05})}}}}}),
                   stepped(f({-0.0372368423, 0.011562352}), f({0.81276316, -1.98843764}),
                           Value::List{
                               Value::Map{{"scale", f(-0.1)}},
                               Value::Map{
                                   {"count", t(2)},
                                   {"mu", Value::Map{{"w", f({-0.005, 0.1225})}}},
                                   {"nu", Value::Map{{"w", f({0.00049975, 0.0010624375})}}}}})}}};
        }),
    optimizer(
        "lamb", "adamw, each leaf scaled by its trust ratio.", played<Made<&lamb>::from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {},
               Value::List{
                   stepped(f({-0.0158113885, -0.0158113881}), f({0.984188612, -2.01581139}),
                           Value::List{
                               Value::Map{{"scale", f(-0.01)}},
                               Value::Map{{"count", t(1)},
                                          {"mu", Value::Map{{"w", f({0.05, 0.025})}}},
                                          {"nu", Value::Map{{"w", f({0.00025, 6.25e-05})}}}}}),
                   stepped(f({0.00133265305, -0.0223927737}), f({0.985521265, -2.03820416}),
                           Value::List{
                               Value::Map{{"scale", f(-0.01)}},
                               Value::Map{
                                   {"count", t(2)},
                                   {"mu", Value::Map{{"w", f({-0.005, 0.1225})}}},
                                   {"nu", Value::Map{{"w", f({0.00049975, 0.0010624375})}}}}})}}};
        }),
    optimizer(
        "rmsprop", "Steps over the root of the moving average of squared gradients.",
        played<Made<&rmsprop>::from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {},
               Value::List{
                   stepped(f({-0.0316227703, -0.0316227513}), f({0.96837723, -2.03162275}),
                           Value::List{Value::Map{{"scale", f(-0.01)}},
                                       Value::Map{{"nu", Value::Map{{"w", f({0.025, 0.00625})}}}}}),
                   stepped(f({0.022941571, -0.0307692293}), f({0.991318801, -2.06239198}),
                           Value::List{
                               Value::Map{{"scale", f(-0.01)}},
                               Value::Map{{"nu", Value::Map{{"w", f({0.0475, 0.105625})}}}}})}}};
        }),
    optimizer(
        "sgd", "Steps against the gradient, with or without momentum.", played<Made<&sgd>::from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {{"momentum", 0.9}},
               Value::List{
                   stepped(f({-0.005, -0.0025}), f({0.995, -2.0025}),
                           Value::List{Value::Map{{"scale", f(-0.01)}},
                                       Value::Map{{"trace", Value::Map{{"w", f({0.5, 0.25})}}}}}),
                   stepped(
                       f({0.0005, -0.01225}), f({0.9955, -2.01475}),
                       Value::List{Value::Map{{"scale", f(-0.01)}},
                                   Value::Map{{"trace", Value::Map{{"w", f({-0.05, 1.225})}}}}})}}};
        }),
    optimizer(
        "yogi", "Adam with a second moment that changes by a bounded amount.",
        played<Made<&yogi>::from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {},
               Value::List{
                   stepped(f({-0.00996035845, -0.00988208866}), f({0.990039642, -2.00988209}),
                           Value::List{
                               Value::Map{{"scale", f(-0.01)}},
                               Value::Map{{"count", t(1)},
                                          {"mu", Value::Map{{"w", f({0.0500009, 0.0250009})}}},
                                          {"nu", Value::Map{{"w", f({0.000251, 6.35e-05})}}}}}),
                   stepped(f({0.000524525899, -0.00882730229}), f({0.990564167, -2.01870939}),
                           Value::List{
                               Value::Map{{"scale", f(-0.01)}},
                               Value::Map{{"count", t(2)},
                                          {"mu", Value::Map{{"w", f({-0.00499919, 0.12250081})}}},
                                          {"nu", Value::Map{{"w", f({0.000501, 0.0010635})}}}}})}}};
        }),
    optimizer(
        "noisy_sgd", "Gradient descent with noise.", played<Made<&noisy_sgd>::from>,
        +[]() -> Examples {  // recorded from the reference
          const auto leaf = [](const Value& w) { return Value(Value::Map{{"w", w}}); };
          return {{{leaf(f({1, -2, 3})), list(leaf(f({0.5, 0.25, -1})))},
                   {{"seed", 42}},
                   list(stepped(
                       f({-0.010675501078367233, 0.00034391856752336025, 0.0006793923676013947}),
                       f({0.9893245100975037, -1.999656081199646, 3.0006794929504395}),
                       list(Value::Map{{"count", t(1)},
                                       {"key", t({2465931498, 3679230171}, {.type = u32})}},
                            Value::Map{{"scale", f(-0.01)}})))}};
        }),
};

}  // namespace

std::span<const NamedUpdate> named_optimizers() { return kNamed; }

const ops::Family kOptimizersFamily{"optimizers", {}, kFunctions};

}  // namespace nx::optim
