// layer: nn
// Loss functions of targets and predictions, [batch, …] each. Without a reduction the result has
// one value for each row.
#pragma once

#include <string>
#include <vector>

#include "nx/tensor.h"

namespace nx::nn {

struct LossOptions {
  std::string reduction = "none";  ///< none, mean or sum, over the rows
  template <class F>
  static void fields(F&& f) {
    f("reduction", &LossOptions::reduction);
  }
};

/// Mean over the last axis of (y_true - y_pred)^2.
NX_API Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred,
                                 const LossOptions& options = {});
/// Mean over the last axis of |y_true - y_pred|.
NX_API Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred,
                                  const LossOptions& options = {});

struct CategoricalCrossEntropyOptions {
  std::string reduction = "none";
  std::vector<double> class_weights = {};  ///< one for each class; none: all 1
  bool from_logits = false;           ///< y_pred comes before the softmax
  bool sparse = false;                ///< y_true holds class indices [batch] or [batch, 1]
  template <class F>
  static void fields(F&& f) {
    f("reduction", &CategoricalCrossEntropyOptions::reduction);
    f("class_weights", &CategoricalCrossEntropyOptions::class_weights);
    f("from_logits", &CategoricalCrossEntropyOptions::from_logits);
    f("sparse", &CategoricalCrossEntropyOptions::sparse);
  }
};
/// -sum(y_true * log(y_pred)) over the last axis; y_true is one-hot, or class indices with
/// `sparse`. From logits it is computed through log_softmax and does not overflow. A weighted mean
/// divides by the sum of the rows' weights. Throws ShapeError when the shapes do not fit.
NX_API Tensor categorical_cross_entropy(const Tensor& y_true, const Tensor& y_pred,
                                        const CategoricalCrossEntropyOptions& options = {});

}  // namespace nx::nn
