// erf of f32 for the SIMD target being compiled; ops/unary_special.cpp is the only user.
#if defined(NX_ERF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NX_ERF_INL_H_
#undef NX_ERF_INL_H_
#else
#define NX_ERF_INL_H_
#endif

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nx::ops {
namespace HWY_NAMESPACE {
using namespace kernels::HWY_NAMESPACE;

/// 2^e / 8 for -30 < e < 1. P is our own minimax fit of 2^f / 8 on |f| <= 0.5, to 0.09 units in the
/// last place.
template <class D, class V>
HWY_INLINE V eighth_of_exp2(D d, V e) {
  constexpr double kP[] = {1.0 / 8,         0.69314724 / 8,   0.24022655 / 8,   0.055502776 / 8,
                           0.009617107 / 8, 0.0013414768 / 8, 0.00015788672 / 8};
  const hn::RebindToUnsigned<D> du;
  const V integer = hn::Set(d, 12582912.0f);  // 1.5 2^23: what is added loses its fraction
  const V shifted = hn::Add(e, integer);
  const V f = hn::Sub(e, hn::Sub(shifted, integer));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(du, shifted));
  return hn::BitCast(d, hn::Add(hn::BitCast(du, unfused_polynomial(d, f, kP)), exponent));
}

/// Near zero x + x P(x^2), else 1 - 2^Q(|x| - 1) / 8, whose error shrinks with erfc. P and Q are
/// our own minimax fits, to 0.10 and 0.06 units in the last place of erf, on |x| < 0.84 and from
/// there to 4, where erf is 1. With the roundings that makes 0.96 units (every f32 was tried), the
/// same bits on every target.
template <class D, class V>
HWY_INLINE V erf_of_f32(D d, V x) {
  constexpr double kP[] = {0.12837917,   -0.37612593,  0.112829186,
                           -0.026810046, 0.0050630816, -0.00063837785};
  constexpr double kQ[] = {0.3315833,   -3.807225,     -1.2163448,   -0.05997053,
                           0.014464803, -0.0027930725, 0.00031174938};
  const V one = hn::Set(d, 1.0f), size = hn::Abs(x);
  const V near = hn::Add(x, hn::Mul(x, unfused_horner(d, hn::Mul(x, x), kP)));
  const V from_one = hn::Sub(hn::Min(size, hn::Set(d, 4.0f)), one);
  const V complement = eighth_of_exp2(d, unfused_polynomial(d, from_one, kQ));
  const V far = hn::CopySign(hn::Sub(one, complement), x);
  return hn::IfThenElse(hn::Lt(size, hn::Set(d, 0.84f)), near, far);
}

}  // namespace HWY_NAMESPACE
}  // namespace nx::ops
HWY_AFTER_NAMESPACE();

#endif
