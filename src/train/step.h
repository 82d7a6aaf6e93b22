// One step of a loop as a function over tensors: what jit traces.
#pragma once

#include "nx/loop.h"

namespace nx::train {

struct Step {
  Loop::Parts parts;
  std::vector<std::pair<std::string, MetricFunction>> metrics;
  bool checked = false;  // counts values that are not finite into StepState::checks

  /// A step for each batch, one after the other.
  StepState operator()(StepState state, const std::vector<Tensor>& x,
                       const std::vector<Tensor>& y) const;

 private:
  StepState one(const StepState& state, const Tensor& x, const Tensor& y) const;
};

/// `x (3 values), loss (1 value)`: what the checks of a step found, causes before effects; empty
/// when everything is finite. Waits for the step.
std::string not_finite(const std::map<std::string, Tensor>& checks);

}  // namespace nx::train
