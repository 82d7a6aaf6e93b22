// One run of a loop: epochs, calls of the jitted step, events, and what is live when something
// throws.
#include "nx/loop.h"

#include <chrono>

#include "nx/memory.h"
#include "nx/grad.h"
#include "nx/metrics.h"
#include "nx/ops.h"

namespace nx::train {

std::string_view name_of(Event event) noexcept {
  constexpr std::string_view kNames[] = {"started", "epoch_started", "iteration_started",
                                         "iteration_completed", "epoch_completed", "epoch_halted",
                                         "halted", "completed"};
  return kNames[static_cast<std::size_t>(event)];
}

double Progress::metric(const std::string& name) const {
  const auto found = state.metrics.find(name);
  if (found == state.metrics.end()) {
    std::string known;
    for (const auto& [other, value] : state.metrics) known += (known.empty() ? "" : ", ") + other;
    throw ArgumentError("metric", "unknown metric; expected one of " + known + ", got " + name);
  }
  return found->second.to_number<double>();
}

Filter always() { return [](std::int64_t) { return true; }; }
Filter once() { return [](std::int64_t count) { return count == 1; }; }
Filter every(std::int64_t n) {
  if (n < 1) throw ArgumentError("every", "expected at least 1, got " + std::to_string(n));
  return [n](std::int64_t count) { return (count - 1) % n == 0; };
}
Filter after(std::int64_t n) { return [n](std::int64_t count) { return count > n; }; }
Filter before(std::int64_t n) { return [n](std::int64_t count) { return count < n; }; }

Loop::Loop(Parts parts) : parts_(std::move(parts)) {}

Loop& Loop::metric(const std::string& name, MetricFunction function) {
  for (const auto& [other, f] : metrics_)
    if (other == name || name == "loss")
      throw ArgumentError("metric", "a metric called `" + name + "` is there already");
  metrics_.emplace_back(name, std::move(function));
  return *this;
}

Loop& Loop::handle_event(Event event, Handler handler, Filter filter) {
  handlers_.push_back({event, std::move(handler), std::move(filter)});
  return *this;
}

StepState Loop::init(std::uint64_t seed) const {
  StepState state;
  state.model_state = parts_.model.init(seed);
  if (parts_.trains) state.optimizer_state = parts_.optimizer.init(state.model_state.parameters);
  if (parts_.trains) state.metrics["loss"] = tensor(0.f);
  for (const auto& [name, function] : metrics_) state.metrics[name] = tensor(0.f);
  state.seen = tensor(0.f);
  return state;
}

StepState Loop::step(const StepState& state, const Tensor& x, const Tensor& y) const {
  StepState next = state;
  const std::int64_t rows = x.shape()[0];
  Tensor output, loss;
  if (parts_.trains) {
    const auto value = [&](Tree parameters) {
      auto [y_pred, model] =
          parts_.model.forward(nn::ModelState{std::move(parameters), state.model_state.state}, x,
                               nn::Mode::kTrain);
      const Tensor mean_loss = mean(parts_.loss(y, y_pred));
      return std::pair(mean_loss, std::pair(y_pred, std::move(model)));
    };
    const auto [result, gradient] = value_and_grad_with_aux(value)(state.model_state.parameters);
    loss = result.first;
    output = result.second.first;
    next.model_state.state = result.second.second;
    auto [updates, optimizer_state] = parts_.optimizer.update(gradient, state.optimizer_state,
                                                              state.model_state.parameters);
    next.optimizer_state = std::move(optimizer_state);
    next.model_state.parameters = optim::apply_updates(state.model_state.parameters, updates);
  } else {
    output = parts_.model.forward(state.model_state, x, nn::Mode::kInference).first;
  }
  const auto average = [&](const std::string& name, const Tensor& measured) {
    next.metrics[name] = nn::running_average(state.metrics.at(name), measured, state.seen, rows);
  };
  if (parts_.trains) average("loss", loss);
  for (const auto& [name, function] : metrics_) average(name, function(y, output));
  next.seen = state.seen + static_cast<float>(rows);
  return next;
}

/// The state of one run, so that last_state is right wherever it ends.
struct Loop::Run {
  Loop& loop;
  const RunOptions& options;
  StepState state;
  std::int64_t epoch = 0, iteration = 0, total = 0;
  double steps_per_second = 0;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

  ~Run() { loop.last_ = state; }

  Action fire(Event event) {
    Action strongest = Action::proceed;
    for (Attached& attached : loop.handlers_) {
      if (attached.event != event || !attached.filter(++attached.count)) continue;
      const Progress progress{state, epoch, iteration, total, options.epochs, steps_per_second};
      strongest = std::max(strongest, attached.handler(progress));
    }
    return strongest;
  }

