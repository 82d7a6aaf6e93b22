// Loss functions: Murphy 2012 (cross entropies, hinge, Poisson), Huber 1964, Kullback and Leibler
// 1951, Szegedy et al. 2016 (smoothing of labels).
#include "nx/losses.h"

#include "nn/as_inexact.h"
#include "nx/activations.h"
#include "nx/ops.h"
#include "ops/reduce.h"

namespace nx::nn {
namespace {

/// What probabilities are kept away from 0 by.
constexpr double kEpsilon = 1e-7;

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

void check_has_axis(const char* loss, const Tensor& y_pred) {
  if (y_pred.rank() < 1) throw ShapeError(loss, "predictions need a last axis, got a scalar");
}

struct Pair {
  Tensor y_true, y_pred;
};

/// Both checked and of inexact types.
Pair checked(const char* loss, const Tensor& y_true, const Tensor& y_pred) {
  check_has_axis(loss, y_pred);
  check_same_shape(loss, y_true, y_pred);
  return {as_inexact(y_true), as_inexact(y_pred)};
}

Tensor over_last(const Tensor& terms) { return mean(terms, {.axes = -1}); }

// -- categorical_cross_entropy ------------------------------------------------------------------

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

/// The weight of each row: that of its class.
Tensor row_weights(const Tensor& hot, const Tensor& weights) {
  const std::int64_t classes = hot.shape().back();
  if (weights.rank() != 1 || weights.size() != classes)
    throw ShapeError("categorical_cross_entropy",
                     "class weights do not fit the predictions; expected [" +
                         std::to_string(classes) + "], got " + to_string(weights.shape()));
  return take(weights, argmax(hot, {.axis = -1}));
}

}  // namespace

namespace losses {

Tensor binary_cross_entropy(const Tensor& y_true, const Tensor& y_pred,
                            const BinaryCrossEntropyOptions& o) {
  const auto [y, x] = checked("binary_cross_entropy", y_true, y_pred);
  Tensor terms;
  if (o.from_logits) {
    terms = -(y * log_sigmoid(x) + (1 - y) * log_sigmoid(-x));
  } else {
    const Tensor p = clip(x, kEpsilon, 1 - kEpsilon);
    terms = -(y * log(p + kEpsilon) + (1 - y) * log(1 - p + kEpsilon));
  }
  if (!o.positive_weight && !o.negative_weight) return reduced(over_last(terms), o.reduction);
  const Tensor weights =
      select(not_equal(y, 0), tensor(o.positive_weight.value_or(1), {.type = f32}),
             tensor(o.negative_weight.value_or(1), {.type = f32}));
  return reduced(mean(terms * weights), o.reduction);
}

Tensor categorical_cross_entropy(const Tensor& y_true, const Tensor& y_pred,
                                 const CategoricalCrossEntropyOptions& o) {
  check_has_axis("categorical_cross_entropy", y_pred);
  if (!o.sparse) check_same_shape("categorical_cross_entropy", y_true, y_pred);
  const Tensor hot = o.sparse ? one_hot(y_true, y_pred) : y_true;
  // A class without probability (of a logit that is masked, too) that is not asked for counts
  // nothing, neither here nor in the gradient: not 0 * log(0).
  Tensor terms;
  if (!o.from_logits) terms = hot * log(select(equal(hot, 0), 1, y_pred));
  else if (o.sparse) terms = select(hot, log_softmax(y_pred), 0);
  else terms = hot * select(equal(hot, 0), 0, log_softmax(y_pred));
  const Tensor rows = -sum(terms, {.axes = -1});
  if (!o.class_weights.has_value()) return reduced(rows, o.reduction);
  const Tensor weights = row_weights(hot, o.class_weights);
  if (o.reduction == "mean") return sum(rows * weights) / sum(weights);
  return reduced(rows * weights, o.reduction);
}

Tensor categorical_hinge(const Tensor& y_true, const Tensor& y_pred, const LossOptions& o) {
  const auto [y, p] = checked("categorical_hinge", y_true, y_pred);
  const Tensor wrong = reduce_max((1 - y) * p, {.axes = -1});
  return reduced(max(wrong - sum(y * p, {.axes = -1}) + 1, 0), o.reduction);
}

Tensor cosine_similarity(const Tensor& y_true, const Tensor& y_pred,
                         const CosineSimilarityOptions& o) {
  const auto [y, p] = checked("cosine_similarity", y_true, y_pred);
  const auto along = [&](const Tensor& t) { return sum(t, {.axes = o.axes}); };
  const Tensor lengths = ops::root_of_squares(along(y * y)) * ops::root_of_squares(along(p * p));
  return reduced(along(y * p) / max(lengths, o.eps), o.reduction);
}

Tensor hinge(const Tensor& y_true, const Tensor& y_pred, const LossOptions& o) {
  const auto [y, p] = checked("hinge", y_true, y_pred);
  return reduced(over_last(max(1 - y * p, 0)), o.reduction);
}

Tensor huber(const Tensor& y_true, const Tensor& y_pred, const HuberOptions& o) {
  check_same_shape("huber", y_true, y_pred);
  const Tensor distance = abs(as_inexact(y_pred) - as_inexact(y_true));
  const Tensor line = distance * o.delta - 0.5 * o.delta * o.delta;
  return reduced(select(distance <= o.delta, distance * distance * 0.5, line), o.reduction);
}

Tensor kl_divergence(const Tensor& y_true, const Tensor& y_pred, const LossOptions& o) {
  const auto [y, p] = checked("kl_divergence", y_true, y_pred);
  const Tensor q = clip(y, kEpsilon, 1);
  return reduced(sum(q * log(q / clip(p, kEpsilon, 1)), {.axes = -1}), o.reduction);
}

// log((e^x + e^-x) / 2) = x + log(1 + e^(-2x)) - log(2)
Tensor log_cosh(const Tensor& y_true, const Tensor& y_pred, const LossOptions& o) {
  const auto [y, p] = checked("log_cosh", y_true, y_pred);
  const Tensor x = p - y;
  return reduced(over_last(softplus(x * -2) + x - 0.6931471805599453), o.reduction);
}

Tensor mean_absolute_error(const Tensor& y_true, const Tensor& y_pred, const LossOptions& o) {
  const auto [y, p] = checked("mean_absolute_error", y_true, y_pred);
  return reduced(over_last(abs(y - p)), o.reduction);
}

Tensor mean_squared_error(const Tensor& y_true, const Tensor& y_pred, const LossOptions& o) {
  const auto [y, p] = checked("mean_squared_error", y_true, y_pred);
  const Tensor difference = y - p;
  return reduced(over_last(difference * difference), o.reduction);
}

Tensor poisson(const Tensor& y_true, const Tensor& y_pred, const LossOptions& o) {
  const auto [y, p] = checked("poisson", y_true, y_pred);
  return reduced(over_last(p - y * log(p + kEpsilon)), o.reduction);
}

Tensor soft_margin(const Tensor& y_true, const Tensor& y_pred, const LossOptions& o) {
  const auto [y, p] = checked("soft_margin", y_true, y_pred);
  return reduced(sum(softplus(-(y * p)), {.axes = 0}), o.reduction);
}

}  // namespace losses

Tensor margin_ranking(const Tensor& y_true, const std::pair<Tensor, Tensor>& y_pred,
                      const MarginRankingOptions& o) {
  check_same_shape("margin_ranking", y_pred.second, y_pred.first);
  check_same_shape("margin_ranking", y_true, y_pred.first);
  const Tensor order = as_inexact(y_pred.first) - as_inexact(y_pred.second);
  return reduced(max(o.margin - as_inexact(y_true) * order, 0), o.reduction);
}

Tensor apply_label_smoothing(const Tensor& y_true, const Tensor& y_pred,
                             const LabelSmoothingOptions& o) {
  check_has_axis("apply_label_smoothing", y_pred);
  const auto classes = static_cast<double>(y_pred.shape().back());
  return y_true * (1 - o.smoothing) + o.smoothing / classes;
}

LossFunction label_smoothing(LossFunction loss, const LabelSmoothingOptions& options) {
  return [loss = std::move(loss), options](const Tensor& y_true, const Tensor& y_pred) {
    return loss(apply_label_smoothing(y_true, y_pred, options), y_pred);
  };
}

}  // namespace nx::nn
