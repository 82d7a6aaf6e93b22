// Comparison of tensors for tests, on the host.
#include "nx/testing.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace nx::testing {
namespace {

int mantissa_bits(DType type) {
  switch (type) {
    case DType::f64: case DType::c128: return 52;
    case DType::f16: return 10;
    case DType::bf16: return 7;
    case DType::f8: return 2;
    case DType::f8_e4m3fn: return 3;
    default: return 23;
  }
}

double units_between(DType type, double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return INFINITY;
  int exponent = 0;
  std::frexp(std::max(std::abs(a), std::abs(b)), &exponent);
  return std::abs(a - b) / std::ldexp(1.0, exponent - 1 - mantissa_bits(type));
}

struct Differences {
  std::int64_t count = 0, first = -1;
  double first_got = 0, first_expected = 0, absolute = 0, units = 0;

  void look(std::int64_t i, DType type, double a, double b, const CloseOptions& options) {
    const bool both_nan = std::isnan(a) && std::isnan(b);
    if (a == b || (both_nan && options.equal_nan)) return;
    const double difference = std::abs(a - b);
    // Written so that NaN, and infinities of opposite sign, are differences.
    if (std::isfinite(b) && difference <= options.atol + options.rtol * std::abs(b)) return;
    if (count++ == 0) first = i, first_got = a, first_expected = b;
    if (!(difference <= absolute)) absolute = difference;
    units = std::max(units, units_between(type, a, b));
  }
};

/// Equal integers of 64 bits may differ where doubles do not.
template <class T>
void look_exactly(Differences& found, const Tensor& got, const Tensor& expected) {
  const auto a = got.to_flat_list<T>(), b = expected.to_flat_list<T>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (found.count++ == 0) {
      found.first = static_cast<std::int64_t>(i);
      found.first_got = x;
      found.first_expected = y;
    }
    found.absolute = std::max(found.absolute, std::max(1.0, std::abs(x - y)));
  }
}

std::string labels(const Tensor& t) {
  std::string text;
  for (const Name name : t.names()) text += fmt::format("[{}]", name.view());
  for (const VectorAxis& axis : t.vectorized_axes())
    text += fmt::format(" over {} ({})", axis.name.view(), axis.size);
  return text.empty() ? "none" : text;
}

}  // namespace

std::string describe_difference(const Tensor& got, const Tensor& expected,
                                const CloseOptions& options) {
  if (got.type() != expected.type() || !(got.shape() == expected.shape()))
    return fmt::format("expected {}, got {}", to_string(expected.type(), expected.shape()),
                       to_string(got.type(), got.shape()));
  if (!(got.names() == expected.names()) ||
      !(got.vectorized_axes() == expected.vectorized_axes()))
    return fmt::format("expected the names {}, got {}", labels(expected), labels(got));
  Differences found;
  const DType type = got.type();
  const bool exact = options.rtol == 0 && options.atol == 0;
  if (exact && type == DType::u64) {
    look_exactly<std::uint64_t>(found, got, expected);
  } else if (exact && is_integer(type)) {
    look_exactly<std::int64_t>(found, got, expected);
  } else if (is_complex(type)) {
    const auto a = got.to_flat_list<std::complex<double>>();
    const auto b = expected.to_flat_list<std::complex<double>>();
    for (std::size_t i = 0; i < a.size(); ++i) {
      found.look(static_cast<std::int64_t>(i), type, a[i].real(), b[i].real(), options);
      found.look(static_cast<std::int64_t>(i), type, a[i].imag(), b[i].imag(), options);
    }
  } else {
    const auto a = got.to_flat_list<double>(), b = expected.to_flat_list<double>();
    for (std::size_t i = 0; i < a.size(); ++i)
      found.look(static_cast<std::int64_t>(i), type, a[i], b[i], options);
  }
  if (found.count == 0) return "";
  return fmt::format("{} elements differ, the first at {}: expected {}, got {}; at most by {} ({} "
                     "units in the last place)", found.count, found.first, found.first_expected,
                     found.first_got, found.absolute, found.units);
}

void assert_all_close(const Tensor& got, const Tensor& expected, const CloseOptions& options) {
  if (const auto text = describe_difference(got, expected, options); !text.empty())
    throw Error("assert_all_close", text);
}

void assert_equal(const Tensor& got, const Tensor& expected) {
  if (const auto text = describe_difference(got, expected, {0, 0, true}); !text.empty())
    throw Error("assert_equal", text);
}

}  // namespace nx::testing
