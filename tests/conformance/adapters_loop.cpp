// Cases of events, filters and handlers. There the loop adds up its items; here they are batches of
// one row for a loop that only measures, and what they add up to is kept beside it.
#include <algorithm>
#include <numeric>

#include "conformance/expression.h"
#include "conformance/run.h"
#include "nx/creation.h"
#include "nx/loop.h"
#include "nx/reduce.h"

namespace nx::conformance {
namespace {

using ops::Value;
using train::Action;
using train::Event;
using train::Progress;

constexpr Event kEvents[] = {Event::started,
                             Event::epoch_started,
                             Event::iteration_started,
                             Event::iteration_completed,
                             Event::epoch_completed,
                             Event::epoch_halted,
                             Event::halted,
                             Event::completed};

Event event_named(const std::string& name) {
  for (const Event event : kEvents)
    if (train::name_of(event) == name) return event;
  throw ArgumentError("handle_event", "unknown event: " + name);
}

Tensor row_of(double value) { return tensor({{value}}, {.type = DType::f32}); }

/// What a loop did, told as the reference tells it.
class Recorder {
 public:
  Recorder(std::vector<std::int64_t> items, train::RunOptions options)
      : loop(train::evaluator(nn::activation(nn::input("x", {-1, 1}), "linear"))),
        items_(std::move(items)),
        options_(std::move(options)) {}

  train::Loop loop;
  std::int64_t completed_epochs = 0;

  /// Counts what goes by. To be called before other handlers are attached.
  void count() {
    on(Event::iteration_completed,
       [this](const Progress& p) { sum_ += items_.at(static_cast<std::size_t>(p.iteration - 1)); });
  }
  /// Epochs that have gone by. To be called after the other handlers.
  void count_epochs() {
    on(Event::epoch_completed, [this](const Progress&) { ++completed_epochs; });
    on(Event::halted, [this](const Progress&) { status_ = "halted"; });
    on(Event::completed, [this](const Progress&) { status_ = "completed"; });
  }
  /// Records an event. An epoch that is halted is none that has gone by there, nor is its last
  /// step.
  void record(Event event, train::Filter filter = train::always()) {
    loop.handle_event(
        event,
        [this, event](const Progress& p) {
          std::int64_t iteration = p.iteration;
          const bool within = event == Event::iteration_completed ||
                              (event == Event::epoch_halted && last_ == Event::iteration_completed);
          if (within) --iteration;
          last_ = event;
          events_.push_back(Value::List{std::string(train::name_of(event)), completed_epochs,
                                        iteration, p.epochs, sum_});
          return Action::proceed;
        },
        std::move(filter));
  }
  void run() {
    std::vector<train::Batch> batches;
    for (const std::int64_t item : items_)
      batches.emplace_back(row_of(static_cast<double>(item)), row_of(0));
    loop.run(train::source(batches), options_);
    if (status_.empty()) throw InternalError("run", "neither completed nor halted");
  }
  /// The events, without those with which the reference does not end.
  Value::List events() const {
    Value::List list = events_;
    const auto ends_with = [&](const char* name) {
      return !list.empty() && *list.back().as<Value::List>()->front().as<std::string>() == name;
    };
    if (ends_with("completed")) list.pop_back();
    if (ends_with("halted")) list.pop_back();
    return list;
  }
  Value output() const {
    Value::Map metrics;
    for (std::int64_t epoch = 0; epoch < options_.epochs; ++epoch)
      metrics[std::to_string(epoch)] = Value::Map{};
    return Value::Map{{"epoch", completed_epochs},
                      {"iteration", 0},
                      {"metrics", std::move(metrics)},
                      {"status", status_},
                      {"sum", tensor(sum_, {.type = DType::s32})}};
  }

 private:
  template <class F>
  void on(Event event, F f) {
    loop.handle_event(event, [f](const Progress& p) {
      f(p);
      return Action::proceed;
    });
  }

