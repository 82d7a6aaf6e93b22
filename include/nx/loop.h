// layer: train
// The training loop: a jitted step over a state, driven through events and handlers.
//
//   auto loop = nx::train::trainer(model, "categorical_cross_entropy", nx::optim::adam());
//   loop.metric("accuracy", nx::nn::accuracy).log(50);
//   nx::train::StepState state = loop.run(batches, {.epochs = 3, .donate_state = true});
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nx/data.h"
#include "nx/jit.h"
#include "nx/nn.h"
#include "nx/optim.h"

namespace nx::train {

/// What a step turns into its successor. Donated: model_state and optimizer_state (R24).
struct StepState {
  nn::ModelState model_state;
  optim::State optimizer_state;
  std::map<std::string, Tensor> metrics;  // averages over the epoch so far, weighted by rows
  Tensor seen;                            // rows of the epoch so far
};
NX_CONTAINER(StepState, model_state, optimizer_state, metrics, seen)

using Batch = std::pair<Tensor, Tensor>;
/// A reader of one epoch: the next batch, or nothing after the last.
using Reader = std::function<std::optional<Batch>()>;
/// Anything that can be read once for each epoch.
using Source = std::function<Reader(std::int64_t epoch)>;
NX_API Source source(const data::Batches& batches);  ///< prefetched; `batches` must outlive it
NX_API Source source(std::vector<Batch> batches);

enum class Event : std::uint8_t {
  started, epoch_started, iteration_started, iteration_completed, epoch_completed, epoch_halted,
  halted, completed,
};
NX_API std::string_view name_of(Event event) noexcept;

/// What a handler sees. Tensors of `state` are live until the next step: clone what is to be kept.
struct Progress {
  const StepState& state;
  std::int64_t epoch = 0, iteration = 0;        // from 0; iteration counts within the epoch
  std::int64_t total_iterations = 0;
  std::int64_t epochs = 0;
  double steps_per_second = 0;
  /// The value of a metric; waits for the step. Throws ArgumentError for an unknown name.
  NX_API double metric(const std::string& name) const;
};

enum class Action : std::uint8_t { proceed, halt_epoch, halt_loop };
using Handler = std::function<Action(const Progress&)>;
/// Whether a handler runs, given the number of times its event has happened (from 1).
using Filter = std::function<bool(std::int64_t count)>;
NX_API Filter always();
NX_API Filter once();
NX_API Filter every(std::int64_t n);   ///< the first time, and each n-th after it
NX_API Filter after(std::int64_t n);
NX_API Filter before(std::int64_t n);

using LossFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;
using MetricFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

struct RunOptions {
  std::int64_t epochs = 1;
  std::int64_t iterations = -1;          ///< At most so many in an epoch; -1: all the data.
  std::string compiler = {};
  DonationPolicy strict = DonationPolicy::strict;
  bool donate_state = false;
  bool force_garbage_collection = false; ///< Give cached memory back after each call.
  std::int64_t steps_per_call = 1;       ///< K steps in one call; handlers run after each K.
  std::uint64_t seed = 0;                ///< Of the initial parameters.
};

class NX_API Loop {
 public:
  /// The untyped parts; use trainer() and evaluator().
  struct Parts {
    nn::Model model;
    LossFunction loss;
    optim::Update optimizer;
    bool trains = true;
  };
  explicit Loop(Parts parts);

  Loop& metric(const std::string& name, MetricFunction function);
  Loop& handle_event(Event event, Handler handler, Filter filter = always());
  /// A progress line on stderr (rewritten in place on a terminal) every n iterations.
  Loop& log(std::int64_t every_n = 50);
  /// Evaluates on other data after each epoch; its metrics appear as `validation_NAME`.
  Loop& validate(Source data);
  /// Saves model and optimizer state after each epoch; the file is whole at any time.
  Loop& checkpoint(const std::string& path);
  /// Ends the loop when the metric has not improved by `min_delta` for `patience` epochs.
  Loop& early_stop(const std::string& metric, std::int64_t patience = 3, double min_delta = 0,
                   bool larger_is_better = false);

  StepState init(std::uint64_t seed = 0) const;
  /// Trains (or evaluates) from a fresh state.
  StepState run(const Source& data, const RunOptions& options = {});
  /// Goes on from a state. An lvalue is copied once before the first donated step; an rvalue is
  /// consumed (R25).
  StepState run(const Source& data, const StepState& from, const RunOptions& options = {});
  StepState run(const Source& data, StepState&& from, const RunOptions& options = {});

  /// The newest live state, also after an exception (R26).
  const StepState& last_state() const noexcept { return last_; }
  /// What became of the donated leaves of the step; throws ArgumentError before the first.
  DonationReport donation_report() const;
  std::string explain() const;
  CallCounters counters() const;

 private:
  struct Attached {
    Event event;
    Handler handler;
    Filter filter;
    std::int64_t count = 0;
  };
  struct Run;
  StepState step(const StepState& state, const Tensor& x, const Tensor& y) const;
  StepState run_owned(const Source& data, StepState state, const RunOptions& options);

  Parts parts_;
  std::vector<std::pair<std::string, MetricFunction>> metrics_;
  std::vector<Attached> handlers_;
  StepState last_;
  using StepFunction =
      std::function<StepState(StepState, std::vector<Tensor>, std::vector<Tensor>)>;
  std::shared_ptr<const Jitted<StepFunction>> jitted_;
  std::string jitted_for_;
};

/// A loop that trains: gradient of the loss, update, metrics. `loss` is a name
/// (categorical_cross_entropy: from logits when the model does not end in softmax, sparse) or a
/// function. Throws ShapeError at the first step when the model's output does not fit the loss.
NX_API Loop trainer(const nn::Model& model, const std::string& loss, const optim::Update& optimizer);
NX_API Loop trainer(const nn::Model& model, LossFunction loss, const optim::Update& optimizer);
/// A loop that only measures: never changes or donates the state (R27).
NX_API Loop evaluator(const nn::Model& model);
/// The metrics of `model` with this state over the data.
NX_API std::map<std::string, double> evaluate(
    const nn::Model& model, const nn::ModelState& state, const Source& data,
    const std::vector<std::pair<std::string, MetricFunction>>& metrics,
    const std::string& compiler = {});

}  // namespace nx::train
