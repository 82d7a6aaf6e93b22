// Activation functions. Formulas: Goodfellow et al. 2016, chapter 6; gelu: Hendrycks and Gimpel
// 2016; selu: Klambauer et al. 2017; celu: Barron 2017; mish: Misra 2019.
#include "nx/activations.h"

#include "nx/grad.h"
#include "nx/ops.h"

namespace nx::nn {
namespace {

Axes only(const Axis& axis) { return Axes(axis); }

/// x less its largest element along the axis, through which no gradient flows: the result of what
/// follows does not depend on it.
Tensor shifted(const Tensor& x, const Axis& axis) {
  return x - stop_grad(reduce_max(x, {.axes = only(axis), .keep_axes = true}));
}

}  // namespace

Tensor linear(const Tensor& x) { return x; }
Tensor relu(const Tensor& x) { return select(x > 0, x, 0); }
Tensor relu6(const Tensor& x) { return min(max(x, 0), 6); }
Tensor sigmoid(const Tensor& x) { return nx::sigmoid(x); }
Tensor tanh(const Tensor& x) { return nx::tanh(x); }
Tensor exp(const Tensor& x) { return nx::exp(x); }
Tensor silu(const Tensor& x) { return x * nx::sigmoid(x); }
Tensor softplus(const Tensor& x) { return max(x, 0) + log1p(nx::exp(-abs(x))); }
Tensor softsign(const Tensor& x) { return x / (abs(x) + 1); }
Tensor log_sigmoid(const Tensor& x) { return -softplus(-x); }
Tensor mish(const Tensor& x) { return x * nx::tanh(softplus(x)); }
Tensor gelu(const Tensor& x) { return x * (erf(x / 1.4142135623730951) + 1) / 2; }
Tensor hard_tanh(const Tensor& x) { return min(max(x, -1), 1); }
Tensor leaky_relu(const Tensor& x, double alpha) { return select(x > 0, x, x * alpha); }
// The argument of expm1 is kept at or below 0, so that the branch not taken cannot overflow.
Tensor elu(const Tensor& x, double alpha) {
  return select(x > 0, x, expm1(min(x, 0)) * alpha);
}
Tensor celu(const Tensor& x, double alpha) {
  return max(x, 0) + min(expm1(min(x, 0) / alpha) * alpha, 0);
}
Tensor selu(const Tensor& x) {
  constexpr double kAlpha = 1.6732632423543772, kScale = 1.0507009873554805;
  return elu(x, kAlpha) * kScale;
}
Tensor hard_sigmoid(const Tensor& x, double alpha, double beta) {
  return max(min(x * alpha + beta, 1), 0);
}
Tensor hard_silu(const Tensor& x, double alpha, double beta) {
  return x * hard_sigmoid(x, alpha, beta);
}

Tensor softmax(const Tensor& x, const Axis& axis) {
  const Tensor e = nx::exp(shifted(x, axis));
  return e / sum(e, {.axes = only(axis), .keep_axes = true});
}

Tensor log_softmax(const Tensor& x, const Axis& axis) {
  const Tensor s = shifted(x, axis);
  return s - log(sum(nx::exp(s), {.axes = only(axis), .keep_axes = true}));
}

Tensor log_sumexp(const Tensor& x, const Axis& axis) {
  const Tensor largest = stop_grad(reduce_max(x, {.axes = only(axis), .keep_axes = true}));
  return largest + log(sum(nx::exp(x - largest), {.axes = only(axis), .keep_axes = true}));
}

namespace {

struct Activation {
  std::string_view name;
  Tensor (*call)(const Tensor&);
};
#define NX_PLAIN_(name) {#name, &name}
#define NX_DEFAULTED_(name) {#name, [](const Tensor& x) { return name(x); }}
constexpr Activation kActivations[] = {
    NX_PLAIN_(linear), NX_PLAIN_(relu), NX_PLAIN_(relu6), NX_PLAIN_(sigmoid), NX_PLAIN_(tanh),
    NX_PLAIN_(exp), NX_PLAIN_(silu), NX_PLAIN_(softplus), NX_PLAIN_(softsign),
    NX_PLAIN_(log_sigmoid), NX_PLAIN_(mish), NX_PLAIN_(gelu), NX_PLAIN_(hard_tanh),
    NX_PLAIN_(selu), NX_DEFAULTED_(leaky_relu), NX_DEFAULTED_(elu), NX_DEFAULTED_(celu),
    NX_DEFAULTED_(hard_sigmoid), NX_DEFAULTED_(hard_silu), NX_DEFAULTED_(softmax),
    NX_DEFAULTED_(log_softmax), NX_DEFAULTED_(log_sumexp)};
#undef NX_PLAIN_
#undef NX_DEFAULTED_

}  // namespace

Tensor activate(std::string_view name, const Tensor& x) {
  std::string known;
  for (const Activation& a : kActivations) {
    if (a.name == name) return a.call(x);
    known += (known.empty() ? "" : ", ") + std::string(a.name);
  }
  throw ArgumentError("activation", "unknown name; expected one of " + known + ", got " +
                                        std::string(name));
}

}  // namespace nx::nn
