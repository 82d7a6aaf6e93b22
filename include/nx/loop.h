// layer: train
// The training loop: a jitted step over a state, driven through events and handlers.
//
//   auto loop = nx::train::trainer(model, "categorical_cross_entropy", nx::optim::adam());
//   loop.metric("accuracy", nx::nn::accuracy).log(50);
//   nx::train::StepState state = loop.run(batches, {.epochs = 3, .donate_state = true});
#pragma once

#include <functional>
#include <iosfwd>
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
  std::map<std::string, Tensor> checks;   // only within a step that is debugged
};
NX_CONTAINER(StepState, model_state, optimizer_state, metrics, seen, checks)

/// What `Loop::checkpoint` writes and `Loop::restore` reads.
struct Checkpoint {
  nn::ModelState model_state;
  optim::State optimizer_state;
};
NX_CONTAINER(Checkpoint, model_state, optimizer_state)

using Batch = std::pair<Tensor, Tensor>;
/// A reader of one epoch: the next batch, or nothing after the last.
using Reader = std::function<std::optional<Batch>()>;
/// Anything that can be read once for each epoch.
using Source = std::function<Reader(std::int64_t epoch)>;
/// The batches of a data set, which must outlive the source, in the order of the epoch. A thread
/// prepares up to `ahead` of them in advance; with 0 each is made when it is asked for, so that no
/// more than one is in memory. Throws ArgumentError when `ahead` is negative.
NX_API Source source(const data::Batches& batches, int ahead = 2);
/// The same batches in each epoch. Throws ArgumentError when there are none.
NX_API Source source(std::vector<Batch> batches);

/// A run ends with `halted` when a handler halted the loop, of the epoch and iteration where it
/// did, else with `completed`. `epoch_halted` stands for the `epoch_completed` of an epoch that a
/// handler halted while the loop goes on.
enum class Event : std::uint8_t {
  started, epoch_started, iteration_started, iteration_completed, epoch_completed, epoch_halted,
  halted, completed,
};
NX_API std::string_view name_of(Event event) noexcept;

/// What a handler sees. Tensors of `state` are live until the next step: clone what is to be kept.
class NX_API Progress {
 public:
  const StepState& state;
  std::int64_t epoch = 0, iteration = 0;        // from 0; iteration counts within the epoch
  std::int64_t total_iterations = 0;
  std::int64_t epochs = 0;
  double steps_per_second = 0;
  /// The value of a metric; waits for the step. Throws ArgumentError for an unknown name.
  double metric(const std::string& name) const;
  /// Adds a metric for the handlers that come later and for the result; it lasts until the next
  /// epoch begins. Throws ArgumentError for the name of a metric that the steps measure.
  void add_metric(const std::string& name, double value) const;

 private:
  friend class Loop;
  explicit Progress(StepState& all) : state(all), all_(all) {}
  StepState& all_;
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
  std::string compiler = {};             ///< As in JitOptions.
  /// Refuse a batch whose types or shapes differ from the first one's (ArgumentError), where
  /// otherwise the step is compiled once more.
  bool strict = false;
  bool donate_state = false;
  DonationPolicy donation = DonationPolicy::strict;
  bool force_garbage_collection = false; ///< Give cached memory back after each call.
  std::int64_t steps_per_call = 1;       ///< K steps in one call; handlers run after each K.
  std::uint64_t seed = 0;                ///< Of the initial parameters.
  /// Tells the stream about state, batches, steps, handlers and their times, and checks within
  /// each step that batch, loss, gradients and state are finite: the first step where one is not
  /// throws ArgumentError and names it. Donation works as without.
  std::ostream* debug = nullptr;
};

class NX_API Loop {
 public:
  /// The untyped parts; use trainer() and evaluator().
  struct Parts {
    nn::Model model;
    LossFunction loss;  // measured where there is one, also where nothing is trained
    optim::Update optimizer;
    bool trains = true;
  };
  explicit Loop(Parts parts);

  Loop& metric(const std::string& name, MetricFunction function);
  Loop& handle_event(Event event, Handler handler, Filter filter = always());
  /// A progress line on stderr (rewritten in place on a terminal) every n iterations and at the end
  /// of each epoch; 0: only there.
  Loop& log(std::int64_t every_n = 50);
  /// Evaluates on other data after each epoch, before the handlers of epoch_completed run: loss and
  /// metrics appear beside the others as `validation_NAME`. Throws ArgumentError when called twice.
  Loop& validate(Source data);
  /// Saves model and optimizer state after each epoch; the file is whole at any time. Where saving
  /// fails, run throws IoError, and the file before it stays.
  Loop& checkpoint(const std::string& path);
  /// Ends the loop when the metric has been worse than its best for `patience` epochs; with
  /// `min_delta`, when it has not improved by so much.
  Loop& early_stop(const std::string& metric, std::int64_t patience = 3, double min_delta = 0,
                   bool larger_is_better = false);

  StepState init(std::uint64_t seed = 0) const;
  /// A state with what `checkpoint` wrote, in buffers of its own. Throws IoError when the file is
  /// not of this model and optimizer.
  StepState restore(const std::string& path) const;
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
  using StepFunction =
      std::function<StepState(StepState, std::vector<Tensor>, std::vector<Tensor>)>;
  std::map<std::string, Tensor> zero_metrics() const;
  void compile_for(const RunOptions& options);
  StepState run_owned(const Source& data, StepState state, const RunOptions& options);

  Parts parts_;
  std::vector<std::pair<std::string, MetricFunction>> metrics_;
  std::vector<Attached> handlers_;
  Source validation_;
  std::shared_ptr<const Loop> validator_;  // kept, since it is compiled
  StepState last_;
  std::shared_ptr<const Jitted<StepFunction>> jitted_;
  std::string jitted_for_;
};

/// A loop that trains: gradient of the loss, update, metrics. `loss` is a function, or the name of
/// any function of nx/losses.h that takes targets and predictions, with its default options but
/// for these: categorical_cross_entropy takes logits unless the model ends in softmax, and class
/// indices where the targets have an axis less; binary_cross_entropy takes logits from a model that
/// ends without an activation. Throws ArgumentError for another name, and ShapeError at the first
/// step when the model's output does not fit the loss.
NX_API Loop trainer(const nn::Model& model, const std::string& loss, const optim::Update& optimizer);
NX_API Loop trainer(const nn::Model& model, LossFunction loss, const optim::Update& optimizer);
/// A loop that only measures: never changes or donates the state (R27).
NX_API Loop evaluator(const nn::Model& model);
/// The metrics of `model` with this state over the data. Compiles at each call: keep an evaluator()
/// to measure often.
NX_API std::map<std::string, double> evaluate(
    const nn::Model& model, const nn::ModelState& state, const Source& data,
    const std::vector<std::pair<std::string, MetricFunction>>& metrics,
    const std::string& compiler = {});

}  // namespace nx::train
