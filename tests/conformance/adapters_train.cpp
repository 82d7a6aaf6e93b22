// Cases of training: a small network, step by step and over epochs.
#include "conformance/expression.h"
#include "conformance/run.h"
#include "conformance/trees.h"
#include "nx/loop.h"
#include "nx/losses.h"
#include "nx/metrics.h"
#include "nx/ops.h"
#include "optim/families.h"

namespace nx::conformance {
namespace {

using ops::Value;

/// dense(4, relu), dense(2, softmax), over three features; with names as in most cases.
nn::Model mlp(bool named) {
  const auto name = [&](const char* text) { return std::string(named ? text : ""); };
  const nn::Model x = nn::input("x", {-1, 3});
  const nn::Model hidden = nn::dense(x, 4, {.activation = "relu", .name = name("d1")});
  return nn::dense(hidden, 2, {.activation = "softmax", .name = name("d2")});
}

/// The loss of that name.
train::LossFunction loss_named(const std::string& name) {
  const auto* const row = find_function("Axon.Losses." + name);
  if (row == nullptr) throw Skip("a loss that is not there: " + name);
  return [row](const Tensor& y_true, const Tensor& y_pred) {
    const std::vector<Value> args{y_true, y_pred};
    return tensor_from((*row->call)(args, {}));
  };
}

train::MetricFunction metric_named(const std::string& name) {
  const auto* const row = find_function("Axon.Metrics." + name);
  if (row == nullptr) throw Skip("a metric that is not there: " + name);
  return [row](const Tensor& y_true, const Tensor& y_pred) {
    const std::vector<Value> args{y_true, y_pred};
    return tensor_from((*row->call)(args, {}));
  };
}

/// An optimizer by name with a learning rate.
optim::Update optimizer_named(const std::string& name, double rate) {
  return optim::update_from(
      Value::List{Value(name), Value::List(1, Value::List{"learning_rate", rate})});
}

std::string text_option(const Case& c, const char* name) {
  return *value_of(c.opts.at(name)).as<std::string>();
}

struct Training {
  nn::Model model;
  train::LossFunction loss;
  optim::Update optimizer;
};

/// What the case says; the rates are those with which it was recorded.
Training training_of(const Case& c) {
  if (c.opts.contains("optimizer")) {
    const std::string name = text_option(c, "optimizer");
    const double rate = name == "sgd" ? 0.1 : name == "adam" ? 0.05 : 0.01;
    return {mlp(false), loss_named(text_option(c, "loss")), optimizer_named(name, rate)};
  }
  const std::string variant = text_option(c, "variant");
  const auto loss = loss_named("categorical_cross_entropy");
  if (variant == "adamw_decay")
    return {mlp(true), loss, optim::adamw({.learning_rate = 0.05, .decay = 0.01})};
  if (variant == "momentum")
    return {mlp(true), loss_named("mean_squared_error"),
            optim::sgd({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true})};
  throw Skip("a kind of training that is not there");
}

/// train_loop: losses (means so far), predictions and parameters of steps on one batch.
Value run_train_loop(const Case& c, const Setup& setup) {
  const Training training = training_of(c);
  const auto x = tensor_from(value_of(c.args.at(0))), y = tensor_from(value_of(c.args.at(1)));
  const std::int64_t steps = c.opts.value("steps", 3);
  auto loop = train::trainer(training.model, training.loss, training.optimizer);
  train::StepState state = loop.init(c.opts.value("seed", 42));
  nn::ModelState before = state.model_state;
  const Value init = value_of_tree(merged(before.parameters, before.state));
  Value::List list;
  loop.handle_event(train::Event::iteration_completed, [&](const train::Progress& p) {
    const nn::ModelState& now = p.state.model_state;
    Value::Map step{{"loss", p.state.metrics.at("loss")},
                    {"params", value_of_tree(merged(now.parameters, now.state))},
                    {"y_pred", training.model.forward(before, x, nn::Mode::kTrain).first}};
    if (c.opts.contains("variant")) {
      step["i"] = tensor(p.iteration);
      step["loss_scale"] = Value::Map{};
    }
    list.push_back(std::move(step));
    before = now;
    return train::Action::proceed;
  });
  const std::vector<train::Batch> batches(static_cast<std::size_t>(steps), {x, y});
  train::RunOptions options;
  options.compiler = setup.compiler;
  loop.run(train::source(batches), std::move(state), options);
  return Value::Map{{"init_params", init}, {"steps", std::move(list)}};
}

/// loop_run: metrics of each epoch and the last parameters.
Value run_loop(const Case& c, const Setup& setup) {
  if (!c.opts.contains("optimizer"))  // no data: refused
    return train::trainer(mlp(true), loss_named("mean_squared_error"), optim::sgd())
                   .run(train::source(std::vector<train::Batch>{}))
                   .metrics.empty()
               ? Value()
               : Value("ran");
  auto loop =
      train::trainer(mlp(true), loss_named(text_option(c, "loss")),
                     optimizer_named(text_option(c, "optimizer"), c.opts.at("lr").get<double>()));
  const std::string metric = text_option(c, "metric");
  loop.metric(metric, metric_named(metric));
  Value::List epochs;
  // The reference's loss is the mean over the steps of all epochs but the last one; ours is the
  // mean over the steps of the epoch. Of ours the losses of the steps are found, and of them that
  // mean.
  std::vector<double> losses;
  double before = 0;
  loop.handle_event(train::Event::iteration_completed, [&](const train::Progress& p) {
    const double so_far = p.metric("loss") * static_cast<double>(p.iteration);
    losses.push_back(so_far - (p.iteration == 1 ? 0 : before));
    before = so_far;
    return train::Action::proceed;
  });
  loop.handle_event(train::Event::epoch_completed, [&](const train::Progress& p) {
    Value::Map metrics;
    for (const auto& [name, value] : p.state.metrics) metrics[name] = value;
    double sum = 0;
    for (std::size_t i = 0; i + 1 < losses.size(); ++i) sum += losses[i];
    metrics["loss"] = tensor(sum / static_cast<double>(losses.size() - 1), {.type = f32});
    epochs.push_back(std::move(metrics));
    return train::Action::proceed;
  });
  std::vector<train::Batch> batches;
  const Tensor y = tensor_from(value_of(c.args.at(1)));
  for (const Json& x : c.args.at(0)) batches.emplace_back(tensor_from(value_of(x)), y);
  train::RunOptions options;
  options.compiler = setup.compiler;
  options.epochs = c.opts.at("epochs").get<std::int64_t>();
  options.seed = c.opts.at("seed").get<std::uint64_t>();
  const train::StepState end = loop.run(train::source(batches), options);
  return Value::Map{{"metrics_per_epoch", std::move(epochs)},
                    {"params", value_of_tree(end.model_state.parameters)}};
}

constexpr AdapterRow kRows[] = {
    {"train_loop", run_train_loop},
    {"loop_run", run_loop},
};

}  // namespace

const std::span<const AdapterRow> kTrainAdapters = kRows;

}  // namespace nx::conformance
