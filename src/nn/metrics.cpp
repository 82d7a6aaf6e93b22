// Measures of predictions.
#include "nx/metrics.h"

#include "nx/ops.h"

namespace nx::nn {

Tensor accuracy(const Tensor& y_true, const Tensor& y_pred) {
  if (y_pred.rank() < 1) throw ShapeError("accuracy", "expected [batch, …], got a scalar");
  const std::int64_t classes = y_pred.shape().back();
  if (y_true.shape() == y_pred.shape()) {
    if (classes == 1 || y_pred.rank() == 1)
      return mean(equal(y_true, y_pred > 0.5));
    return mean(equal(argmax(y_true, {.axis = -1}), argmax(y_pred, {.axis = -1})));
  }
  Shape rows = y_pred.shape();
  rows.pop_back();
  Shape with_one = rows;
  with_one.push_back(1);
  if (!(y_true.shape() == rows) && !(y_true.shape() == with_one))
    throw ShapeError("accuracy", "targets do not fit the predictions; expected " +
                                     to_string(y_pred.shape()) + " or " + to_string(rows) +
                                     ", got " + to_string(y_true.shape()));
  return mean(equal(reshape(y_true, rows), argmax(y_pred, {.axis = -1})));
}

Tensor running_average(const Tensor& average, const Tensor& value, const Tensor& seen,
                       std::int64_t size) {
  return (average * seen + value * size) / (seen + size);
}

}  // namespace nx::nn
