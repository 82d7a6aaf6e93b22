// Initial values of parameters.
#include "nx/initializers.h"

#include <cmath>

#include "nx/ops.h"

namespace nx::nn {
namespace {

struct Fans {
  double in, out;
};

Fans fans_of(const Dims& shape) {
  const std::size_t rank = shape.size();
  if (rank < 2) return {1, 1};  // every element is its own
  double receptive = 1;
  for (std::size_t i = 0; i + 2 < rank; ++i) receptive *= static_cast<double>(shape[i]);
  return {receptive * static_cast<double>(shape[rank - 2]),
          receptive * static_cast<double>(shape[rank - 1])};
}

double fan_of(const Dims& shape, const std::string& mode) {
  const Fans fans = fans_of(shape);
  if (mode == "fan_in") return fans.in;
  if (mode == "fan_out") return fans.out;
  if (mode == "fan_avg") return (fans.in + fans.out) / 2;
  throw ArgumentError("variance_scaling",
                      "unknown mode; expected fan_in, fan_out or fan_avg, got " + mode);
}

}  // namespace

Initializer full_initializer(double value) {
  return [value](const Dims& shape, DType type, const Tensor&) {
    return full(shape, value, {.type = type});
  };
}
Initializer zeros_initializer() { return full_initializer(0); }
Initializer ones_initializer() { return full_initializer(1); }

Initializer identity_initializer() {
  return [](const Dims& shape, DType type, const Tensor&) {
    if (shape.size() < 2)
      throw ShapeError("identity", "expected a matrix's shape, got " + to_string(shape));
    return eye(shape, {.type = type});
  };
}

Initializer uniform_initializer(double scale) {
  return [scale](const Dims& shape, DType type, const Tensor& key) {
    return random::uniform_split(key, -scale, scale, {.shape = shape, .type = type});
  };
}

Initializer normal_initializer(double mean, double scale) {
  return [mean, scale](const Dims& shape, DType type, const Tensor& key) {
    return random::normal_split(key, mean, scale, {.shape = shape, .type = type});
  };
}

Initializer variance_scaling(const VarianceScalingOptions& o) {
  return [o](const Dims& shape, DType type, const Tensor& key) {
    const double variance = o.scale / std::max(fan_of(shape, o.mode), 1.0);
    if (o.distribution == "normal")
      return random::normal_split(key, 0.0, std::sqrt(variance), {.shape = shape, .type = type});
    if (o.distribution == "uniform") {
      const double limit = std::sqrt(3 * variance);
      return random::uniform_split(key, -limit, limit, {.shape = shape, .type = type});
    }
    if (o.distribution == "truncated_normal") {
      // Cut at two standard deviations: 0.8796… is what is left of the deviation then.
      const double sigma = std::sqrt(variance) / 0.87962566103423978;
      const double edge = std::erf(2 / std::sqrt(2.0));
      const Tensor u = random::uniform_split(key, -edge, edge, {.shape = shape, .type = type});
      return erf_inv(u) * (sigma * std::sqrt(2.0));
    }
    throw ArgumentError("variance_scaling",
                        "unknown distribution; expected normal, "
                        "truncated_normal or uniform, got " +
                            o.distribution);
  };
}

Initializer glorot_uniform(double scale) { return variance_scaling({scale, "fan_avg", "uniform"}); }
Initializer glorot_normal(double scale) {
  return variance_scaling({scale, "fan_avg", "truncated_normal"});
}
Initializer he_uniform(double scale) { return variance_scaling({scale, "fan_in", "uniform"}); }
Initializer he_normal(double scale) {
  return variance_scaling({scale, "fan_in", "truncated_normal"});
}
Initializer lecun_uniform(double scale) { return variance_scaling({scale, "fan_in", "uniform"}); }
Initializer lecun_normal(double scale) {
  return variance_scaling({scale, "fan_in", "truncated_normal"});
}

}  // namespace nx::nn