  void call(std::vector<Tensor> x, std::vector<Tensor> y) {
    const auto steps = static_cast<std::int64_t>(x.size());
    StepState input = state;
    if (options.donate_state && loop.parts_.trains) {
      input.model_state = donatable(std::move(input.model_state));
      input.optimizer_state = donatable(std::move(input.optimizer_state));
    }
    state = (*loop.jitted_)(std::move(input), std::move(x), std::move(y));
    iteration += steps;
    total += steps;
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    steps_per_second = static_cast<double>(iteration) / time.count();
    if (options.force_garbage_collection) memory::trim();
  }

  /// Reads up to K batches; empty at the end of the epoch.
  std::pair<std::vector<Tensor>, std::vector<Tensor>> read(const Reader& reader) {
    std::pair<std::vector<Tensor>, std::vector<Tensor>> batches;
    while (static_cast<std::int64_t>(batches.first.size()) < options.steps_per_call) {
      const auto at = iteration + static_cast<std::int64_t>(batches.first.size());
      if (options.iterations >= 0 && at >= options.iterations) break;
      std::optional<Batch> batch = reader();
      if (!batch) break;
      batches.first.push_back(std::move(batch->first));
      batches.second.push_back(std::move(batch->second));
    }
    return batches;
  }

  Action run_epoch(const Source& data) {
    iteration = 0;
    begin = std::chrono::steady_clock::now();
    for (auto& [name, value] : state.metrics) value = tensor(0.f);
    state.seen = tensor(0.f);
    Action action = fire(Event::epoch_started);
    const Reader reader = action == Action::proceed ? data(epoch) : Reader();
    while (action == Action::proceed) {
      auto [x, y] = read(reader);
      if (x.empty()) break;
      action = fire(Event::iteration_started);
      if (action != Action::proceed) break;
      call(std::move(x), std::move(y));
      action = fire(Event::iteration_completed);
    }
    if (action == Action::proceed) return fire(Event::epoch_completed);
    fire(Event::epoch_halted);
    return action;
  }

  void run(const Source& data) {
    Action action = fire(Event::started);
    for (; epoch < options.epochs && action != Action::halt_loop; ++epoch) action = run_epoch(data);
    fire(action == Action::halt_loop ? Event::halted : Event::completed);
  }
};

namespace {

void check(const RunOptions& o) {
  if (o.epochs < 0)
    throw ArgumentError("run", "expected epochs of at least 0, got " + std::to_string(o.epochs));
  if (o.iterations < -1)
    throw ArgumentError("run", "expected iterations of at least 0, or -1 for all, got " +
                                   std::to_string(o.iterations));
  if (o.steps_per_call < 1)
    throw ArgumentError("run", "expected steps_per_call of at least 1, got " +
                                   std::to_string(o.steps_per_call));
}

}  // namespace

StepState Loop::run_owned(const Source& data, StepState state, const RunOptions& options) {
  check(options);
  if (options.donate_state && !parts_.trains)
    throw ArgumentError("run", "an evaluator never donates its state; leave donate_state out");
  const std::string key = options.compiler + (options.strict == DonationPolicy::strict ? "!" : "?");
  if (jitted_ == nullptr || jitted_for_ != key) {
    // The function keeps what it needs of this loop, which may move or die before it.
    auto self = std::make_shared<Loop>(parts_);
    self->metrics_ = metrics_;
    const StepFunction steps = [self](StepState s, std::vector<Tensor> x, std::vector<Tensor> y) {
      for (std::size_t i = 0; i < x.size(); ++i) s = self->step(s, x[i], y[i]);
      return s;
    };
    JitOptions jit_options;
    jit_options.name = parts_.trains ? "train_step" : "eval_step";
    jit_options.compiler = options.compiler;
    jit_options.donation = options.strict;
    jitted_ = std::make_shared<const Jitted<StepFunction>>(jit(steps, jit_options));
    jitted_for_ = key;
  }
  for (Attached& attached : handlers_) attached.count = 0;
  Run run{*this, options, std::move(state)};
  run.run(data);
  return run.state;
}

StepState Loop::run(const Source& data, const RunOptions& options) {
  return run_owned(data, init(options.seed), options);
}

StepState Loop::run(const Source& data, const StepState& from, const RunOptions& options) {
  StepState state = from;
  if (options.donate_state) {
    state.model_state = clone(std::move(state.model_state));
    state.optimizer_state = clone(std::move(state.optimizer_state));
  }
  return run_owned(data, std::move(state), options);
}

StepState Loop::run(const Source& data, StepState&& from, const RunOptions& options) {
  return run_owned(data, std::move(from), options);
}

DonationReport Loop::donation_report() const {
  if (jitted_ == nullptr) throw ArgumentError("donation_report", "the loop has not run yet");
  return jitted_->donation_report();
}
std::string Loop::explain() const {
  if (jitted_ == nullptr) throw ArgumentError("explain", "the loop has not run yet");
  return jitted_->explain();
}
CallCounters Loop::counters() const { return jitted_ ? jitted_->counters() : CallCounters(); }

}  // namespace nx::train
