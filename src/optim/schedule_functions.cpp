// Functions of schedules: documentation, examples (values from Python), calls by name.
#include "optim/by_name.h"

namespace nx::optim {
namespace {

using ops::Examples;
using ops::f;
using ops::FunctionRow;
using ops::list;
using ops::Options;
using ops::Value;

constexpr ops::RowMaker schedule = rows_of("Polaris.Schedules");

/// A schedule's value at each of the steps in args[1].
template <auto kMake>
Value scheduled(std::span<const Value> args, const Options& options) {
  ops::expect_arguments(args, 2, 2);
  const Schedule schedule = kMake(ops::number_from(args[0]).real(), options);
  Value::List values;
  for (const std::int64_t step : ops::FromValue<std::vector<std::int64_t>>::get(args[1]))
    values.push_back(schedule(tensor(step)));
  return values;
}

struct Schedules {
  static Schedule constant(double value, const Options& options) {
    expect_no_options(options);
    return optim::constant(value);
  }
#define NX_SCHEDULE_(name, O)                                  \
  static Schedule name(double value, const Options& options) { \
    return optim::name(value, ops::options_from<O>(options));  \
  }
  NX_SCHEDULE_(linear_decay, LinearDecayOptions)
  NX_SCHEDULE_(exponential_decay, ExponentialDecayOptions)
  NX_SCHEDULE_(cosine_decay, CosineDecayOptions)
  NX_SCHEDULE_(polynomial_decay, PolynomialDecayOptions)
#undef NX_SCHEDULE_
};

struct NamedSchedule {
  std::string_view name;
  Schedule (*make)(double value, const Options& options);
};
constexpr NamedSchedule kNamed[] = {
    {"constant", Schedules::constant},
    {"linear_decay", Schedules::linear_decay},
    {"exponential_decay", Schedules::exponential_decay},
    {"cosine_decay", Schedules::cosine_decay},
    {"polynomial_decay", Schedules::polynomial_decay},
};

const FunctionRow kFunctions[] = {
    schedule(
        "constant", "The same value at each step.", scheduled<Schedules::constant>,
        +[]() -> Examples {
          return {{{0.5, list(0, 3, 8, 20)}, {}, list(f(0.5), f(0.5), f(0.5), f(0.5))}};
        }),
    schedule(
        "linear_decay", "From the value to 0 in a line, after a rise from 0.",
        scheduled<Schedules::linear_decay>,
        +[]() -> Examples {
          return {{{0.5, list(0, 3, 8, 20)},
                   {{"warmup", 4}, {"steps", 12}},
                   list(f(0), f(0.375), f(0.25), f(0))}};
        }),
    schedule(
        "exponential_decay", "The value times a power of the decay rate.",
        scheduled<Schedules::exponential_decay>,
        +[]() -> Examples {
          return {{{0.5, list(0, 3, 8, 20)},
                   {{"decay_rate", 0.5}, {"transition_steps", 4}, {"transition_begin", 2}},
                   list(f(0.5), f(0.420448208), f(0.176776695), f(0.0220970869))}};
        }),
    schedule(
        "cosine_decay", "Half a period of the cosine, from the value down.",
        scheduled<Schedules::cosine_decay>,
        +[]() -> Examples {
          return {{{0.5, list(0, 3, 8, 20)},
                   {{"alpha", 0.1}},
                   list(f(0.5), f(0.407251682), f(0.0929711763), f(0.05))}};
        }),
    schedule(
        "polynomial_decay", "From the value to the end value by a power.",
        scheduled<Schedules::polynomial_decay>,
        +[]() -> Examples {
          return {{{0.5, list(0, 3, 8, 20)},
                   {{"power", 3}, {"end_value", 0.25}},
                   list(f(0.5), f(0.33575), f(0.252), f(0.25))}};
        }),
};

}  // namespace

Schedule schedule_from(const Value& value) {
  const auto [name, rate] = ops::FromValue<std::pair<std::string, double>>::get(value);
  for (const NamedSchedule& entry : kNamed)
    if (entry.name == name) return entry.make(rate, {});
  throw ArgumentError("call", "unknown schedule `" + name + "`");
}

const ops::Family kSchedulesFamily{"schedules", {}, kFunctions};

}  // namespace nx::optim
