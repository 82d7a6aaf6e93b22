// layer: ops
// Reductions along axes. Without `axes` they run over all of them (never over vectorised ones).
#pragma once

#include <optional>
#include <string>

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

#define NX_REDUCE_OPTIONS_(Name)                                \
  struct Name {                                                 \
    Axes axes;                                                  \
    bool keep_axes = false; /* as axes of size 1 */             \
    template <class F>                                          \
    static void fields(F&& f) {                                 \
      f("axes", &Name::axes);                                   \
      f("keep_axes", &Name::keep_axes);                         \
    }                                                           \
  }
NX_REDUCE_OPTIONS_(SumOptions);
NX_REDUCE_OPTIONS_(ProductOptions);
NX_REDUCE_OPTIONS_(MeanOptions);
NX_REDUCE_OPTIONS_(ReduceMaxOptions);
NX_REDUCE_OPTIONS_(ReduceMinOptions);
NX_REDUCE_OPTIONS_(AllOptions);
NX_REDUCE_OPTIONS_(AnyOptions);
#undef NX_REDUCE_OPTIONS_

/// Unsigned integers to 32 bits are added up in u32, signed ones in s32; 64-bit ones stay.
NX_API Tensor sum(const Operand& x, const SumOptions& options = {});
NX_API Tensor product(const Operand& x, const ProductOptions& options = {});
/// Integers give f32, and do not overflow.
NX_API Tensor mean(const Operand& x, const MeanOptions& options = {});
/// NaN when there is one.
NX_API Tensor reduce_max(const Operand& x, const ReduceMaxOptions& options = {});
NX_API Tensor reduce_min(const Operand& x, const ReduceMinOptions& options = {});
/// 1 when every element is different from 0, else 0; u8.
NX_API Tensor all(const Operand& x, const AllOptions& options = {});
NX_API Tensor any(const Operand& x, const AnyOptions& options = {});

struct ArgmaxOptions {
  std::optional<Axis> axis;  ///< Without it the flat index.
  bool keep_axis = false;  ///< As an axis of size 1; without `axis` it says nothing.
  std::string tie_break = "low";  ///< "low": the first of equal elements, "high": the last
  DType type = DType::s32;
  template <class F>
  static void fields(F&& f) {
    f("axis", &ArgmaxOptions::axis);
    f("keep_axis", &ArgmaxOptions::keep_axis);
    f("tie_break", &ArgmaxOptions::tie_break);
    f("type", &ArgmaxOptions::type);
  }
};
using ArgminOptions = ArgmaxOptions;
/// Index of the largest element; the first NaN wins.
NX_API Tensor argmax(const Operand& x, const ArgmaxOptions& options = {});
NX_API Tensor argmin(const Operand& x, const ArgminOptions& options = {});

struct LogsumexpOptions {
  Axes axes;
  bool keep_axes = false;
  std::optional<Tensor> exp_scaling_factor;  ///< Multiplies each exponential.
  template <class F>
  static void fields(F&& f) {
    f("axes", &LogsumexpOptions::axes);
    f("keep_axes", &LogsumexpOptions::keep_axes);
    f("exp_scaling_factor", &LogsumexpOptions::exp_scaling_factor);
  }
};
/// log(sum(exp(x))) without overflow. Elements that are all -infinity (a row that is masked whole)
/// give -infinity and have a gradient of 0.
NX_API Tensor logsumexp(const Operand& x, const LogsumexpOptions& options = {});

struct VarianceOptions {
  Axes axes;
  bool keep_axes = false;
  std::int64_t ddof = 0;  ///< The divisor is the number of elements less this.
  template <class F>
  static void fields(F&& f) {
    f("axes", &VarianceOptions::axes);
    f("keep_axes", &VarianceOptions::keep_axes);
    f("ddof", &VarianceOptions::ddof);
  }
};
using StandardDeviationOptions = VarianceOptions;
/// The mean squared distance from the mean.
NX_API Tensor variance(const Operand& x, const VarianceOptions& options = {});
/// The square root of the variance. Its gradient is 0 where it is 0, as at the kink of a length.
NX_API Tensor standard_deviation(const Operand& x, const StandardDeviationOptions& options = {});

}  // namespace nx
