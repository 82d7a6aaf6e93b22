// Constants with a type.
#include "nx/constants.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>

#include "kernels/reduce.h"
#include "ops/creation.h"

namespace nx::constants {
namespace {

/// Bits of the exponent and the mantissa of a float type.
struct Layout {
  int exponent, mantissa;
};

Layout layout_of(std::string_view name, DType type) {
  switch (type) {
    case DType::f8: return {5, 2};
    case DType::f8_e4m3fn: return {4, 3};
    case DType::bf16: return {8, 7};
    case DType::f16: return {5, 10};
    case DType::f32: return {8, 23};
    case DType::f64: return {11, 52};
    default:
      throw DTypeError(name, fmt::format("expected a float type, got {}", name_of(type)));
  }
}

Tensor number(std::string_view name, double value, DType type) {
  if (!is_inexact(type))
    throw DTypeError(name, fmt::format("expected a float or complex type, got {}", name_of(type)));
  return ops::scalar(Number(value), type);
}

double largest_finite(std::string_view name, DType type) {
  const auto [exponent, mantissa] = layout_of(name, type);
  if (type == DType::f8_e4m3fn) return 448;  // it has no infinity: one exponent more
  const int bias = (1 << (exponent - 1)) - 1;
  return std::ldexp(2 - std::ldexp(1.0, -mantissa), bias);
}

Tensor bound(kernels::Reduction reduction, DType type) {
  return ops::scalar(kernels::reduction_identity(reduction, type), type);
}

void refuse_complex(std::string_view name, DType type) {
  if (is_complex(type))
    throw DTypeError(name, fmt::format("complex numbers have no order, got {}", name_of(type)));
}

}  // namespace

Tensor e(DType type) { return number("e", 2.718281828459045, type); }
Tensor pi(DType type) { return number("pi", 3.141592653589793, type); }
Tensor euler_gamma(DType type) { return number("euler_gamma", 0.5772156649015329, type); }
Tensor infinity(DType type) {
  return number("infinity", std::numeric_limits<double>::infinity(), type);
}
Tensor neg_infinity(DType type) {
  return number("neg_infinity", -std::numeric_limits<double>::infinity(), type);
}
Tensor nan(DType type) { return number("nan", std::numeric_limits<double>::quiet_NaN(), type); }

Tensor i(DType type) {
  if (!is_complex(type))
    throw DTypeError("i", fmt::format("expected a complex type, got {}", name_of(type)));
  return ops::scalar(Number(std::complex<double>(0, 1)), type);
}

Tensor max(DType type) {
  refuse_complex("max", type);
  return bound(kernels::Reduction::kMin, type);
}
Tensor min(DType type) {
  refuse_complex("min", type);
  return bound(kernels::Reduction::kMax, type);
}
Tensor max_finite(DType type) {
  refuse_complex("max_finite", type);
  if (is_integer(type)) return max(type);
  return ops::scalar(Number(largest_finite("max_finite", type)), type);
}
Tensor min_finite(DType type) {
  refuse_complex("min_finite", type);
  if (is_integer(type)) return min(type);
  return ops::scalar(Number(-largest_finite("min_finite", type)), type);
}

Tensor epsilon(DType type) {
  return ops::scalar(Number(std::ldexp(1.0, -layout_of("epsilon", type).mantissa)), type);
}

Tensor smallest_positive_normal(DType type) {
  const int exponent = layout_of("smallest_positive_normal", type).exponent;
  return ops::scalar(Number(std::ldexp(1.0, 2 - (1 << (exponent - 1)))), type);
}

}  // namespace nx::constants
