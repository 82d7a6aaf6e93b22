// layer: nn
// Measures of predictions, and how they are taken together over batches. Targets and predictions
// have one shape unless it says otherwise; ShapeError when they do not fit. For the mean absolute
// error there is the loss of that name with the reduction `mean`.
#pragma once

#include "nx/measure.h"
#include "nx/tensor.h"

namespace nx::nn {

struct AccuracyOptions {
  bool from_logits = false;  ///< Predictions of two classes come before the sigmoid.
  template <class F>
  static void fields(F&& f) {
    f("from_logits", &AccuracyOptions::from_logits);
  }
};

struct ThresholdOptions {
  double threshold = 0.5;  ///< A prediction above it says 1, else 0.
  template <class F>
  static void fields(F&& f) {
    f("threshold", &ThresholdOptions::threshold);
  }
};

struct TopKOptions {
  std::int64_t k = 5;
  bool sparse = false;  ///< Targets are class indices, [batch] or [batch, 1].
  template <class F>
  static void fields(F&& f) {
    f("k", &TopKOptions::k);
    f("sparse", &TopKOptions::sparse);
  }
};

namespace metrics {
#define NX_METRIC_(name, Options) \
  NX_API Tensor name(const Tensor& y_true, const Tensor& y_pred, const Options& options)
NX_METRIC_(accuracy, AccuracyOptions);
NX_METRIC_(precision, ThresholdOptions);
NX_METRIC_(recall, ThresholdOptions);
NX_METRIC_(sensitivity, ThresholdOptions);
NX_METRIC_(specificity, ThresholdOptions);
NX_METRIC_(true_positives, ThresholdOptions);
NX_METRIC_(true_negatives, ThresholdOptions);
NX_METRIC_(false_positives, ThresholdOptions);
NX_METRIC_(false_negatives, ThresholdOptions);
NX_METRIC_(top_k_categorical_accuracy, TopKOptions);
#undef NX_METRIC_
}  // namespace metrics

/// Share of right predictions, f32. With more than one class on the last axis by argmax, else by
/// the predictions' being above 0.5. Integer targets of one rank less (or last axis 1) beside
/// several classes are class indices.
inline constexpr Measure<&metrics::accuracy> accuracy{};

/// Of what was predicted as 1, the share that is 1; 0 when nothing was.
inline constexpr Measure<&metrics::precision> precision{};
/// Of what is 1, the share that was predicted as 1; 0 when nothing is.
inline constexpr Measure<&metrics::recall> recall{};
inline constexpr Measure<&metrics::sensitivity> sensitivity{};  ///< the same as recall
/// Of what is 0, the share that was predicted as 0; 0 when nothing is.
inline constexpr Measure<&metrics::specificity> specificity{};

/// Numbers of predictions, u32: of 1 where the target is 1, and so on.
inline constexpr Measure<&metrics::true_positives> true_positives{};
inline constexpr Measure<&metrics::true_negatives> true_negatives{};
inline constexpr Measure<&metrics::false_positives> false_positives{};
inline constexpr Measure<&metrics::false_negatives> false_negatives{};

/// Share of rows whose class is among the k best predictions; of equal ones the first is better.
/// Throws ArgumentError when k is larger than the number of classes.
inline constexpr Measure<&metrics::top_k_categorical_accuracy> top_k_categorical_accuracy{};

/// The average after another batch: (average * seen + value * size) / (seen + size), where `seen`
/// rows went before. Batches count by their size.
NX_API Tensor running_average(const Tensor& average, const Tensor& value, const Tensor& seen,
                              std::int64_t size);
/// The sum after another batch.
NX_API Tensor running_sum(const Tensor& sum, const Tensor& value);

}  // namespace nx::nn
