// layer: ops
// Elementwise functions of one operand. Unless said otherwise integers become f32, and floats keep
// their type.
#pragma once

#include "nx/tensor.h"

namespace nx {

/// |x|, -x and the sign (-1, 0, 1; NaN stays). Integers keep their type and wrap.
NX_API Tensor abs(const Operand& x);
NX_API Tensor negate(const Operand& x);
NX_API Tensor sign(const Operand& x);
/// To whole numbers: down, up, and to the nearest (halves away from zero). Integers stay.
NX_API Tensor floor(const Operand& x);
NX_API Tensor ceil(const Operand& x);
NX_API Tensor round(const Operand& x);

/// e^x, e^x - 1 (exact near 0), and their inverses.
NX_API Tensor exp(const Operand& x);
NX_API Tensor expm1(const Operand& x);
NX_API Tensor log(const Operand& x);
NX_API Tensor log1p(const Operand& x);
/// The logarithm to a base. log2 and log10 of floats below f32 are f32.
NX_API Tensor log(const Operand& x, const Operand& base);
NX_API Tensor log2(const Operand& x);
NX_API Tensor log10(const Operand& x);
/// 1 / (1 + e^-x).
NX_API Tensor sigmoid(const Operand& x);
/// Roots: square, its inverse, cubic.
NX_API Tensor sqrt(const Operand& x);
NX_API Tensor rsqrt(const Operand& x);
NX_API Tensor cbrt(const Operand& x);

/// Angles are in radians.
NX_API Tensor sin(const Operand& x);
NX_API Tensor cos(const Operand& x);
NX_API Tensor tan(const Operand& x);
NX_API Tensor asin(const Operand& x);
NX_API Tensor acos(const Operand& x);
NX_API Tensor atan(const Operand& x);
NX_API Tensor sinh(const Operand& x);
NX_API Tensor cosh(const Operand& x);
NX_API Tensor tanh(const Operand& x);
NX_API Tensor asinh(const Operand& x);
NX_API Tensor acosh(const Operand& x);
NX_API Tensor atanh(const Operand& x);

/// The error function 2/sqrt(pi) * integral of e^(-t^2) from 0 to x, 1 minus it, its inverse.
NX_API Tensor erf(const Operand& x);
NX_API Tensor erfc(const Operand& x);
NX_API Tensor erf_inv(const Operand& x);

/// Bits; integers only (DTypeError).
NX_API Tensor bitwise_not(const Operand& x);
NX_API Tensor count_leading_zeros(const Operand& x);
NX_API Tensor population_count(const Operand& x);

/// 0 and 1 in u8.
NX_API Tensor logical_not(const Operand& x);
NX_API Tensor is_nan(const Operand& x);
NX_API Tensor is_infinity(const Operand& x);

/// The real part, a float (integers become f32), and the imaginary one, 0 for real tensors.
NX_API Tensor real(const Operand& x);
NX_API Tensor imag(const Operand& x);
/// The angle of a complex number: 0 or pi for real ones.
NX_API Tensor phase(const Operand& x);

}  // namespace nx
