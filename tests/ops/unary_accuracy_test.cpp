// Every unary float kernel against the C library in long double, over its range and at the edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "graph/op_row.h"
#include "ops/unary.h"

namespace nx {
namespace {

using Exact = long double (*)(long double);

struct Case {
  const graph::OpRow* row;
  Exact exact;
  double low, high;  // drawn evenly, and by magnitude down to 1e-30
  double ulp;
};

long double inverse_erf(long double y) {
  long double x = 0;
  const long double rest = 1 - std::fabs(y);
  if (rest < 0.3L) x = std::copysign(std::sqrt(-std::log(rest)), y);
  for (int i = 0; i < 60; ++i) {
    const long double error = std::fabs(y) < 0.5L ? std::erf(x) - y
                              : y > 0             ? (1 - y) - std::erfc(x)
                                                  : std::erfc(-x) - (1 + y);
    const long double slope = 1.128379167095512573896L * std::exp(-x * x);
    x -= std::clamp(error / slope, -0.5L, 0.5L);
  }
  return x;
}

const Case kCases[] = {
    {&ops::kExp, [](long double x) { return std::exp(x); }, -80, 88, 2},
    {&ops::kExpm1, [](long double x) { return std::expm1(x); }, -80, 88, 5},
    {&ops::kLog, [](long double x) { return std::log(x); }, 1e-30, 1e6, 5},
    {&ops::kLog1p, [](long double x) { return std::log1p(x); }, -0.999, 1e6, 5},
    {&ops::kLog2, [](long double x) { return std::log2(x); }, 1e-30, 1e6, 5},
    {&ops::kLog10, [](long double x) { return std::log10(x); }, 1e-30, 1e6, 5},
    {&ops::kSigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, -80, 80, 4},
    {&ops::kSqrt, [](long double x) { return std::sqrt(x); }, 0, 1e6, 0.5},
    {&ops::kRsqrt, [](long double x) { return 1 / std::sqrt(x); }, 1e-30, 1e6, 1.5},
    {&ops::kCbrt, [](long double x) { return std::cbrt(x); }, -1e6, 1e6, 2},
    {&ops::kSin, [](long double x) { return std::sin(x); }, -3, 3, 4},
    {&ops::kCos, [](long double x) { return std::cos(x); }, -1.5, 1.5, 4},
    {&ops::kTan, [](long double x) { return std::tan(x); }, -1.5, 1.5, 6},
    {&ops::kAsin, [](long double x) { return std::asin(x); }, -1, 1, 4},
    {&ops::kAcos, [](long double x) { return std::acos(x); }, -1, 1, 4},
    {&ops::kAtan, [](long double x) { return std::atan(x); }, -100, 100, 4},
    {&ops::kSinh, [](long double x) { return std::sinh(x); }, -88, 88, 5},
    {&ops::kCosh, [](long double x) { return std::cosh(x); }, -88, 88, 4},
    {&ops::kTanh, [](long double x) { return std::tanh(x); }, -20, 20, 5},
    {&ops::kAsinh, [](long double x) { return std::asinh(x); }, -1e6, 1e6, 5},
    {&ops::kAcosh, [](long double x) { return std::acosh(x); }, 1, 1e6, 5},
    {&ops::kAtanh, [](long double x) { return std::atanh(x); }, -0.9999, 0.9999, 5},
    {&ops::kErf, [](long double x) { return std::erf(x); }, -6, 6, 4},
    {&ops::kErfc, [](long double x) { return std::erfc(x); }, -6, 5, 2},
    {&ops::kErfInv, inverse_erf, -0.9999, 0.9999, 2.5},
};

template <class T>
std::vector<T> inputs(double low, double high) {
  std::vector<T> x;
  for (int i = 0; i <= 2000; ++i) x.push_back(static_cast<T>(low + (high - low) * i / 2000.0));
  for (const double sign : {-1.0, 1.0})
    for (double e = -30; e < 7; e += 0.01) {
      const double value = sign * std::pow(10.0, e);
      if (value >= low && value <= high) x.push_back(static_cast<T>(value));
    }
  for (T& v : x) v = std::clamp(v, static_cast<T>(low), static_cast<T>(high));
  return x;
}

template <class T>
std::vector<T> run(const graph::OpRow& row, DType type, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  const auto kernel = row.host_as<graph::ElementwiseRule>()->kernel({&type, 1}, type);
  const void* const in[] = {x.data()};
  kernel({in, y.data(), x.size(), nullptr});
  return y;
}

template <class T>
void check(const Case& c, DType type, double scale) {
  const std::vector<T> x = inputs<T>(c.low, c.high);
  const std::vector<T> y = run(*c.row, type, x);
  double worst = 0;
  T at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const long double want = c.exact(x[i]);
    const T next = std::nextafter(static_cast<T>(std::fabs(want)), std::numeric_limits<T>::infinity());
    const long double unit = std::max<long double>(next - static_cast<T>(std::fabs(want)),
                                                   std::numeric_limits<T>::denorm_min());
    const auto ulp = static_cast<double>(std::fabs(want - static_cast<long double>(y[i])) / unit);
    if (!(ulp <= worst)) worst = ulp, at = x[i];
  }
  EXPECT_LE(worst, c.ulp * scale) << c.row->name << " of " << at << " in " << name_of(type);
}

TEST(UnaryAccuracy, F32KernelsStayWithinTheirBound) {
  for (const Case& c : kCases) check<float>(c, DType::f32, 1);
}

TEST(UnaryAccuracy, F64KernelsStayWithinTheirBound) {
  for (const Case& c : kCases) check<double>(c, DType::f64, 2);
}

// NaN for NaN, and what the C library says of infinities, zeros, overflow and outside the domain.
TEST(UnaryAccuracy, EdgesAreThoseOfTheCLibrary) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {NAN,   infinity, -infinity, 0.0f, -0.0f,  1.0f,  -1.0f,
                                1e38f, -1e38f,   1e-40f,    2.0f, -2.0f,  89.0f, -89.0f,
                                120.f, -120.f,   -104.f,    1e5f, -1e10f, 3e4f};
  for (const Case& c : kCases) {
    if (c.row == &ops::kErfInv) continue;
    const std::vector<float> y = run(*c.row, DType::f32, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto want = static_cast<float>(c.exact(x[i]));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(y[i])) << c.row->name << " of " << x[i] << " is " << y[i];
      } else if (std::isinf(want) || want == 0) {
        EXPECT_EQ(y[i], want) << c.row->name << " of " << x[i];
        EXPECT_EQ(std::signbit(y[i]), std::signbit(want)) << c.row->name << " of " << x[i];
      } else {
        EXPECT_NEAR(y[i], want, std::fabs(want) * 1e-5 + 1e-37) << c.row->name << " of " << x[i];
      }
    }
  }
}

TEST(UnaryAccuracy, TailsOfAnyLengthAgreeWithWholeVectors) {
  std::vector<float> x(67);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.01f * static_cast<float>(i) + 0.1f;
  for (const Case& c : kCases) {
    const std::vector<float> whole = run(*c.row, DType::f32, x);
    for (std::size_t count = 0; count < x.size(); ++count) {
      const std::vector<float> begin(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
      const std::vector<float> part = run(*c.row, DType::f32, begin);
      for (std::size_t i = 0; i < count; ++i)
        if (!std::isnan(whole[i])) ASSERT_EQ(part[i], whole[i]) << c.row->name;
    }
  }
}

}  // namespace
}  // namespace nx
