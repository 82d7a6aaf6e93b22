// Activation functions. Formulas: Goodfellow et al. 2016, chapter 6; gelu: Hendrycks and Gimpel
// 2016; selu: Klambauer et al. 2017; celu: Barron 2017; mish: Misra 2019.
#include "nx/activations.h"

#include "nn/as_inexact.h"
#include "nx/grad.h"
#include "nx/ops.h"

namespace nx::nn {
namespace {

SumOptions along(const Axis& axis) { return {.axes = Axes(axis), .keep_axes = true}; }

/// The largest element along the axis, through which no gradient flows: the results of what follows
/// do not depend on it.
Tensor largest(const Tensor& x, const Axis& axis) {
  return stop_grad(reduce_max(x, {.axes = Axes(axis), .keep_axes = true}));
}

/// x where it is below 0, else 0: keeps the branch that is not taken from overflowing. At 0 the
/// slope is that of the branch below.
Tensor below_zero(const Tensor& x) { return select(x > 0, 0, x); }

}  // namespace

Tensor linear(const Tensor& x) { return as_type(x, x.type()); }  // without a mark (R4)
Tensor relu(const Tensor& x) { return select(x <= 0, 0, x); }  // keeps NaN
Tensor relu6(const Tensor& x) { return min(max(x, 0), 6); }
Tensor sigmoid(const Tensor& x) { return nx::sigmoid(x); }
Tensor tanh(const Tensor& x) { return nx::tanh(x); }
Tensor exp(const Tensor& x) { return nx::exp(x); }
Tensor silu(const Tensor& x) { return x * nx::sigmoid(x); }
// The sum's own gradient would be 0 at 0, where max has a tie and |x| a corner that do not cancel.
Tensor softplus(const Tensor& x) {
  const Tensor y = as_inexact(x);
  return custom_grad(max(y, 0) + log1p(nx::exp(-abs(y))), {y},
                     [y](const Tensor& g) { return std::vector{g * nx::sigmoid(y)}; });
}
Tensor softsign(const Tensor& x) { return x / (abs(x) + 1); }
Tensor log_sigmoid(const Tensor& x) { return -softplus(-as_inexact(x)); }
Tensor mish(const Tensor& x) { return x * nx::tanh(softplus(x)); }
Tensor gelu(const Tensor& x) { return x * (erf(x / 1.4142135623730951) + 1) / 2; }
Tensor hard_tanh(const Tensor& x) { return min(max(x, -1), 1); }
Tensor leaky_relu(const Tensor& x, const LeakyReluOptions& o) {
  return select(x > 0, x, x * o.alpha);
}
Tensor elu(const Tensor& x, const EluOptions& o) {
  return select(x > 0, x, expm1(below_zero(x)) * o.alpha);
}
Tensor celu(const Tensor& x, const CeluOptions& o) {
  if (o.alpha == 0) throw ArgumentError("celu", "expected an alpha other than 0, got 0");
  return select(x > 0, x, expm1(below_zero(x) / o.alpha) * o.alpha);
}
Tensor selu(const Tensor& x, const SeluOptions& o) { return elu(x, {o.alpha}) * o.gamma; }
Tensor hard_sigmoid(const Tensor& x, const HardSigmoidOptions& o) {
  return max(min(x * o.alpha + o.beta, 1), 0);
}
Tensor hard_silu(const Tensor& x, const HardSigmoidOptions& o) { return x * hard_sigmoid(x, o); }

Tensor softmax(const Tensor& x, const SoftmaxOptions& o) {
  const Tensor y = as_inexact(x);
  const Tensor e = nx::exp(y - largest(y, o.axis));
  return e / sum(e, along(o.axis));
}

Tensor log_softmax(const Tensor& x, const SoftmaxOptions& o) {
  const Tensor y = as_inexact(x);
  const Tensor s = y - largest(y, o.axis);
  return s - log(sum(nx::exp(s), along(o.axis)));
}

Tensor log_sumexp(const Tensor& x, const SoftmaxOptions& o) {
  return logsumexp(x, {.axes = Axes(o.axis), .keep_axes = true});
}

namespace {

struct Activation {
  std::string_view name;
  Tensor (*call)(const Tensor&);
};
#define NX_PLAIN_(name) {#name, &name}
#define NX_DEFAULTED_(name) {#name, [](const Tensor& x) { return name(x); }}
constexpr Activation kActivations[] = {
    NX_PLAIN_(linear),        NX_PLAIN_(relu),        NX_PLAIN_(relu6),
    NX_PLAIN_(sigmoid),       NX_PLAIN_(tanh),        NX_PLAIN_(exp),
    NX_PLAIN_(silu),          NX_PLAIN_(softplus),    NX_PLAIN_(softsign),
    NX_PLAIN_(log_sigmoid),   NX_PLAIN_(mish),        NX_PLAIN_(gelu),
    NX_PLAIN_(hard_tanh),     NX_DEFAULTED_(selu),    NX_DEFAULTED_(leaky_relu),
    NX_DEFAULTED_(elu),       NX_DEFAULTED_(celu),    NX_DEFAULTED_(hard_sigmoid),
    NX_DEFAULTED_(hard_silu), NX_DEFAULTED_(softmax), NX_DEFAULTED_(log_softmax),
    NX_DEFAULTED_(log_sumexp)};
#undef NX_PLAIN_
#undef NX_DEFAULTED_

}  // namespace

Tensor activate(std::string_view name, const Tensor& x) {
  std::string known;
  for (const Activation& a : kActivations) {
    if (a.name == name) return a.call(x);
    known += (known.empty() ? "" : ", ") + std::string(a.name);
  }
  throw ArgumentError("activation",
                      "unknown name; expected one of " + known + ", got " + std::string(name));
}

}  // namespace nx::nn
