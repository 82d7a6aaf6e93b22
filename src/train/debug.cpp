// The longer lines of the debug log.
#include "train/debug.h"

namespace nx::train {

std::string described(const Tensor& tensor) { return to_string(tensor.type(), tensor.shape()); }

void DebugLog::options(const RunOptions& o, bool trains) const {
  line("{} for {} epochs of {}; compiler {}, {} a call{}{}{}", trains ? "training" : "evaluation",
       o.epochs, o.iterations < 0 ? "all batches" : fmt::format("at most {} batches", o.iterations),
       o.compiler.empty() ? "by default" : o.compiler,
       o.steps_per_call == 1 ? "1 step" : fmt::format("{} steps", o.steps_per_call),
       o.donate_state ? ", state donated" : "", o.strict ? ", strict" : "",
       o.force_garbage_collection ? ", forced collection" : "");
}

void DebugLog::state(const StepState& state) const {
  if (!out_) return;
  std::int64_t bytes = 0;
  detail::for_each_leaf_with_path(state, "", [&](const std::string& path, const Tensor& t) {
    bytes += t.size() * static_cast<std::int64_t>(byte_size_of(t.type()));
    line("  {} {}", path, described(t));
  });
  line("the state has {} bytes", bytes);
}

void DebugLog::batch(std::int64_t epoch, std::int64_t iteration, const Batch& batch,
                     double ms) const {
  line("epoch {}, batch {}: x {}, y {}, read in {:.3f} ms", epoch, iteration,
       described(batch.first), described(batch.second), ms);
}

}  // namespace nx::train
