// Measures of predictions.
#include "nx/metrics.h"

#include "nx/ops.h"

namespace nx::nn {
namespace {

void check_same_shape(const char* metric, const Tensor& y_true, const Tensor& y_pred) {
  if (!(y_true.shape() == y_pred.shape()))
    throw ShapeError(metric, "the shapes of targets and predictions differ; expected " +
                                 to_string(y_pred.shape()) + ", got " + to_string(y_true.shape()));
}

Shape all_but_last(const Shape& shape) { return Shape(shape.begin(), shape.end() - 1); }

/// The class of each row of sparse targets: [batch] of [batch] or [batch, 1]. Empty for others.
Tensor class_indices(const Tensor& y_true, const Shape& rows) {
  Shape with_one = rows;
  with_one.push_back(1);
  if (!(y_true.shape() == rows) && !(y_true.shape() == with_one)) return {};
  return reshape(y_true, rows);
}

Tensor last_argmax(const Tensor& t) { return argmax(t, {.axis = -1}); }

/// Numbers of predictions by what they are and what they should be.
struct Counts {
  Tensor true_positives, true_negatives, false_positives, false_negatives;
};

Counts count(const char* metric, const Tensor& y_true, const Tensor& y_pred,
             const ThresholdOptions& o) {
  check_same_shape(metric, y_true, y_pred);
  const Tensor said = y_pred > o.threshold, right = equal(said, y_true);
  const Tensor not_said = equal(said, 0), wrong = equal(right, 0);
  const auto both = [](const Tensor& a, const Tensor& b) { return sum(logical_and(a, b)); };
  return {both(right, said), both(right, not_said), both(wrong, said), both(wrong, not_said)};
}

/// part / (part + rest), 0 when there is neither.
Tensor share(const Tensor& part, const Tensor& rest) { return part / (part + rest + 1e-16); }

}  // namespace

namespace metrics {

Tensor accuracy(const Tensor& y_true, const Tensor& y_pred, const AccuracyOptions& o) {
  if (y_pred.rank() < 1) throw ShapeError("accuracy", "expected [batch, …], got a scalar");
  const Shape rows = all_but_last(y_pred.shape());
  const bool one_class = y_pred.shape().back() == 1 || y_pred.rank() == 1;
  if (one_class && y_true.shape() == y_pred.shape())
    return mean(equal(y_true, y_pred > (o.from_logits ? 0.0 : 0.5)));  // sigmoid(0) is 0.5
  if (const Tensor classes = class_indices(y_true, rows); classes.has_value())
    return mean(equal(classes, last_argmax(y_pred)));
  if (y_true.rank() != y_pred.rank() || !(all_but_last(y_true.shape()) == rows))
    throw ShapeError("accuracy", "targets do not fit the predictions; expected " +
                                     to_string(y_pred.shape()) + " or " + to_string(rows) +
                                     ", got " + to_string(y_true.shape()));
  return mean(equal(last_argmax(y_true), last_argmax(y_pred)));
}

Tensor precision(const Tensor& y_true, const Tensor& y_pred, const ThresholdOptions& o) {
  const Counts counts = count("precision", y_true, y_pred, o);
  return share(counts.true_positives, counts.false_positives);
}

Tensor recall(const Tensor& y_true, const Tensor& y_pred, const ThresholdOptions& o) {
  const Counts counts = count("recall", y_true, y_pred, o);
  return share(counts.true_positives, counts.false_negatives);
}

Tensor sensitivity(const Tensor& y_true, const Tensor& y_pred, const ThresholdOptions& o) {
  return recall(y_true, y_pred, o);
}

Tensor specificity(const Tensor& y_true, const Tensor& y_pred, const ThresholdOptions& o) {
  const Counts counts = count("specificity", y_true, y_pred, o);
  return share(counts.true_negatives, counts.false_positives);
}

Tensor true_positives(const Tensor& y_true, const Tensor& y_pred, const ThresholdOptions& o) {
  return count("true_positives", y_true, y_pred, o).true_positives;
}
Tensor true_negatives(const Tensor& y_true, const Tensor& y_pred, const ThresholdOptions& o) {
  return count("true_negatives", y_true, y_pred, o).true_negatives;
}
Tensor false_positives(const Tensor& y_true, const Tensor& y_pred, const ThresholdOptions& o) {
  return count("false_positives", y_true, y_pred, o).false_positives;
}
Tensor false_negatives(const Tensor& y_true, const Tensor& y_pred, const ThresholdOptions& o) {
  return count("false_negatives", y_true, y_pred, o).false_negatives;
}

// A class is among the k best when fewer than k are better.
Tensor top_k_categorical_accuracy(const Tensor& y_true, const Tensor& y_pred,
                                  const TopKOptions& o) {
  constexpr const char* kName = "top_k_categorical_accuracy";
  if (y_pred.rank() < 1) throw ShapeError(kName, "expected [batch, …], got a scalar");
  const std::int64_t classes = y_pred.shape().back();
  if (o.k < 1 || o.k > classes)
    throw ArgumentError(kName, "expected k from 1 to the " + std::to_string(classes) +
                                   " classes, got " + std::to_string(o.k));
  Shape rows = all_but_last(y_pred.shape());
  if (!o.sparse) check_same_shape(kName, y_true, y_pred);
  const Tensor wanted = o.sparse ? class_indices(y_true, rows) : last_argmax(y_true);
  if (!wanted.has_value())
    throw ShapeError(kName, "sparse targets do not fit the predictions; expected " +
                                to_string(rows) + ", got " + to_string(y_true.shape()));
  rows.push_back(1);
  const Tensor index = reshape(wanted, rows);
  Shape ones(rows.size(), 1);
  ones.back() = classes;
  const Tensor positions = iota(ones, {.axis = -1});
  const Tensor score =
      sum(select(equal(positions, index), y_pred, 0), {.axes = -1, .keep_axes = true});
  const Tensor better =
      logical_or(y_pred > score, logical_and(equal(y_pred, score), less(positions, index)));
  return mean(sum(better, {.axes = -1}) < o.k);
}

}  // namespace metrics

Tensor running_average(const Tensor& average, const Tensor& value, const Tensor& seen,
                       std::int64_t size) {
  return (average * seen + value * size) / (seen + size);
}

Tensor running_sum(const Tensor& sum, const Tensor& value) { return sum + value; }

}  // namespace nx::nn
