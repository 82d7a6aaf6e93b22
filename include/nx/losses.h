// layer: nn
// Loss functions of targets and predictions, [batch, …] each, of one shape. Without a reduction
// most give one value for each row. All throw ShapeError when the shapes do not fit, and
// ArgumentError for a reduction other than none, mean and sum.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "nx/measure.h"
#include "nx/shape.h"
#include "nx/tensor.h"

namespace nx::nn {

/// A loss or a metric: targets and predictions in, a tensor out.
using LossFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

struct LossOptions {
  std::string reduction = "none";  ///< none, mean or sum, of what the loss gives without it
  template <class F>
  static void fields(F&& f) {
    f("reduction", &LossOptions::reduction);
  }
};

struct BinaryCrossEntropyOptions {
  std::string reduction = "none";
  bool from_logits = false;  ///< y_pred comes before the sigmoid
  std::optional<double> positive_weight = {}, negative_weight = {};  ///< of targets 1 and 0
  template <class F>
  static void fields(F&& f) {
    f("reduction", &BinaryCrossEntropyOptions::reduction);
    f("from_logits", &BinaryCrossEntropyOptions::from_logits);
    f("positive_weight", &BinaryCrossEntropyOptions::positive_weight);
    f("negative_weight", &BinaryCrossEntropyOptions::negative_weight);
  }
};

struct CategoricalCrossEntropyOptions {
  std::string reduction = "none";
  Tensor class_weights = {};  ///< one for each class; none: all 1
  bool from_logits = false;   ///< y_pred comes before the softmax
  bool sparse = false;        ///< y_true holds class indices [batch] or [batch, 1]
  template <class F>
  static void fields(F&& f) {
    f("reduction", &CategoricalCrossEntropyOptions::reduction);
    f("class_weights", &CategoricalCrossEntropyOptions::class_weights);
    f("from_logits", &CategoricalCrossEntropyOptions::from_logits);
    f("sparse", &CategoricalCrossEntropyOptions::sparse);
  }
};

struct CosineSimilarityOptions {
  std::string reduction = "none";
  Axes axes = 1;      ///< of the vectors
  double eps = 1e-6;  ///< The least product of lengths that is divided by.
  template <class F>
  static void fields(F&& f) {
    f("reduction", &CosineSimilarityOptions::reduction);
    f("axes", &CosineSimilarityOptions::axes);
    f("eps", &CosineSimilarityOptions::eps);
  }
};

struct HuberOptions {
  std::string reduction = "none";
  double delta = 1.0;  ///< Where the parabola becomes a line.
  template <class F>
  static void fields(F&& f) {
    f("reduction", &HuberOptions::reduction);
    f("delta", &HuberOptions::delta);
  }
};

struct MarginRankingOptions {
  std::string reduction = "none";
  double margin = 0.0;
  template <class F>
  static void fields(F&& f) {
    f("reduction", &MarginRankingOptions::reduction);
    f("margin", &MarginRankingOptions::margin);
  }
};

struct LabelSmoothingOptions {
  double smoothing = 0.1;
  template <class F>
  static void fields(F&& f) {
    f("smoothing", &LabelSmoothingOptions::smoothing);
  }
};

namespace losses {
#define NX_LOSS_(name, Options) \
  NX_API Tensor name(const Tensor& y_true, const Tensor& y_pred, const Options& options)
NX_LOSS_(binary_cross_entropy, BinaryCrossEntropyOptions);
NX_LOSS_(categorical_cross_entropy, CategoricalCrossEntropyOptions);
NX_LOSS_(categorical_hinge, LossOptions);
NX_LOSS_(cosine_similarity, CosineSimilarityOptions);
NX_LOSS_(hinge, LossOptions);
NX_LOSS_(huber, HuberOptions);
NX_LOSS_(kl_divergence, LossOptions);
NX_LOSS_(log_cosh, LossOptions);
NX_LOSS_(mean_absolute_error, LossOptions);
NX_LOSS_(mean_squared_error, LossOptions);
NX_LOSS_(poisson, LossOptions);
NX_LOSS_(soft_margin, LossOptions);
#undef NX_LOSS_
}  // namespace losses

/// The mean over the last axis of -y_true log(y_pred) - (1 - y_true) log(1 - y_pred), the
/// probabilities kept 1e-7 away from 0 and 1; from logits through log_sigmoid, without overflow.
/// With a weight it is the mean over all elements, each times its target's weight.
inline constexpr Measure<&losses::binary_cross_entropy> binary_cross_entropy{};
/// -sum(y_true * log(y_pred)) over the last axis; y_true is one-hot, or class indices with
/// `sparse`. From logits it is computed through log_softmax and does not overflow. A row weighs as
/// its class (the largest of its targets) does; a weighted mean divides by the sum of the weights.
inline constexpr Measure<&losses::categorical_cross_entropy> categorical_cross_entropy{};
/// max(1 + largest of (1 - y_true) y_pred - sum(y_true y_pred), 0) over the last axis.
inline constexpr Measure<&losses::categorical_hinge> categorical_hinge{};
/// The cosine of the angle between the vectors along `axes`: 1 where they point the same way.
inline constexpr Measure<&losses::cosine_similarity> cosine_similarity{};
/// The mean over the last axis of max(1 - y_true y_pred, 0); targets are -1 and 1.
inline constexpr Measure<&losses::hinge> hinge{};
/// (y_pred - y_true)^2 / 2 up to delta, from there on a line; one value for each element
/// (Huber 1964).
inline constexpr Measure<&losses::huber> huber{};
/// sum(y_true log(y_true / y_pred)) over the last axis, both kept in [1e-7, 1].
inline constexpr Measure<&losses::kl_divergence> kl_divergence{};
/// The mean over the last axis of log(cosh(y_pred - y_true)), without overflow.
inline constexpr Measure<&losses::log_cosh> log_cosh{};
/// The mean over the last axis of |y_true - y_pred|.
inline constexpr Measure<&losses::mean_absolute_error> mean_absolute_error{};
/// The mean over the last axis of (y_true - y_pred)^2.
inline constexpr Measure<&losses::mean_squared_error> mean_squared_error{};
/// The mean over the last axis of y_pred - y_true log(y_pred + 1e-7).
inline constexpr Measure<&losses::poisson> poisson{};
/// The sum over the *first* axis of log(1 + e^(-y_true y_pred)), without overflow; targets are -1
/// and 1.
inline constexpr Measure<&losses::soft_margin> soft_margin{};

/// max(margin - y_true (first - second), 0): the order of two predictions, which a target of 1
/// wants descending and one of -1 ascending.
NX_API Tensor margin_ranking(const Tensor& y_true, const std::pair<Tensor, Tensor>& y_pred,
                             const MarginRankingOptions& options = {});

/// Targets moved towards the even distribution over y_pred's classes:
/// (1 - smoothing) y_true + smoothing / classes (Szegedy et al. 2016).
NX_API Tensor apply_label_smoothing(const Tensor& y_true, const Tensor& y_pred,
                                    const LabelSmoothingOptions& options = {});
/// The loss of smoothed targets.
NX_API LossFunction label_smoothing(LossFunction loss, const LabelSmoothingOptions& options = {});

}  // namespace nx::nn
