// layer: nn
// Activation functions of networks, as functions over tensors.
#pragma once

#include <string_view>

#include "nx/shape.h"
#include "nx/tensor.h"

namespace nx::nn {

NX_API Tensor linear(const Tensor& x);       ///< x
NX_API Tensor relu(const Tensor& x);         ///< max(x, 0); its slope at 0 is 0
NX_API Tensor relu6(const Tensor& x);        ///< min(max(x, 0), 6)
NX_API Tensor sigmoid(const Tensor& x);      ///< 1 / (1 + e^-x)
NX_API Tensor tanh(const Tensor& x);
NX_API Tensor exp(const Tensor& x);
NX_API Tensor silu(const Tensor& x);         ///< x sigmoid(x)
NX_API Tensor softplus(const Tensor& x);     ///< log(1 + e^x), without overflow
NX_API Tensor softsign(const Tensor& x);     ///< x / (1 + |x|)
NX_API Tensor log_sigmoid(const Tensor& x);  ///< log(sigmoid(x))
NX_API Tensor mish(const Tensor& x);         ///< x tanh(softplus(x))
NX_API Tensor gelu(const Tensor& x);         ///< x (1 + erf(x / sqrt 2)) / 2
NX_API Tensor hard_tanh(const Tensor& x);    ///< x into [-1, 1]

struct LeakyReluOptions {
  double alpha = 1e-2;  ///< The slope below 0.
  template <class F>
  static void fields(F&& f) {
    f("alpha", &LeakyReluOptions::alpha);
  }
};
NX_API Tensor leaky_relu(const Tensor& x, const LeakyReluOptions& options = {});

struct EluOptions {
  double alpha = 1.0;
  template <class F>
  static void fields(F&& f) {
    f("alpha", &EluOptions::alpha);
  }
};
NX_API Tensor elu(const Tensor& x, const EluOptions& options = {});  ///< alpha (e^x - 1) below 0

struct CeluOptions {
  double alpha = 1.0;
  template <class F>
  static void fields(F&& f) {
    f("alpha", &CeluOptions::alpha);
  }
};
/// alpha (e^(x / alpha) - 1) below 0. Throws ArgumentError when alpha is 0.
NX_API Tensor celu(const Tensor& x, const CeluOptions& options = {});

struct SeluOptions {
  double alpha = 1.6732632423543772, gamma = 1.0507009873554805;
  template <class F>
  static void fields(F&& f) {
    f("alpha", &SeluOptions::alpha);
    f("gamma", &SeluOptions::gamma);
  }
};
NX_API Tensor selu(const Tensor& x, const SeluOptions& options = {});  ///< gamma elu(x, alpha)

struct HardSigmoidOptions {
  double alpha = 0.2, beta = 0.2;
  template <class F>
  static void fields(F&& f) {
    f("alpha", &HardSigmoidOptions::alpha);
    f("beta", &HardSigmoidOptions::beta);
  }
};
/// alpha x + beta, into [0, 1].
NX_API Tensor hard_sigmoid(const Tensor& x, const HardSigmoidOptions& options = {});
/// x hard_sigmoid(x)
NX_API Tensor hard_silu(const Tensor& x, const HardSigmoidOptions& options = {});

struct SoftmaxOptions {
  Axis axis = -1;
  template <class F>
  static void fields(F&& f) {
    f("axis", &SoftmaxOptions::axis);
  }
};
/// e^x normalised to a sum of 1 along the axis; and its logarithm. Both are taken after subtracting
/// the largest element, so nothing overflows. Throws ShapeError for an axis that is not there.
NX_API Tensor softmax(const Tensor& x, const SoftmaxOptions& options = {});
NX_API Tensor log_softmax(const Tensor& x, const SoftmaxOptions& options = {});
/// log(sum(e^x)) along the axis, which stays with size 1: logsumexp.
NX_API Tensor log_sumexp(const Tensor& x, const SoftmaxOptions& options = {});

/// The activation of that name. Throws ArgumentError, with the known ones, for another.
NX_API Tensor activate(std::string_view name, const Tensor& x);

}  // namespace nx::nn
