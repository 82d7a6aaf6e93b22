// Helpers around Highway's math for the SIMD target being compiled: its functions are accurate on a
// range only, and say nothing of NaN, infinities and overflow.
#if defined(NX_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NX_MATH_INL_H_
#undef NX_MATH_INL_H_
#else
#define NX_MATH_INL_H_
#endif

#include <cmath>

#include <hwy/contrib/math/math-inl.h>

#include "kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nx::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class F, class D>
HWY_NOINLINE void exact_lanes(D d, const hn::TFromD<D>* x, hn::TFromD<D>* out) {
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) out[i] = F::exact(x[i]);
}

/// F::fast where F::usual holds; the other lanes, rare ones, by F::exact of the C library.
template <class F, class D, class V>
V guarded(D d, V x) {
  const auto usual = F::usual(d, x);
  const V fast = F::fast(d, x);
  if (HWY_LIKELY(hn::AllTrue(d, usual))) return fast;
  HWY_ALIGN hn::TFromD<D> lanes[hn::MaxLanes(d)];
  hn::Store(x, d, lanes);
  exact_lanes<F>(d, lanes, lanes);
  return hn::IfThenElse(usual, fast, hn::Load(d, lanes));
}

template <class D>
using ValueOf = hn::TFromD<D>;
template <class D>
hn::Vec<D> constant(D d, double value) { return hn::Set(d, static_cast<ValueOf<D>>(value)); }
template <class D, class V>
auto between(D d, V x, double low, double high) {
  return hn::And(hn::Ge(x, constant(d, low)), hn::Le(x, constant(d, high)));
}

/// c[first] + c[first + step] x + ..., where each product and each sum is rounded by itself: the
/// same bits on targets with and without fused operations.
template <class D, class V, std::size_t N>
HWY_INLINE V unfused_horner(D d, V x, const double (&c)[N], std::size_t first = 0,
                            std::size_t step = 1) {
  std::size_t i = first + (N - 1 - first) / step * step;
  V sum = constant(d, c[i]);
  for (; i > first; i -= step) sum = hn::Add(hn::Mul(sum, x), constant(d, c[i - step]));
  return sum;
}
/// c[0] + x (c[1] + c[2] x + ...) with even and odd powers side by side: that waits half as long.
template <class D, class V, std::size_t N>
HWY_INLINE V unfused_polynomial(D d, V x, const double (&c)[N]) {
  const V square = hn::Mul(x, x);
  const V even = hn::Mul(unfused_horner(d, square, c, 2, 2), x);
  return hn::Add(hn::Mul(hn::Add(even, unfused_horner(d, square, c, 1, 2)), x), constant(d, c[0]));
}

/// Rounds f64 to f32. Without vectors DemoteTo has the largest f32 for what is larger.
template <class D, class V>
HWY_INLINE hn::Vec<D> rounded_to_f32(D d, V wide) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
  double from[hn::MaxLanes(d)];
  float to[hn::MaxLanes(d)];
  hn::StoreU(wide, hn::Rebind<double, D>(), from);
  for (std::size_t i = 0; i < hn::MaxLanes(d); ++i) to[i] = static_cast<float>(from[i]);
  return hn::LoadU(d, to);
#else
  return hn::DemoteTo(d, wide);
#endif
}

/// The vector in two halves of f64, function by function, rounded back to f32.
template <class F, class D, class... V>
HWY_INLINE hn::Vec<D> in_double(D d, V... x) {
  static_assert(sizeof(ValueOf<D>) == 4);
#if HWY_TARGET == HWY_SCALAR
  const hn::Rebind<double, D> dd;
  return rounded_to_f32(d, F::wide(dd, hn::PromoteTo(dd, x)...));
#else
  const hn::Half<D> dh;
  const hn::Rebind<double, hn::Half<D>> dd;
  const auto low = rounded_to_f32(dh, F::wide(dd, hn::PromoteTo(dd, hn::LowerHalf(dh, x))...));
  const auto high = rounded_to_f32(dh, F::wide(dd, hn::PromoteTo(dd, hn::UpperHalf(dh, x))...));
  return hn::Combine(d, high, low);
#endif
}

/// Formulas written once for vectors and for StableHLO (ops/elementwise_rows.h, Formula): the same
/// members, on vectors of f64.
template <class D>
struct VectorAlgebra {
  using Value = hn::Vec<D>;
  D d;
  Value number(double value) const { return constant(d, value); }
  Value add(Value a, Value b) const { return hn::Add(a, b); }
  Value sub(Value a, Value b) const { return hn::Sub(a, b); }
  Value mul(Value a, Value b) const { return hn::Mul(a, b); }
  Value div(Value a, Value b) const { return hn::Div(a, b); }
  Value neg(Value a) const { return hn::Neg(a); }
  Value abs(Value a) const { return hn::Abs(a); }
  Value sqrt(Value a) const { return hn::Sqrt(a); }
  Value exp(Value a) const { return hn::Exp(d, a); }
  Value log(Value a) const { return hn::Log(d, a); }
  /// `a` where x < limit, else `b`.
  Value below(Value x, double limit, Value a, Value b) const {
    return hn::IfThenElse(hn::Lt(x, number(limit)), a, b);
  }
  template <std::size_t N>
  Value polynomial(Value x, const double (&c)[N]) const {
    Value sum = number(c[N - 1]);
    for (std::size_t i = N - 1; i-- > 0;) sum = hn::MulAdd(sum, x, number(c[i]));
    return sum;
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace nx::kernels
HWY_AFTER_NAMESPACE();

#endif
