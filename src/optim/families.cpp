// The list of families, and updates and schedules by name.
#include "optim/families.h"

#include "nx/error.h"
#include "ops/row_values.h"
#include "optim/by_name.h"

namespace nx::optim {
namespace {

using ops::Options;
using ops::Value;

Tree tree_from(const Value& value) {
  if (const auto* tensor = value.as<Tensor>()) return *tensor;
  const auto* const map = value.as<Value::Map>();
  if (map == nullptr) ops::refuse_value("a map of tensors");
  Tree tree;
  for (const auto& [name, child] : *map) tree[name] = tree_from(child);
  return tree;
}

Value to_value(const Tree& tree) {
  if (tree.is_leaf()) return tree.tensor;
  Value::Map map;
  for (const auto& [name, child] : tree.children) map[name] = to_value(child);
  return map;
}

/// {name} or {name, what}.
std::pair<std::string, Value> named(const Value& value) {
  if (const auto* name = value.as<std::string>()) return {*name, {}};
  const auto* const list = value.as<Value::List>();
  if (list == nullptr || list->size() != 2) ops::refuse_value("a name, or a name and its options");
  return {ops::FromValue<std::string>::get((*list)[0]), (*list)[1]};
}

Options options_from_pairs(const Value& value) {
  Options options;
  if (const auto* pairs = value.as<Value::List>())
    for (const Value& pair : *pairs)
      options.push_back(ops::FromValue<std::pair<std::string, Value>>::get(pair));
  return options;
}

}  // namespace

std::span<const ops::Family* const> families() {
  static constexpr const ops::Family* kFamilies[] = {&kUpdatesFamily, &kOptimizersFamily,
                                                     &kSchedulesFamily};
  return kFamilies;
}

Update update_from(const Value& value) {
  auto [name, what] = named(value);
  const Options options =
      what.as<Number>() != nullptr ? Options{{"step_size", what}} : options_from_pairs(what);
  for (const auto& list : {named_updates(), named_optimizers()})
    for (const NamedUpdate& entry : list)
      if (entry.name == name) return entry.make(options);
  throw ArgumentError("call", "unknown update `" + name + "`");
}

Value play(const Update& update, std::span<const Value> args) {
  ops::expect_arguments(args, 2, 2);
  const auto* const gradients = args[1].as<Value::List>();
  if (gradients == nullptr) ops::refuse_value("a list of gradients");
  Tree params = tree_from(args[0]);
  State state = update.init(params);
  Value::List steps;
  for (const Value& gradient : *gradients) {
    auto [updates, next] = update.update(tree_from(gradient), state, params);
    params = apply_updates(params, updates);
    state = std::move(next);
    Value::List kept;
    for (const Tree& stage : state) kept.push_back(to_value(stage));
    steps.push_back(Value::Map{
        {"updates", to_value(updates)}, {"params", to_value(params)}, {"state", std::move(kept)}});
  }
  return steps;
}

Value play_apply_updates(std::span<const Value> args, const Options& options) {
  ops::expect_arguments(args, 2, 3);
  if (!options.empty()) throw ArgumentError("call", "unknown option");
  const Tree params = tree_from(args[0]), updates = tree_from(args[1]);
  return to_value(args.size() == 2 ? apply_updates(params, updates)
                                   : apply_updates(params, updates, tree_from(args[2])));
}

}  // namespace nx::optim
