// Loss functions.
#include "nx/losses.h"

#include "nx/activations.h"
#include "nx/ops.h"

namespace nx::nn {
namespace {

Tensor reduced(const Tensor& rows, const std::string& reduction) {
  if (reduction == "none") return rows;
  if (reduction == "mean") return mean(rows);
  if (reduction == "sum") return sum(rows);
  throw ArgumentError("loss", "unknown reduction; expected none, mean or sum, got " + reduction);
}

void check_same_shape(const char* loss, const Tensor& y_true, const Tensor& y_pred) {
  if (!(y_true.shape() == y_pred.shape()))
    throw ShapeError(loss, "the shapes of targets and predictions differ; expected " +
                               to_string(y_pred.shape()) + ", got " + to_string(y_true.shape()));
}

/// Class indices as a one-hot tensor of the predictions' shape.
Tensor one_hot(const Tensor& indices, const Tensor& y_pred) {
  const Shape shape = y_pred.shape();
  Shape rows(shape.begin(), shape.end() - 1), with_one = rows;
  with_one.push_back(1);
  if (!(indices.shape() == rows) && !(indices.shape() == with_one))
    throw ShapeError("categorical_cross_entropy",
                     "sparse targets do not fit the predictions; expected " + to_string(rows) +
                         " or " + to_string(with_one) + ", got " + to_string(indices.shape()));
  if (!is_integer(indices.type()))
    throw DTypeError("categorical_cross_entropy", "sparse targets must be integers, got " +
                                                      std::string(name_of(indices.type())));
  Shape classes(rows.size(), 1);
  classes.push_back(shape.back());
  return equal(reshape(indices, with_one),
               iota(classes, {.type = indices.type(), .axis = static_cast<int>(rows.size())}));
}

/// The weight of each row: its class's.
Tensor row_weights(const Tensor& hot, const std::vector<double>& weights, const Tensor& y_pred) {
  const auto classes = static_cast<std::size_t>(y_pred.shape().back());
  if (weights.size() != classes)
    throw ArgumentError("categorical_cross_entropy",
                        "expected " + std::to_string(classes) + " class weights, got " +
                            std::to_string(weights.size()));
  return sum(hot * tensor(weights, {.type = f32}), {.axes = -1});
}

}  // namespace

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred, const LossOptions& options) {
  check_same_shape("mean_squared_error", y_true, y_pred);
  const Tensor difference = y_true - y_pred;
  return reduced(mean(difference * difference, {.axes = -1}), options.reduction);
}

Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred, const LossOptions& options) {
  check_same_shape("mean_absolute_error", y_true, y_pred);
  return reduced(mean(abs(y_true - y_pred), {.axes = -1}), options.reduction);
}

Tensor categorical_cross_entropy(const Tensor& y_true, const Tensor& y_pred,
                                 const CategoricalCrossEntropyOptions& options) {
  if (y_pred.rank() < 1)
    throw ShapeError("categorical_cross_entropy", "predictions need an axis of classes, got a scalar");
  if (!options.sparse) check_same_shape("categorical_cross_entropy", y_true, y_pred);
  const Tensor hot = options.sparse ? one_hot(y_true, y_pred) : y_true;
  const Tensor log_p = options.from_logits ? log_softmax(y_pred) : log(y_pred);
  // A class without probability that is not asked for counts nothing, not 0 * -inf.
  const Tensor terms = options.from_logits ? hot * log_p : select(hot == 0, 0, hot * log_p);
  const Tensor rows = -sum(terms, {.axes = -1});
  if (options.class_weights.empty()) return reduced(rows, options.reduction);
  const Tensor weights = row_weights(hot, options.class_weights, y_pred);
  if (options.reduction == "mean") return sum(rows * weights) / sum(weights);
  return reduced(rows * weights, options.reduction);
}

}  // namespace nx::nn
