// Cases of updates whose form differs from that of the rows: nested states, chains, schedules with
// plain numbers as steps.
#include "conformance/run.h"
#include "optim/families.h"

namespace nx::conformance {
namespace {

using ops::Value;

std::vector<Value> values_of(const Json& list) {
  std::vector<Value> values;
  for (const Json& json : list) values.push_back(value_of(json));
  return values;
}

/// compose(first, second): the reference keeps the second's states as one element in front of the
/// first's; ours are one list.
Value run_compose(const Case& c, const Setup& setup) {
  const auto* const row = find_function(c.fn);
  const auto args = values_of(c.args);
  ops::Options options = options_of(c.opts);
  // Recorded with clip(delta: 0.3), of which only the name was written down.
  for (auto& [name, value] : options)
    if (const auto* update = value.as<std::string>(); update != nullptr && *update == "clip")
      value = Value::List{"clip", Value::List(1, Value::List{"delta", 0.3})};
  Value steps = run_call(setup, c.fn, *row->call, args, options);
  const std::size_t of_second =
      optim::update_from(value_of(c.opts.at("second"))).init(Tree()).size();
  for (Value& step : *std::get_if<Value::List>(&steps.data)) {
    auto& map = *std::get_if<Value::Map>(&step.data);
    const auto states = *map.at("state").as<Value::List>();
    const auto middle = states.begin() + static_cast<std::ptrdiff_t>(of_second);
    Value::List nested(1, Value::List(states.begin(), middle));
    nested.insert(nested.end(), middle, states.end());
    map["state"] = std::move(nested);
  }
  return steps;
}

/// Several updates after each other.
Value run_chain(const Case& c, const Setup& setup) {
  optim::Update chain;
  const Value updates = value_of(c.opts.at("chain"));
  for (const Value& update : *updates.as<Value::List>())
    chain = chain.then(optim::update_from(update));
  const Call call = [&](std::span<const Value> args, const ops::Options&) {
    return optim::play(chain, args);
  };
  return run_call(setup, c.fn, call, values_of(c.args), {});
}

/// The parameters are a map of maps.
Value run_nested(const Case& c, const Setup& setup) {
  const auto* const row = find_function("Polaris.Updates.scale_by_adam");
  return run_call(setup, c.fn, *row->call, values_of(c.args), options_of(c.opts));
}

/// A step may be a number: there it is one without being a tensor.
Value run_schedule(const Case& c, const Setup& setup) {
  const auto* const row = find_function(c.fn);
  Json options = c.opts;
  if (options.is_object()) options.erase("step");
  return run_call(setup, c.fn, *row->call, values_of(c.args), options_of(options));
}

constexpr AdapterRow kRows[] = {
    {"Polaris.Updates.compose", run_compose},
    {"Polaris.Updates.chain", run_chain},
    {"Polaris.Updates.scale_by_adam_nested", run_nested},
    {"Polaris.Schedules.constant", run_schedule},
    {"Polaris.Schedules.linear_decay", run_schedule},
    {"Polaris.Schedules.exponential_decay", run_schedule},
    {"Polaris.Schedules.cosine_decay", run_schedule},
    {"Polaris.Schedules.polynomial_decay", run_schedule},
};

}  // namespace

const std::span<const AdapterRow> kOptimAdapters = kRows;

}  // namespace nx::conformance