  std::vector<std::int64_t> items_;
  train::RunOptions options_;
  std::int64_t sum_ = 0;
  Event last_ = Event::started;
  Value::List events_;
  std::string status_;
};

std::vector<std::int64_t> items_of(const Json& list) {
  std::vector<std::int64_t> items;
  for (const Json& item : list)
    items.push_back(tensor_from(value_of(item)).to_number<std::int64_t>());
  return items;
}

train::RunOptions options_of_run(const Case& c, const Setup& setup) {
  train::RunOptions options;
  options.compiler = setup.compiler;
  options.epochs = c.opts.value("epochs", 1);
  options.iterations = c.opts.value("iterations", -1);
  return options;
}

std::string text_option(const Case& c, const char* name) {
  return *value_of(c.opts.at(name)).as<std::string>();
}

/// loop_events: all events, and perhaps a handler that halts.
Value run_events(const Case& c, const Setup& setup) {
  Recorder recorder(items_of(c.args.at(0)), options_of_run(c, setup));
  recorder.count();
  for (const Event event : kEvents) recorder.record(event);
  if (c.opts.contains("halting_event")) {
    const Action action =
        text_option(c, "status") == "halt_loop" ? Action::halt_loop : Action::halt_epoch;
    const Event event = event_named(text_option(c, "halting_event"));
    recorder.loop.handle_event(event, [&recorder, action, event](const Progress& p) {
      // Recorded with: when epoch = 0 and iteration <= 1.
      const std::int64_t iteration = p.iteration - (event == Event::iteration_completed);
      return recorder.completed_epochs == 0 && iteration <= 1 ? action : Action::proceed;
    });
  }
  recorder.count_epochs();
  recorder.run();
  return Value::Map{{"events", recorder.events()}, {"output", recorder.output()}};
}

/// `always`, `once`, pairs such as `every: 2`, of which all must agree.
train::Filter filter_of(const Json& json) {
  if (!json.is_object() || !json.contains("kw")) {
    const std::string name = *value_of(json).as<std::string>();
    if (name == "always") return train::always();
    if (name == "once") return train::once();
    if (name == "function: iteration is odd") return [](std::int64_t n) { return n % 2 == 0; };
    throw ArgumentError("filter", "unknown filter: " + name);
  }
  std::vector<train::Filter> filters;
  for (const Json& pair : json.at("kw")) {
    const auto name = pair.at(0).get<std::string>();
    const auto n = pair.at(1).get<std::int64_t>();
    if (name == "every") filters.push_back(train::every(n));
    else if (name == "after") filters.push_back(train::after(n));
    else if (name == "before") filters.push_back(train::before(n));
    else throw Skip("a filter that is not there: " + name);
  }
  return [filters](std::int64_t n) {
    return std::all_of(filters.begin(), filters.end(), [&](const auto& f) { return f(n); });
  };
}

Value run_filter(const Case& c, const Setup& setup) {
  Recorder recorder(items_of(c.args.at(0)), options_of_run(c, setup));
  recorder.count();
  const Event event =
      c.opts.contains("event") ? event_named(text_option(c, "event")) : Event::iteration_completed;
  recorder.record(event, filter_of(c.opts.at("filter")));
  recorder.count_epochs();
  recorder.run();
  return Value::Map{{"events", recorder.events()}, {"output", recorder.output()}};
}

/// loop_early_stop: a metric that takes the given value at the end of each epoch, over three items.
Value run_early_stop(const Case& c, const Setup& setup) {
  Recorder recorder({1, 2, 3}, options_of_run(c, setup));
  recorder.count();
  std::vector<double> values;
  for (const Json& value : c.args.at(0)) values.push_back(value.get<double>());
  recorder.loop.handle_event(Event::epoch_completed, [&values](const Progress& p) {
    p.add_metric("value", values.at(static_cast<std::size_t>(p.epoch)));
    return Action::proceed;
  });
  const bool larger = c.opts.contains("mode") && text_option(c, "mode") == "max";
  const std::string metric = c.opts.contains("monitor") ? text_option(c, "monitor") : "value";
  recorder.loop.early_stop(metric, c.opts.value("patience", 3), 0, larger);
  recorder.record(Event::epoch_completed);
  recorder.count_epochs();
  recorder.run();
  return recorder.events();
}

/// loop_metric: the average of what the items have added up to.
Value run_metric(const Case& c, const Setup& setup) {
  const auto identity = [](const Tensor&, const Tensor& y_pred) { return mean(y_pred); };
  auto loop = train::evaluator(nn::activation(nn::input("x", {-1, 1}), "linear"));
  loop.metric("m", identity);
  if (c.opts.contains("duplicate_name")) loop.metric("m", identity);  // refused
  if (text_option(c, "accumulate") != "running_average")
    throw Skip("a metric that is not an average");
  Value::List list;
  const auto record = [&list](const char* around) {
    return [&list, around](const Progress& p) {
      const Value metrics = Value::Map{{"m", p.state.metrics.at("m")}};
      list.push_back(*around ? Value(Value::Map{{around, metrics}}) : metrics);
      return Action::proceed;
    };
  };
  loop.handle_event(Event::iteration_completed, record(""));
  loop.handle_event(Event::epoch_completed, record("epoch_end"));
  const auto items = items_of(c.args.at(0));
  const std::int64_t all = std::accumulate(items.begin(), items.end(), std::int64_t{0});
  const train::Source sums = [&](std::int64_t epoch) -> train::Reader {
    return
        [&items, i = std::size_t{0}, sum = epoch * all]() mutable -> std::optional<train::Batch> {
          if (i == items.size()) return std::nullopt;
          sum += items[i++];
          return train::Batch{row_of(static_cast<double>(sum)), row_of(0)};
        };
  };
  loop.run(sums, options_of_run(c, setup));
  return list;
}

constexpr AdapterRow kRows[] = {
    {"loop_events", run_events},
    {"loop_filter", run_filter},
    {"loop_early_stop", run_early_stop},
    {"loop_metric", run_metric},
};

}  // namespace

const std::span<const AdapterRow> kLoopAdapters = kRows;

}  // namespace nx::conformance
