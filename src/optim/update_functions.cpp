// Functions of updates: documentation, examples (values from Python), calls by name.
#include "optim/by_name.h"

namespace nx::optim {
namespace {

using ops::Examples;
using ops::f;
using ops::FunctionRow;
using ops::list;
using ops::Options;
using ops::t;
using ops::Value;

constexpr ops::RowMaker update = rows_of("Polaris.Updates");

const Value& option(const Options& options, std::string_view name) {
  const Value* const value = ops::find_option(options, name);
  if (value == nullptr)
    throw ArgumentError("call", "expected an option `" + std::string(name) + "`");
  return *value;
}
Update scale_from(const Options& o) {
  return scale(ops::number_from(option(o, "step_size")).real());
}
Update scale_by_state_from(const Options& o) {
  return scale_by_state(ops::number_from(option(o, "step_size")).real());
}
Update scale_by_schedule_from(const Options& o) {
  return scale_by_schedule(schedule_from(option(o, "schedule")));
}
Update compose_from(const Options& o) {
  return compose(update_from(option(o, "first")), update_from(option(o, "second")));
}

constexpr NamedUpdate kNamed[] = {
    {"identity", Made<&identity>::from},
    {"scale", scale_from},
    {"scale_by_state", scale_by_state_from},
    {"scale_by_schedule", scale_by_schedule_from},
    {"clip", Made<&clip>::from},
    {"clip_by_global_norm", Made<&clip_by_global_norm>::from},
    {"centralize", Made<&centralize>::from},
    {"add_decayed_weights", Made<&add_decayed_weights>::from},
    {"scale_by_trust_ratio", Made<&scale_by_trust_ratio>::from},
    {"scale_by_adam", Made<&scale_by_adam>::from},
    {"scale_by_yogi", Made<&scale_by_yogi>::from},
    {"scale_by_rss", Made<&scale_by_rss>::from},
    {"scale_by_rms", Made<&scale_by_rms>::from},
    {"scale_by_stddev", Made<&scale_by_stddev>::from},
    {"trace", Made<&trace>::from},
    {"add_noise", Made<&add_noise>::from},
};

const FunctionRow kFunctions[] = {
    update(
        "identity", "The gradients as they are.", played<Made<&identity>::from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {},
                   Value::List{stepped(f({0.5, 0.25}), f({1.5, -1.75}), Value::List{}),
                               stepped(f({-0.5, 1}), f({1, -0.75}), Value::List{})}}};
        }),
    update(
        "scale", "The gradients times a number.", played<scale_from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {{"step_size", -0.5}},
                   Value::List{stepped(f({-0.25, -0.125}), f({0.75, -2.125}), Value::List{}),
                               stepped(f({0.25, -0.5}), f({1, -2.625}), Value::List{})}}};
        }),
    update(
        "scale_by_state", "The gradients times a number that is kept in the state.",
        played<scale_by_state_from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {{"step_size", -0.5}},
                   Value::List{stepped(f({-0.25, -0.125}), f({0.75, -2.125}),
                                       Value::List{Value::Map{{"scale", f(-0.5)}}}),
                               stepped(f({0.25, -0.5}), f({1, -2.625}),
                                       Value::List{Value::Map{{"scale", f(-0.5)}}})}}};
        }),
    update(
        "scale_by_schedule", "The gradients times the value of a schedule.",
        played<scale_by_schedule_from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {{"schedule", list("exponential_decay", 0.1)}},
               Value::List{stepped(f({0.05, 0.025}), f({1.05, -1.975}),
                                   Value::List{Value::Map{{"count", t(1)}}}),
                           stepped(f({-0.0497441902, 0.0994883803}), f({1.00025581, -1.87551162}),
                                   Value::List{Value::Map{{"count", t(2)}}})}}};
        }),
    update(
        "clip", "Each element kept in [-delta, delta].", played<Made<&clip>::from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {{"delta", 0.25}},
                   Value::List{stepped(f({0.25, 0.25}), f({1.25, -1.75}), Value::List{}),
                               stepped(f({-0.25, 0.25}), f({1, -1.5}), Value::List{})}}};
        }),
    update(
        "clip_by_global_norm", "All gradients together kept at a norm of at most max_norm.",
        played<Made<&clip_by_global_norm>::from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {{"max_norm", 0.5}},
                   Value::List{stepped(f({0.447213595, 0.223606798}), f({1.4472136, -1.7763932}),
                                       Value::List{}),
                               stepped(f({-0.223606798, 0.447213595}), f({1.2236068, -1.32917961}),
                                       Value::List{})}}};
        }),
    update(
        "add_decayed_weights", "The gradients and a share of the parameters.",
        played<Made<&add_decayed_weights>::from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {{"decay", 0.5}},
                   Value::List{stepped(f({1, -0.75}), f({2, -2.75}), Value::List{}),
                               stepped(f({0.5, -0.375}), f({2.5, -3.125}), Value::List{})}}};
        }),
    update(
        "scale_by_trust_ratio", "Each leaf times its parameter's norm over its own.",
        played<Made<&scale_by_trust_ratio>::from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {{"trust_coefficient", 0.5}},
                   Value::List{stepped(f({1, 0.5}), f({2, -1.5}), Value::List{}),
                               stepped(f({-0.559016994, 1.11803399}), f({1.44098301, -0.381966011}),
                                       Value::List{})}}};
        }),
    update(
        "scale_by_adam",
        "The moments of Adam: m / (sqrt(v) + eps), corrected for their beginning at 0.",
        played<Made<&scale_by_adam>::from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {},
                   Value::List{
                       stepped(f({0.99999998, 0.99999996}), f({1.99999998, -1.00000004}),
                               Value::List{
                                   Value::Map{{"count", t(1)},
                                              {"mu", Value::Map{{"w", f({0.05, 0.025})}}},
                                              {"nu", Value::Map{{"w", f({0.00025, 6.25e-05})}}}}}),
                       stepped(f({-0.0526315779, 0.884376478}), f({1.9473684, -0.115623562}),
                               Value::List{Value::Map{
                                   {"count", t(2)},
                                   {"mu", Value::Map{{"w", f({-0.005, 0.1225})}}},
                                   {"nu", Value::Map{{"w", f({0.00049975, 0.0010624375})}}}}})}}};
        }),
    update(
        "scale_by_yogi", "Adam's moments, of which the second changes by a bounded amount.",
        played<Made<&scale_by_yogi>::from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {},
               Value::List{stepped(f({0.996035845, 0.988208866}), f({1.99603584, -1.01179113}),
                                   Value::List{Value::Map{
                                       {"count", t(1)},
                                       {"mu", Value::Map{{"w", f({0.0500009, 0.0250009})}}},
                                       {"nu", Value::Map{{"w", f({0.000251, 6.35e-05})}}}}}),
                           stepped(f({-0.0524525899, 0.882730229}), f({1.94358325, -0.129060905}),
                                   Value::List{Value::Map{
                                       {"count", t(2)},
                                       {"mu", Value::Map{{"w", f({-0.00499919, 0.12250081})}}},
                                       {"nu", Value::Map{{"w", f({0.000501, 0.0010635})}}}}})}}};
        }),
    update(
        "scale_by_rss", "The gradients over the root of the sum of their squares so far.",
        played<Made<&scale_by_rss>::from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {},
                   Value::List{
                       stepped(f({0.845154134, 0.620173482}), f({1.84515413, -1.37982652}),
                               Value::List{Value::Map{
                                   {"sum_of_squares", Value::Map{{"w", f({0.35, 0.1625})}}}}}),
                       stepped(f({-0.645497171, 0.927477752}), f({1.19965696, -0.452348766}),
                               Value::List{Value::Map{
                                   {"sum_of_squares", Value::Map{{"w", f({0.6, 1.1625})}}}}})}}};
        }),
    update(
        "scale_by_rms", "The gradients over the root of the moving average of their squares.",
        played<Made<&scale_by_rms>::from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {},
               Value::List{
                   stepped(f({3.16227703, 3.16227513}), f({4.16227703, 1.16227513}),
                           Value::List{Value::Map{{"nu", Value::Map{{"w", f({0.025, 0.00625})}}}}}),
                   stepped(f({-2.2941571, 3.07692293}), f({1.86811993, 4.23919806}),
                           Value::List{
                               Value::Map{{"nu", Value::Map{{"w", f({0.0475, 0.105625})}}}}})}}};
        }),
    update(
        "scale_by_stddev", "The gradients over their moving standard deviation.",
        played<Made<&scale_by_stddev>::from>,
        +[]() -> Examples {
          return {{two_gradients(),
                   {},
                   Value::List{stepped(f({3.33333259, 3.33333037}), f({4.33333259, 1.33333037}),
                                       Value::List{Value::Map{
                                           {"mu", Value::Map{{"w", f({0.05, 0.025})}}},
                                           {"nu", Value::Map{{"w", f({0.025, 0.00625})}}}}}),
                               stepped(f({-2.29476106, 3.32193356}), f({2.03857153, 4.65526393}),
                                       Value::List{Value::Map{
                                           {"mu", Value::Map{{"w", f({-0.005, 0.1225})}}},
                                           {"nu", Value::Map{{"w", f({0.0475, 0.105625})}}}}})}}};
        }),
    update(
        "trace", "Momentum: the gradients and a share of the last trace.",
        played<Made<&trace>::from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {{"nesterov", "true"}},
               Value::List{
                   stepped(f({0.95, 0.475}), f({1.95, -1.525}),
                           Value::List{Value::Map{{"trace", Value::Map{{"w", f({0.5, 0.25})}}}}}),
                   stepped(
                       f({-0.545, 2.1025}), f({1.405, 0.5775}),
                       Value::List{Value::Map{{"trace", Value::Map{{"w", f({-0.05, 1.225})}}}}})}}};
        }),
    update(
        "compose", "One update, then another.", played<compose_from>,
        +[]() -> Examples {
          return {
              {two_gradients(),
               {{"first", "trace"}, {"second", list("scale_by_state", -0.1)}},
               Value::List{
                   stepped(f({-0.05, -0.025}), f({0.95, -2.025}),
                           Value::List{Value::Map{{"scale", f(-0.1)}},
                                       Value::Map{{"trace", Value::Map{{"w", f({0.5, 0.25})}}}}}),
                   stepped(
                       f({0.005, -0.1225}), f({0.955, -2.1475}),
                       Value::List{Value::Map{{"scale", f(-0.1)}},
                                   Value::Map{{"trace", Value::Map{{"w", f({-0.05, 1.225})}}}}})}}};
        }),
    update(
        "centralize", "Each matrix's rows less their means.", played<Made<&centralize>::from>,
        +[]() -> Examples {
          const auto leaf = [](const Value& w) { return Value(Value::Map{{"w", w}}); };
          return {{{leaf(f({{1, 2}, {3, 4}})), list(leaf(f({{0.5, 1}, {-2, 1}})))},
                   {},
                   list(stepped(f({{-0.25, 0.25}, {-1.5, 1.5}}), f({{0.75, 2.25}, {1.5, 5.5}}),
                                Value::List{}))}};
        }),
    update(
        "add_noise", "The gradients and normal noise that gets less with the steps.",
        played<Made<&add_noise>::from>,
        +[]() -> Examples {  // recorded from the reference
          const auto leaf = [](const Value& w) { return Value(Value::Map{{"w", w}}); };
          return {
              {{leaf(f({1, -2, 3})), list(leaf(f({0.5, 0.25, -1})))},
               {{"seed", 7}},
               list(stepped(f({0.4857960045337677, 0.24063292145729065, -0.9903532266616821}),
                            f({1.4857959747314453, -1.7593671083450317, 2.0096468925476074}),
                            list(Value::Map{{"count", t(1)},
                                            {"key", t({966301609, 989289821}, {.type = u32})}})))}};
        }),
    update(
        "apply_updates", "Parameters and updates added up, in the parameters' types.",
        play_apply_updates,
        +[]() -> Examples {
          const auto leaf = [](const Value& w) { return Value(Value::Map{{"w", w}}); };
          return {{{leaf(f({1, 2})), leaf(f({0.5, -0.5}))}, {}, leaf(f({1.5, 1.5}))},
                  {{leaf(f({1, 2})), leaf(f({0.5, -0.5})), leaf(f({9, 8}))}, {}, leaf(f({9, 8}))}};
        }),
};

}  // namespace

std::span<const NamedUpdate> named_updates() { return kNamed; }

const ops::Family kUpdatesFamily{"updates", {}, kFunctions};

}  // namespace nx::optim
