// layer: nn
// Losses and metrics as values: functions of targets and predictions whose options may be left out.
#pragma once

#include "nx/tensor.h"

namespace nx::nn {

/// A callable object around such a function, so that it can be handed on by its name, without its
/// options, to whatever calls it with two tensors: `loop.metric("recall", nx::nn::recall)`.
template <auto kFunction>
struct Measure;

template <class Options, Tensor (*kFunction)(const Tensor&, const Tensor&, const Options&)>
struct Measure<kFunction> {
  Tensor operator()(const Tensor& y_true, const Tensor& y_pred, const Options& options = {}) const {
    return kFunction(y_true, y_pred, options);
  }
};

}  // namespace nx::nn
