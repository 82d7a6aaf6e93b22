// What layers compute.
#include "nx/layers.h"
#include "nx/ops.h"

namespace nx::nn::layers {

Tensor dense(const Tensor& x, const Tensor& kernel, const std::optional<Tensor>& bias) {
  if (x.rank() < 2)
    throw ShapeError("dense", "expected [batch, …, features], got " + to_string(x.shape()));
  const Tensor y = dot(x, kernel);
  return bias ? y + *bias : y;
}

Tensor flatten(const Tensor& x) {
  if (x.rank() < 1) throw ShapeError("flatten", "expected [batch, …], got a scalar");
  const std::int64_t rows = x.shape()[0];
  return reshape(x, {rows, rows == 0 ? 0 : x.size() / rows});
}

std::pair<Tensor, Tensor> dropout(const Tensor& x, const Tensor& key, const DropoutOptions& o) {
  if (!(o.rate >= 0 && o.rate < 1))
    throw ArgumentError("dropout", "expected a rate in [0, 1), got " + std::to_string(o.rate));
  const double kept = 1 - o.rate;
  const auto [u, next] =
      random::uniform(key, {.shape = o.noise_shape.value_or(x.shape()), .type = x.type()});
  const Tensor keep = o.noise_shape ? broadcast(u < kept, x.shape()) : u < kept;
  return {select(keep, x / kept, 0), next};
}

}  // namespace nx::nn::layers
