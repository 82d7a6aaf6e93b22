// layer: ops
// What describes a sample: weighted means, covariance, order statistics; and whether two samples
// are close.
#pragma once

#include <optional>

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

struct WeightedMeanOptions {
  Axes axes = {};
  bool keep_axes = false;  ///< As axes of size 1.
  template <class F>
  static void fields(F&& f) {
    f("axes", &WeightedMeanOptions::axes);
    f("keep_axes", &WeightedMeanOptions::keep_axes);
  }
};
/// sum(x * weights) / sum(weights). The weights have x's shape, or the sizes of `axes`. Throws
/// ShapeError for others.
NX_API Tensor weighted_mean(const Operand& x, const Operand& weights,
                            const WeightedMeanOptions& options = {});

struct CovarianceOptions {
  std::int64_t ddof = 0;  ///< The divisor is the number of rows less this.
  template <class F>
  static void fields(F&& f) {
    f("ddof", &CovarianceOptions::ddof);
  }
};
/// The covariance of the columns of x, [..., rows, columns] -> [..., columns, columns].
NX_API Tensor covariance(const Operand& x, const CovarianceOptions& options = {});
/// The same around a given mean, one for each column.
NX_API Tensor covariance(const Operand& x, const Operand& mean,
                         const CovarianceOptions& options = {});

struct AllCloseOptions {
  double rtol = 1e-5, atol = 1e-8;
  bool equal_nan = false;  ///< NaN is close to NaN.
  template <class F>
  static void fields(F&& f) {
    f("rtol", &AllCloseOptions::rtol);
    f("atol", &AllCloseOptions::atol);
    f("equal_nan", &AllCloseOptions::equal_nan);
  }
};
/// 1 where |a - b| <= atol + rtol |b| for all elements; u8. Infinities are close when they are
/// equal.
NX_API Tensor all_close(const Operand& a, const Operand& b, const AllCloseOptions& options = {});

}  // namespace nx
