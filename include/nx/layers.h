// layer: nn
// Layers as functions of tensors: what the layers of a model compute.
#pragma once

#include <optional>
#include <utility>

#include "nx/shape.h"
#include "nx/tensor.h"

namespace nx::nn::layers {

/// x . kernel + bias over the last axis of x. Throws ShapeError for an x below rank 2, or a kernel
/// or bias that does not fit.
NX_API Tensor dense(const Tensor& x, const Tensor& kernel, const std::optional<Tensor>& bias = {});

/// [batch, …] to [batch, product of the rest].
NX_API Tensor flatten(const Tensor& x);

struct DropoutOptions {
  double rate = 0.5;
  std::optional<Shape> noise_shape = {};  ///< Of what is drawn; it is broadcast to x's shape.
  template <class F>
  static void fields(F&& f) {
    f("rate", &DropoutOptions::rate);
    f("noise_shape", &DropoutOptions::noise_shape);
  }
};
/// Each element is 0 with probability `rate`, the others are scaled by 1 / (1 - rate); and the next
/// key (Srivastava et al. 2014). Throws ArgumentError unless 0 <= rate < 1.
NX_API std::pair<Tensor, Tensor> dropout(const Tensor& x, const Tensor& key,
                                         const DropoutOptions& options = {});

}  // namespace nx::nn::layers
