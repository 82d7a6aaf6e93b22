// One run of a loop: epochs, calls of the jitted step, events.
#pragma once

#include <chrono>
#include <string>

#include "nx/loop.h"
#include "train/debug.h"

namespace nx::train {

/// The state of one run, so that last_state is right wherever it ends.
struct Loop::Run {
  Run(Loop& loop, const RunOptions& options, StepState state);
  ~Run() { loop.last_ = state; }

  void run(const Source& data);

  Loop& loop;
  const RunOptions& options;
  StepState state;

 private:
  using Batches = std::pair<std::vector<Tensor>, std::vector<Tensor>>;
  Action run_epoch(const Source& data);
  /// Up to K batches; none at the end of the epoch.
  Batches read(const Reader& reader);
  void check_batch(const Batch& batch, std::int64_t at);
  void call(std::vector<Tensor> x, std::vector<Tensor> y);
  void check_finite(std::int64_t first);
  void validate();
  Action fire(Event event);
  Progress progress();

  const DebugLog log_;
  std::int64_t epoch_ = 0, iteration_ = 0, total_ = 0;
  double steps_per_second_ = 0;
  std::chrono::steady_clock::time_point begin_;
  std::string first_[2];           // strict: types and shapes of the first batch
};

}  // namespace nx::train
