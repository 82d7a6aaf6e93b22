// The error function, its complement and its inverse as formulas over an algebra: kernels give
// vectors of f64 (kernels/math-inl.h), lowering gives StableHLO (ops/unary_special.cpp). For every
// SIMD target; ops/unary_special.cpp is the only user.
//
// Sources: W. J. Cody, "Rational Chebyshev approximations for the error function", Math. Comp. 23
// (1969); M. J. Wichura, "Algorithm AS 241: the percentage points of the normal distribution",
// Applied Statistics 37 (1988); M. Giles, "Approximating the erfinv function", GPU Computing Gems,
// Jade Edition (2011), the version for single precision.
#if defined(NX_SPECIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NX_SPECIAL_INL_H_
#undef NX_SPECIAL_INL_H_
#else
#define NX_SPECIAL_INL_H_
#endif

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace nx::ops {
namespace HWY_NAMESPACE {

/// erf for |x| < 0.46875: x R(x^2).
template <class A, class V>
V erf_near_zero(const A& a, const V& x) {
  constexpr double kP[] = {3.20937758913846947e3, 3.77485237685302021e2, 1.13864154151050156e2,
                           3.16112374387056560e0, 1.85777706184603153e-1};
  constexpr double kQ[] = {2.84423683343917062e3, 1.28261652607737228e3, 2.44024637934444173e2,
                           2.36012909523441209e1, 1.0};
  const V square = a.mul(x, x);
  return a.mul(x, a.div(a.polynomial(square, kP), a.polynomial(square, kQ)));
}

/// e^(-x^2) for 0 <= x < 30. The square is taken of x's upper 26 bits, exactly; what that leaves is
/// small enough for 1 - r + r^2 / 2.
template <class A, class V>
V exp_of_minus_square(const A& a, const V& x) {
  const V spread = a.mul(x, a.number(134217729.0));  // 2^27 + 1
  const V upper = a.sub(spread, a.sub(spread, x));
  const V r = a.mul(a.sub(x, upper), a.add(x, upper));
  const V one = a.number(1.0);
  const V correction = a.sub(one, a.mul(r, a.sub(one, a.mul(a.number(0.5), r))));
  return a.mul(a.exp(a.neg(a.mul(upper, upper))), correction);
}

/// erfc for x >= 0.46875: e^(-x^2) R(x), and beyond 4 a series in 1 / x^2.
template <class A, class V>
V erfc_of_positive(const A& a, const V& x) {
  constexpr double kP[] = {1.23033935479799725e3, 2.05107837782607147e3, 1.71204761263407058e3,
                           8.81952221241769090e2, 2.98635138197400131e2, 6.61191906371416295e1,
                           8.88314979438837594e0, 5.64188496988670089e-1, 2.15311535474403846e-8};
  constexpr double kQ[] = {1.23033935480374942e3, 3.43936767414372164e3, 4.36261909014324716e3,
                           3.29079923573345963e3, 1.62138957456669019e3, 5.37181101862009858e2,
                           1.17693950891312499e2, 1.57449261107098347e1, 1.0};
  constexpr double kFarP[] = {6.58749161529837803e-4, 1.60837851487422766e-2,
                              1.25781726111229246e-1, 3.60344899949804439e-1,
                              3.05326634961232344e-1, 1.63153871373020978e-2};
  constexpr double kFarQ[] = {2.33520497626869185e-3, 6.05183413124413191e-2,
                              5.27905102951428412e-1, 1.87295284992346725e0,
                              2.56852019228982242e0, 1.0};
  constexpr double kInverseRootPi = 0.56418958354775628695;
  const V near = a.div(a.polynomial(x, kP), a.polynomial(x, kQ));
  const V s = a.div(a.number(1.0), a.mul(x, x));
  const V series = a.mul(s, a.div(a.polynomial(s, kFarP), a.polynomial(s, kFarQ)));
  const V far = a.div(a.sub(a.number(kInverseRootPi), series), x);
  return a.mul(exp_of_minus_square(a, x), a.below(x, 4.0, near, far));
}

/// Arguments are capped where the result is 0 or 1 for f64, so that infinities do no harm.
template <class A, class V>
V erf_formula(const A& a, const V& x) {
  const V size = a.abs(x);
  const V capped = a.below(size, 6.0, a.below(size, 0.4, a.number(0.4), size), a.number(6.0));
  const V tail = a.sub(a.number(1.0), erfc_of_positive(a, capped));
  const V signed_tail = a.below(x, 0.0, a.neg(tail), tail);
  return a.below(size, 0.46875, erf_near_zero(a, a.below(size, 0.46875, x, a.number(0.0))),
                 signed_tail);
}

template <class A, class V>
V erfc_formula(const A& a, const V& x) {
  const V size = a.abs(x);
  const V capped = a.below(size, 27.3, a.below(size, 0.4, a.number(0.4), size), a.number(27.3));
  const V tail = erfc_of_positive(a, capped);
  const V far = a.below(x, 0.0, a.sub(a.number(2.0), tail), tail);
  const V near =
      a.sub(a.number(1.0), erf_near_zero(a, a.below(size, 0.46875, x, a.number(0.0))));
  return a.below(size, 0.46875, near, far);
}

/// erf_inv on (-1, 1): the normal quantile of (x + 1) / 2, over sqrt 2.
template <class A, class V>
V erf_inv_formula(const A& a, const V& x) {
  constexpr double kA[] = {3.3871328727963666080e0, 1.3314166789178437745e2,
                           1.9715909503065514427e3, 1.3731693765509461125e4,
                           4.5921953931549871457e4, 6.7265770927008700853e4,
                           3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr double kB[] = {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2,
                           5.3941960214247511077e3, 2.1213794301586595867e4,
                           3.9307895800092710610e4, 2.8729085735721942674e4,
                           5.2264952788528545610e3};
  constexpr double kC[] = {1.42343711074968357734e0, 4.63033784615654529590e0,
                           5.76949722146069140550e0, 3.64784832476320460504e0,
                           1.27045825245236838258e0, 2.41780725177450611770e-1,
                           2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr double kD[] = {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
                           6.89767334985100004550e-1, 1.48103976427480074590e-1,
                           1.51986665636164571966e-2, 5.47593808499534494600e-4,
                           1.05075007164441684324e-9};
  constexpr double kE[] = {6.65790464350110377720e0, 5.46378491116411436990e0,
                           1.78482653991729133580e0, 2.96560571828504891230e-1,
                           2.65321895265761230930e-2, 1.24266094738807843860e-3,
                           2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr double kF[] = {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                           1.48753612908506148525e-2, 7.86869131145613259100e-4,
                           1.84631831751005468180e-5, 1.42151175831644588870e-7,
                           2.04426310338993978564e-15};
  constexpr double kInverseRootTwo = 0.70710678118654752440;
  const V size = a.abs(x), q = a.mul(a.number(0.5), x);
  const V inner = a.sub(a.number(0.180625), a.mul(q, q));
  const V middle = a.mul(q, a.div(a.polynomial(inner, kA), a.polynomial(inner, kB)));
  const V p = a.mul(a.number(0.5), a.sub(a.number(1.0), size));
  const V r = a.sqrt(a.neg(a.log(p)));
  const V near = a.sub(r, a.number(1.6)), far = a.sub(r, a.number(5.0));
  const V tail = a.below(r, 5.0, a.div(a.polynomial(near, kC), a.polynomial(near, kD)),
                         a.div(a.polynomial(far, kE), a.polynomial(far, kF)));
  const V signed_tail = a.below(x, 0.0, a.neg(tail), tail);
  return a.mul(a.number(kInverseRootTwo), a.below(size, 0.85, middle, signed_tail));
}

/// erf_inv on (-1, 1) to 3e-8: what the reference draws normal numbers with.
template <class A, class V>
V erf_inv_giles_formula(const A& a, const V& x) {
  constexpr double kNear[] = {1.50140941,     0.246640727,    -0.00417768164,
                              -0.00125372503, 0.00021858087,  -4.39150654e-06,
                              -3.5233877e-06, 3.43273939e-07, 2.81022636e-08};
  constexpr double kFar[] = {2.83297682,    1.00167406,     0.00943887047,
                             -0.0076224613, 0.00573950773,  -0.00367342844,
                             0.00134934322, 0.000100950558, -0.000200214257};
  const V one = a.number(1.0);
  const V w = a.neg(a.log(a.mul(a.sub(one, x), a.add(one, x))));
  const V near = a.polynomial(a.sub(w, a.number(2.5)), kNear);
  const V far = a.polynomial(a.sub(a.sqrt(a.below(w, 5.0, a.number(5.0), w)), a.number(3.0)), kFar);
  return a.mul(a.below(w, 5.0, near, far), x);
}

}  // namespace HWY_NAMESPACE
}  // namespace nx::ops
HWY_AFTER_NAMESPACE();

#endif
