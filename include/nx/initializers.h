// layer: nn
// Initial values of parameters. Each is a function of shape, type and key.
#pragma once

#include <functional>
#include <string>

#include "nx/shape.h"
#include "nx/tensor.h"

namespace nx::nn {

using Initializer = std::function<Tensor(const Dims& shape, DType type, const Tensor& key)>;

NX_API Initializer zeros_initializer();
NX_API Initializer ones_initializer();
NX_API Initializer full_initializer(double value);
/// The identity matrix: ones where the last two indices are equal. ShapeError below rank 2.
NX_API Initializer identity_initializer();
NX_API Initializer uniform_initializer(double scale = 1e-2);  ///< in [-scale, scale)
NX_API Initializer normal_initializer(double mean = 0.0, double scale = 1e-2);

struct VarianceScalingOptions {
  double scale = 1.0;
  std::string mode = "fan_in";          ///< fan_in, fan_out or fan_avg
  std::string distribution = "normal";  ///< normal, truncated_normal or uniform
  template <class F>
  static void fields(F&& f) {
    f("scale", &VarianceScalingOptions::scale);
    f("mode", &VarianceScalingOptions::mode);
    f("distribution", &VarianceScalingOptions::distribution);
  }
};
/// Variance scale / fan (He et al. 2015; Glorot and Bengio 2010; LeCun et al. 1998). The fans are
/// of the shape's last two axes, times the sizes before them; 1 below rank 2.
NX_API Initializer variance_scaling(const VarianceScalingOptions& options = {});
NX_API Initializer glorot_uniform(double scale = 1.0);
NX_API Initializer glorot_normal(double scale = 1.0);
NX_API Initializer he_uniform(double scale = 2.0);
NX_API Initializer he_normal(double scale = 2.0);
NX_API Initializer lecun_uniform(double scale = 1.0);
NX_API Initializer lecun_normal(double scale = 1.0);

}  // namespace nx::nn
