// layer: nn
// Measures of predictions, and how they are averaged over batches.
#pragma once

#include "nx/tensor.h"

namespace nx::nn {

/// Share of right predictions, f32. Targets and predictions of one shape: with more than one class
/// on the last axis by argmax, else by the predictions' rounding at 0.5. Integer targets of one
/// rank less (or last axis 1) beside several classes are class indices. Throws ShapeError.
NX_API Tensor accuracy(const Tensor& y_true, const Tensor& y_pred);

/// The average after another batch: (average * seen + value * size) / (seen + size), where `seen`
/// rows went before. Batches count by their size.
NX_API Tensor running_average(const Tensor& average, const Tensor& value, const Tensor& seen,
                              std::int64_t size);

}  // namespace nx::nn
