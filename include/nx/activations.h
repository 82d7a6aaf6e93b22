// layer: nn
// Activation functions of networks, as functions over tensors.
#pragma once

#include <string_view>

#include "nx/shape.h"
#include "nx/tensor.h"

namespace nx::nn {

NX_API Tensor linear(const Tensor& x);                       ///< x
NX_API Tensor relu(const Tensor& x);                         ///< max(x, 0); its slope at 0 is 0
NX_API Tensor relu6(const Tensor& x);                        ///< min(max(x, 0), 6)
NX_API Tensor sigmoid(const Tensor& x);                      ///< 1 / (1 + e^-x)
NX_API Tensor tanh(const Tensor& x);
NX_API Tensor exp(const Tensor& x);
NX_API Tensor silu(const Tensor& x);                         ///< x sigmoid(x)
NX_API Tensor softplus(const Tensor& x);                     ///< log(1 + e^x), without overflow
NX_API Tensor softsign(const Tensor& x);                     ///< x / (1 + |x|)
NX_API Tensor log_sigmoid(const Tensor& x);                  ///< log(sigmoid(x))
NX_API Tensor mish(const Tensor& x);                         ///< x tanh(softplus(x))
NX_API Tensor gelu(const Tensor& x);                         ///< x (1 + erf(x / sqrt 2)) / 2
NX_API Tensor hard_tanh(const Tensor& x);                    ///< x into [-1, 1]
NX_API Tensor leaky_relu(const Tensor& x, double alpha = 1e-2);
NX_API Tensor elu(const Tensor& x, double alpha = 1.0);      ///< alpha (e^x - 1) below 0
NX_API Tensor celu(const Tensor& x, double alpha = 1.0);
NX_API Tensor selu(const Tensor& x);
NX_API Tensor hard_sigmoid(const Tensor& x, double alpha = 0.2, double beta = 0.2);
NX_API Tensor hard_silu(const Tensor& x, double alpha = 0.2, double beta = 0.2);
/// e^x normalised to a sum of 1 along `axis`; and its logarithm. Both are taken after subtracting
/// the largest element, so nothing overflows.
NX_API Tensor softmax(const Tensor& x, const Axis& axis = -1);
NX_API Tensor log_softmax(const Tensor& x, const Axis& axis = -1);
/// log(sum(e^x)) along `axis`, which stays with size 1.
NX_API Tensor log_sumexp(const Tensor& x, const Axis& axis = -1);

/// The activation of that name. Throws ArgumentError, with the known ones, for another.
NX_API Tensor activate(std::string_view name, const Tensor& x);

}  // namespace nx::nn
