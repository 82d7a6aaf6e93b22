// Ready handlers (log, validate, checkpoint, early stop), sources of batches, and the loops that
// most programs want.
#include <unistd.h>

#include <cstdio>
#include <limits>

#include "nx/loop.h"
#include "nx/ops.h"
#include "nx/safetensors.h"
#include "train/named_loss.h"

namespace nx::train {
namespace {

std::string formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// `epoch 1/3  iteration 468  3120 steps/s  accuracy 0.851  loss 0.412`
std::string progress_line(const Progress& p) {
  std::string line = "epoch " + std::to_string(p.epoch + 1) + "/" + std::to_string(p.epochs) +
                     "  batch " + std::to_string(p.iteration) + "  " +
                     formatted("%.0f", p.steps_per_second) + " steps/s";
  for (const auto& [name, value] : p.state.metrics)
    line += "  " + name + " " + formatted("%.4f", p.metric(name));
  return line;
}

void show(const Progress& p, bool last) {
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  std::fprintf(stderr, terminal ? "\r\033[K%s%s" : "%s%s", progress_line(p).c_str(),
               terminal && !last ? "" : "\n");
  std::fflush(stderr);
}

}  // namespace

Source source(const data::Batches& batches, int ahead) {
  if (ahead < 0)
    throw ArgumentError("source", "expected at least 0 batches ahead, got " + std::to_string(ahead));
  if (ahead == 0)
    return [&batches](std::int64_t epoch) -> Reader {
      return [&batches, epoch, next = std::int64_t{0}]() mutable -> std::optional<Batch> {
        if (next == batches.count()) return std::nullopt;
        return batches.get(epoch, next++);
      };
    };
  return [&batches, ahead](std::int64_t epoch) -> Reader {
    auto reader = std::make_shared<data::Prefetch>(batches, epoch, ahead);
    return [reader] { return reader->next(); };
  };
}

Source source(std::vector<Batch> batches) {
  if (batches.empty()) throw ArgumentError("source", "the data set is empty");
  auto shared = std::make_shared<const std::vector<Batch>>(std::move(batches));
  return [shared](std::int64_t) -> Reader {
    return [shared, next = std::size_t{0}]() mutable -> std::optional<Batch> {
      if (next == shared->size()) return std::nullopt;
      return (*shared)[next++];
    };
  };
}

Loop& Loop::log(std::int64_t every_n) {
  if (every_n < 0)
    throw ArgumentError("log", "expected at least 0 iterations, got " + std::to_string(every_n));
  if (every_n > 0)
    handle_event(Event::iteration_completed, [](const Progress& p) {
      show(p, false);
      return Action::proceed;
    }, every(every_n));
  return handle_event(Event::epoch_completed, [](const Progress& p) {
    show(p, true);
    return Action::proceed;
  });
}

Loop& Loop::checkpoint(const std::string& path) {
  return handle_event(Event::epoch_completed, [path](const Progress& p) {
    save(path, Checkpoint{p.state.model_state, p.state.optimizer_state});
    return Action::proceed;
  });
}

Loop& Loop::early_stop(const std::string& metric, std::int64_t patience, double min_delta,
                       bool larger_is_better) {
  if (patience < 1)
    throw ArgumentError("early_stop", "expected a patience of at least 1, got " +
                                          std::to_string(patience));
  struct Best {
    double value = std::numeric_limits<double>::infinity();
    std::int64_t waited = 0;
  };
  auto best = std::make_shared<Best>();
  handle_event(Event::started, [best](const Progress&) {
    *best = Best();
    return Action::proceed;
  });
  return handle_event(Event::epoch_completed, [=](const Progress& p) {
    const double value = larger_is_better ? -p.metric(metric) : p.metric(metric);
    if (value <= best->value - min_delta) {
      best->value = value;
      best->waited = 0;
    } else {
      ++best->waited;
    }
    return best->waited >= patience ? Action::halt_loop : Action::proceed;
  });
}

Loop trainer(const nn::Model& model, LossFunction loss, const optim::Update& optimizer) {
  return Loop(Loop::Parts{model, std::move(loss), optimizer, true});
}

Loop trainer(const nn::Model& model, const std::string& loss, const optim::Update& optimizer) {
  return trainer(model, loss_named(loss, model), optimizer);
}

Loop evaluator(const nn::Model& model) { return Loop(Loop::Parts{model, {}, {}, false}); }

std::map<std::string, double> evaluate(
    const nn::Model& model, const nn::ModelState& state, const Source& data,
    const std::vector<std::pair<std::string, MetricFunction>>& metrics,
    const std::string& compiler) {
  Loop loop = evaluator(model);
  for (const auto& [name, function] : metrics) loop.metric(name, function);
  const StepState begin{state, {}, {}, {}, {}};
  RunOptions options;
  options.compiler = compiler;
  const StepState end = loop.run(data, begin, options);
  std::map<std::string, double> values;
  for (const auto& [name, value] : end.metrics) values[name] = value.to_number<double>();
  return values;
}

}  // namespace nx::train
