// x^y of f32 for the SIMD target being compiled; ops/binary_power.cpp is the only user.
#if defined(NX_POW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NX_POW_INL_H_
#undef NX_POW_INL_H_
#else
#define NX_POW_INL_H_
#endif

#include "kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nx::ops {
namespace HWY_NAMESPACE {
using namespace kernels::HWY_NAMESPACE;

/// log2 of f64 numbers that f32 has, from 0 to infinity: of 2^k m, with m from sqrt(1/2) to
/// sqrt(2), k + s P(s^2) where s = (m - 1) / (m + 1). P is our own minimax fit on |s| < 0.1716,
/// with a relative error of 2^-52.
template <class D, class V>
HWY_INLINE V log2_of_f32(D d, V x) {
  constexpr double kP[] = {2.885390081777927,  0.9617966939243237,  0.5770780172507475,
                           0.4121984013971318, 0.32061643144049656, 0.2614429229403307,
                           0.24293130978930866};
  constexpr std::uint64_t kRootOfHalf = 0x3FE6A09E667F3BCD, kOne = 0x3FF0000000000000;
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::Add(hn::BitCast(du, x), hn::Set(du, kOne - kRootOfHalf));
  const auto fraction = hn::And(bits, hn::Set(du, 0xFFFFFFFFFFFFF));
  const V m = hn::BitCast(d, hn::Add(fraction, hn::Set(du, kRootOfHalf)));
  // An integer below 2^52 put under the exponent of 2^52 makes a double.
  const auto raised = hn::Or(hn::ShiftRight<52>(bits), hn::Set(du, 0x4330000000000000));
  const V k = hn::Sub(hn::BitCast(d, raised), hn::Set(d, 4503599627370496.0 + 1023.0));
  const V one = hn::Set(d, 1.0);
  const V s = hn::Div(hn::Sub(m, one), hn::Add(m, one));
  const V log = hn::Add(k, hn::Mul(s, unfused_polynomial(d, hn::Mul(s, s), kP)));
  const V finite = hn::IfThenElse(hn::Lt(x, hn::Inf(d)), log, x);
  return hn::IfThenElse(hn::Eq(x, hn::Zero(d)), hn::Neg(hn::Inf(d)), finite);
}

/// 2^e, with 0 and infinity where f32 has none, to 41 bits. So many can be told from e, and where
/// the power is a number half way between two of f32 (all powers of integers that fit 25 bits are
/// exact) they say so: f32 then rounds it as if it were exact. P is our own minimax fit on
/// |f| <= 0.5, with a relative error of 2^-46.
template <class D, class V>
HWY_INLINE V exp2_to_41_bits(D d, V e) {
  constexpr double kP[] = {1.0000000000000129,     0.6931471805598708,     0.24022650695649264,
                           0.055504108668692494,   0.009618129192164052,   0.0013333557616847693,
                           0.00015403434874037972, 1.5252985106551747e-05, 1.3259422814688465e-06,
                           1.0150313981833231e-07};
  const hn::RebindToUnsigned<D> du;
  const V integer = hn::Set(d, 6755399441055744.0);  // 1.5 2^52: what is added loses its fraction
  const V capped = hn::Min(hn::Max(e, hn::Set(d, -200.0)), hn::Set(d, 200.0));
  const V shifted = hn::Add(capped, integer);
  const V f = hn::Sub(capped, hn::Sub(shifted, integer));
  const auto exponent = hn::ShiftLeft<52>(hn::BitCast(du, shifted));
  const auto bits = hn::Add(hn::BitCast(du, unfused_polynomial(d, f, kP)), exponent);
  const auto half_unit = hn::Set(du, 1u << 11), kept = hn::Set(du, ~std::uint64_t{0xFFF});
  const V y = hn::BitCast(d, hn::And(hn::Add(bits, half_unit), kept));
  return hn::IfThenElse(hn::IsNaN(e), e, y);
}

struct PowerOfSize {
  template <class D, class V>
  static HWY_INLINE V wide(D d, V x, V y) {
    return exp2_to_41_bits(d, hn::Mul(y, log2_of_f32(d, x)));
  }
};
struct Cube {
  template <class D, class V>
  static HWY_INLINE V wide(D, V x) {
    return hn::Mul(hn::Mul(x, x), x);
  }
};

/// |x|^y in f64, and what IEEE 754 says of signs and of what is no number.
template <class D, class V>
HWY_INLINE V any_power_of_f32(D d, V x, V y) {
  const V one = hn::Set(d, 1.0f), size = hn::Abs(x), half = hn::Mul(y, hn::Set(d, 0.5f));
  const auto whole = hn::Eq(hn::Trunc(y), y);
  const auto odd = hn::AndNot(hn::Eq(hn::Trunc(half), half), whole);
  const V power = in_double<PowerOfSize>(d, size, y);
  const V with_sign = hn::IfThenElse(odd, hn::CopySign(power, x), power);
  const auto below_zero = hn::And(hn::Lt(x, hn::Zero(d)), hn::Lt(size, hn::Inf(d)));
  const V real = hn::IfThenElse(hn::AndNot(whole, below_zero), hn::NaN(d), with_sign);
  const auto endless = hn::And(hn::Eq(size, one), hn::Eq(hn::Abs(y), hn::Inf(d)));
  const auto is_one = hn::Or(hn::Or(hn::Eq(y, hn::Zero(d)), hn::Eq(x, one)), endless);
  return hn::IfThenElse(is_one, one, real);
}

/// x^y to 0.501 units in the last place, the same bits on every target. Squares and cubes, which
/// are common, are products: squares are correctly rounded.
template <class D, class V>
HWY_INLINE V pow_of_f32(D d, V x, V y) {
  const auto cubes = hn::Eq(y, hn::Set(d, 3.0f));
  const auto products = hn::Or(cubes, hn::Eq(y, hn::Set(d, 2.0f)));
  const V product = hn::IfThenElse(cubes, in_double<Cube>(d, x), hn::Mul(x, x));
  if (hn::AllTrue(d, products)) return product;
  return hn::IfThenElse(products, product, any_power_of_f32(d, x, y));
}

}  // namespace HWY_NAMESPACE
}  // namespace nx::ops
HWY_AFTER_NAMESPACE();

#endif
