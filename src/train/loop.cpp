// A loop: what is attached to it, its state, and its jitted step.
#include "nx/loop.h"

#include <algorithm>

#include "nx/creation.h"
#include "nx/safetensors.h"
#include "train/run.h"
#include "train/step.h"

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

void Progress::add_metric(const std::string& name, double value) const {
  if (name == "loss" || all_.metrics.count(name) != 0)
    throw ArgumentError("add_metric", "a metric called `" + name + "` is there already");
  all_.metrics[name] = tensor(static_cast<float>(value));
}

Filter always() { return [](std::int64_t) { return true; }; }
Filter once() { return [](std::int64_t count) { return count == 1; }; }
Filter every(std::int64_t n) {
  if (n < 1) throw ArgumentError("every", "expected at least 1, got " + std::to_string(n));
  return [n](std::int64_t count) { return (count - 1) % n == 0; };
}
Filter after(std::int64_t n) { return [n](std::int64_t count) { return count > n; }; }
Filter before(std::int64_t n) { return [n](std::int64_t count) { return count < n; }; }

Loop::Loop(Parts parts) : parts_(std::move(parts)) {
  if (parts_.trains && !parts_.loss) throw ArgumentError("trainer", "the loss is empty");
}

Loop& Loop::metric(const std::string& name, MetricFunction function) {
  const bool taken = name == "loss" || std::any_of(metrics_.begin(), metrics_.end(),
                                                   [&](const auto& m) { return m.first == name; });
  if (taken) throw ArgumentError("metric", "a metric called `" + name + "` is there already");
  if (!function) throw ArgumentError("metric", "the function of `" + name + "` is empty");
  metrics_.emplace_back(name, std::move(function));
  jitted_ = nullptr;  // the step measures it
  validator_ = nullptr;
  return *this;
}

Loop& Loop::handle_event(Event event, Handler handler, Filter filter) {
  if (!handler || !filter)
    throw ArgumentError("handle_event", "expected a handler and a filter, got an empty function");
  handlers_.push_back({event, std::move(handler), std::move(filter)});
  return *this;
}

Loop& Loop::validate(Source data) {
  if (!data) throw ArgumentError("validate", "the source is empty");
  if (validation_) throw ArgumentError("validate", "a validation source is there already");
  validation_ = std::move(data);
  return *this;
}

std::map<std::string, Tensor> Loop::zero_metrics() const {
  std::map<std::string, Tensor> zeros;
  if (parts_.loss) zeros["loss"] = tensor(0.f);
  for (const auto& [name, function] : metrics_) zeros[name] = tensor(0.f);
  return zeros;
}

StepState Loop::init(std::uint64_t seed) const {
  StepState state;
  state.model_state = parts_.model.init(seed);
  if (parts_.trains) state.optimizer_state = parts_.optimizer.init(state.model_state.parameters);
  state.metrics = zero_metrics();
  state.seen = tensor(0.f);
  return state;
}

StepState Loop::restore(const std::string& path) const {
  StepState state = init();
  Checkpoint checkpoint{std::move(state.model_state), std::move(state.optimizer_state)};
  load(path, checkpoint);
  state.model_state = std::move(checkpoint.model_state);
  state.optimizer_state = std::move(checkpoint.optimizer_state);
  return state;
}

namespace {

void check(const Source& data, const RunOptions& o) {
  if (!data) throw ArgumentError("run", "the source is empty");
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

void Loop::compile_for(const RunOptions& options) {
  const std::string key = options.compiler +
                          (options.donation == DonationPolicy::strict ? " strict" : " lenient") +
                          (options.debug ? " checked" : "");
  if (jitted_ != nullptr && jitted_for_ == key) return;
  JitOptions o;
  o.name = parts_.trains ? "train_step" : "eval_step";
  o.compiler = options.compiler;
  o.donation = options.donation;
  const StepFunction step = Step{parts_, metrics_, options.debug != nullptr};
  jitted_ = std::make_shared<const Jitted<StepFunction>>(jit(step, o));
  jitted_for_ = key;
}

StepState Loop::run_owned(const Source& data, StepState state, const RunOptions& options) {
  check(data, options);
  if (options.donate_state && !parts_.trains)
    throw ArgumentError("run", "an evaluator never donates its state; leave donate_state out");
  compile_for(options);
  for (Attached& attached : handlers_) attached.count = 0;
  Run run(*this, options, std::move(state));
  run.run(data);
  return run.state;
}

StepState Loop::run(const Source& data, const RunOptions& options) {
  const Stopwatch watch;
  StepState state = init(options.seed);
  DebugLog(options.debug).line("initialised the state in {:.3f} ms", watch.ms());
  return run_owned(data, std::move(state), options);
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
