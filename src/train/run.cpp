// One run: epochs, batches, calls of the jitted step, events, validation.
#include "train/run.h"

#include <algorithm>

#include "nx/creation.h"
#include "nx/memory.h"
#include "train/step.h"

namespace nx::train {

Loop::Run::Run(Loop& of, const RunOptions& o, StepState from)
    : loop(of), options(o), state(std::move(from)), log_(o.debug) {}

Progress Loop::Run::progress() {
  Progress p(state);
  p.epoch = epoch_;
  p.iteration = iteration_;
  p.total_iterations = total_;
  p.epochs = options.epochs;
  p.steps_per_second = steps_per_second_;
  return p;
}

Action Loop::Run::fire(Event event) {
  Action strongest = Action::proceed;
  int handlers = 0;
  const Stopwatch watch;
  for (Attached& attached : loop.handlers_) {
    if (attached.event != event || !attached.filter(++attached.count)) continue;
    strongest = std::max(strongest, attached.handler(progress()));
    ++handlers;
  }
  constexpr const char* kNames[] = {"proceed", "halt the epoch", "halt the loop"};
  if (handlers > 0)
    log_.line("{}: {} handler{} in {:.3f} ms: {}", name_of(event), handlers,
              handlers == 1 ? "" : "s", watch.ms(), kNames[static_cast<int>(strongest)]);
  return strongest;
}

void Loop::Run::call(std::vector<Tensor> x, std::vector<Tensor> y) {
  const auto steps = static_cast<std::int64_t>(x.size());
  const auto compiled = [&] { return log_ ? loop.jitted_->cache().misses : 0; };
  const Stopwatch watch;
  const auto compiled_before = compiled();
  // The state stays as it is until there is a new one: a call that is refused consumes nothing.
  StepState input = state;
  if (options.donate_state && loop.parts_.trains) {
    input.model_state = donatable(std::move(input.model_state));
    input.optimizer_state = donatable(std::move(input.optimizer_state));
  }
  state = (*loop.jitted_)(std::move(input), std::move(x), std::move(y));
  if (log_) {
    wait(state);
    log_.line("epoch {}, batch {}: {} step{} in {:.3f} ms{}", epoch_, iteration_, steps,
              steps == 1 ? "" : "s", watch.ms(),
              compiled() != compiled_before ? ", compiling included" : "");
    check_finite(iteration_);
  }
  iteration_ += steps;
  total_ += steps;
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin_;
  steps_per_second_ = static_cast<double>(iteration_) / time.count();
  if (options.force_garbage_collection) memory::trim();
}

void Loop::Run::check_finite(std::int64_t first) {
  const std::string found = not_finite(state.checks);
  state.checks.clear();
  if (found.empty()) return;
  log_.line("epoch {}, batch {}: not finite: {}", epoch_, first, found);
  throw ArgumentError(loop.parts_.trains ? "train_step" : "eval_step",
                      fmt::format("epoch {}, batch {}: expected finite values, got NaN or infinity "
                                  "in {}",
                                  epoch_, first, found));
}

void Loop::Run::check_batch(const Batch& batch, std::int64_t at) {
  const auto fail = [&](const std::string& what) {
    throw ArgumentError("run", fmt::format("epoch {}, batch {}: {}", epoch_, at, what));
  };
  const Shape x = batch.first.shape(), y = batch.second.shape();
  if (x.empty() || x[0] == 0)
    fail(fmt::format("expected x with rows along its first axis, got {}", described(batch.first)));
  if (y.empty() || y[0] != x[0])
    fail(fmt::format("expected y with {} rows, one for each of x {}, got {}", x[0],
                     described(batch.first), described(batch.second)));
  if (!options.strict) return;
  for (int i = 0; i < 2; ++i) {
    const std::string got = described(i == 0 ? batch.first : batch.second);
    if (first_[i].empty()) first_[i] = got;
    if (got != first_[i])
      fail(
          fmt::format("{}: expected {} as in the first batch, got {}; `strict` refuses to compile "
                      "the step again",
                      i == 0 ? "x" : "y", first_[i], got));
  }
}

Loop::Run::Batches Loop::Run::read(const Reader& reader) {
  Batches batches;
  while (static_cast<std::int64_t>(batches.first.size()) < options.steps_per_call) {
    const auto at = iteration_ + static_cast<std::int64_t>(batches.first.size());
    if (options.iterations >= 0 && at >= options.iterations) break;
    const Stopwatch watch;
    std::optional<Batch> batch = reader();
    if (!batch) break;
    if (log_) log_.batch(epoch_, at, *batch, watch.ms());
    check_batch(*batch, at);
    batches.first.push_back(std::move(batch->first));
    batches.second.push_back(std::move(batch->second));
  }
  if (batches.first.empty() && iteration_ == 0 && options.iterations != 0)
    throw ArgumentError("run",
                        fmt::format("epoch {}: expected at least one batch, got none", epoch_));
  return batches;
}

void Loop::Run::validate() {
  if (!loop.validation_) return;
  const Stopwatch watch;
  RunOptions with;
  with.compiler = options.compiler;
  Loop validator = loop.validator_ ? *loop.validator_
                                   : Loop(Parts{loop.parts_.model, loop.parts_.loss, {}, false});
  validator.metrics_ = loop.metrics_;
  validator.compile_for(with);  // once, unless the compiler is another
  loop.validator_ = std::make_shared<const Loop>(validator);
  const StepState from{state.model_state, {}, {}, {}, {}};
  const StepState measured = validator.run(loop.validation_, from, with);
  for (const auto& [name, value] : measured.metrics) state.metrics["validation_" + name] = value;
  log_.line("epoch {}: validation in {:.3f} ms", epoch_, watch.ms());
}

Action Loop::Run::run_epoch(const Source& data) {
  iteration_ = 0;
  begin_ = std::chrono::steady_clock::now();
  state.metrics = loop.zero_metrics();
  state.seen = tensor(0.f);
  const Stopwatch watch;
  log_.line("epoch {} begins", epoch_);
  Action action = fire(Event::epoch_started);
  const Reader reader = action == Action::proceed ? data(epoch_) : Reader();
  while (action == Action::proceed) {
    auto [x, y] = read(reader);
    if (x.empty()) break;
    action = fire(Event::iteration_started);
    if (action != Action::proceed) break;
    call(std::move(x), std::move(y));
    action = fire(Event::iteration_completed);
  }
  log_.line("epoch {} ends after {} batches and {:.1f} ms", epoch_, iteration_, watch.ms());
  if (action == Action::halt_loop) return action;
  if (action == Action::halt_epoch) return fire(Event::epoch_halted);
  validate();
  return fire(Event::epoch_completed);
}

void Loop::Run::run(const Source& data) {
  log_.options(options, loop.parts_.trains);
  log_.state(state);
  Action action = fire(Event::started);
  while (epoch_ < options.epochs && action != Action::halt_loop) {
    action = run_epoch(data);
    if (action != Action::halt_loop) ++epoch_;  // `halted` tells of the epoch it happened in
  }
  fire(action == Action::halt_loop ? Event::halted : Event::completed);
}

}  // namespace nx::train
