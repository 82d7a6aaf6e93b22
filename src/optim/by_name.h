// Updates and schedules made from run-time options: what rows are made of.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "nx/optim.h"
#include "ops/row_values.h"
#include "optim/families.h"

/// {"schedule", name, value}, or a number.
template <>
struct nx::ops::FromValue<nx::optim::LearningRate> {
  static nx::optim::LearningRate get(const Value& value) {
    const auto* const list = value.as<Value::List>();
    if (list == nullptr || list->size() != 3) return number_from(value).real();
    return nx::optim::schedule_from(Value(Value::List{(*list)[1], (*list)[2]}));
  }
};
template <>
struct nx::ops::FromValue<nx::ops::Value> {
  static Value get(const Value& value) { return value; }
};

namespace nx::optim {

struct NamedUpdate {
  std::string_view name;
  Update (*make)(const ops::Options& options);
};
std::span<const NamedUpdate> named_updates();
std::span<const NamedUpdate> named_optimizers();

inline void expect_no_options(const ops::Options& options) {
  if (!options.empty())
    throw ArgumentError("call", "unknown option `" + options.front().first + "`");
}

template <auto kMake>
struct Made;
template <class O, Update (*kMake)(const O&)>
struct Made<kMake> {
  static Update from(const ops::Options& options) { return kMake(ops::options_from<O>(options)); }
};
template <Update (*kMake)()>
struct Made<kMake> {
  static Update from(const ops::Options& options) {
    expect_no_options(options);
    return kMake();
  }
};

/// The call of a row: plays the update that `kMake` makes of the options.
template <Update (*kMake)(const ops::Options&)>
ops::Value played(std::span<const ops::Value> args, const ops::Options& options) {
  return play(kMake(options), args);
}

/// Rows of the module `module` of the reference.
constexpr ops::RowMaker rows_of(std::string_view module) {
  return {.module = module,
          .accepts = ops::Accepts::kReal,
          .names = ops::NamesRule::kKeep,
          .accuracy = ops::Accuracy{32}};
}

/// For examples: one parameter, and gradients of two steps.
inline std::vector<ops::Value> two_gradients() {
  const auto leaf = [](const ops::Value& w) { return ops::Value(ops::Value::Map{{"w", w}}); };
  return {leaf(ops::f({1, -2})), ops::list(leaf(ops::f({0.5, 0.25})), leaf(ops::f({-0.5, 1})))};
}
/// What a step gives.
inline ops::Value stepped(ops::Value updates, ops::Value params, ops::Value state) {
  return ops::Value::Map{{"updates", ops::Value::Map{{"w", std::move(updates)}}},
                         {"params", ops::Value::Map{{"w", std::move(params)}}},
                         {"state", std::move(state)}};
}

ops::Value play_apply_updates(std::span<const ops::Value> args, const ops::Options& options);

}  // namespace nx::optim
