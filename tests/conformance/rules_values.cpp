// Differences in values: what IEEE 754, NumPy, or exact arithmetic gives instead.
#include <cmath>
#include <cstring>
#include <optional>

#include "conformance/rules.h"

namespace nx::conformance {
namespace {

/// The first NaN wins, whatever stands behind it.
void first_nan(Case& c) {
  if (c.fn != "Nx.argmax" && c.fn != "Nx.argmin") return;
  const Json* const tensor = tensor_argument(c, 0);
  Json* const expect = expected_tensor(c);
  if (!tensor || !expect || has_vector_axes(*tensor)) return;
  const Json &data = tensor->at("data"), &shape = tensor->at("shape");
  // Runs along the axis: `length` elements at a distance of `step`.
  std::size_t length = data.size(), step = 1;
  if (c.opts.contains("axis") && !c.opts.at("axis").is_null()) {
    const Json& axis = c.opts.at("axis");
    if (!axis.is_number_integer()) return;
    const auto rank = static_cast<std::int64_t>(shape.size());
    const auto own = axis.get<std::int64_t>();
    if (own < -rank || own >= rank) return;
    const auto index = static_cast<std::size_t>(own < 0 ? own + rank : own);
    length = shape[index].get<std::size_t>();
    for (std::size_t i = index + 1; i < shape.size(); ++i) step *= shape[i].get<std::size_t>();
  }
  if (length == 0) return;
  for (std::size_t run = 0; run < expect->at("data").size(); ++run) {
    const std::size_t first = run / step * step * length + run % step;
    for (std::size_t i = 0; i < length; ++i)
      if (data[first + i * step] == "nan") {
        (*expect)["data"][run] = i;
        break;
      }
  }
}

/// What IEEE 754 says of infinities, zeros and NaN, and exact logarithms in f64.
void ieee(Case& c) {
  Json* const expect = expected_tensor(c);
  if (expect == nullptr || c.args.empty()) return;
  const auto type = dtype_in(*expect);
  if (type != "f32" && type != "f64") return;
  const Json *const x = tensor_argument(c, 0), *const y = tensor_argument(c, 1);
  if (x == nullptr || dtype_in(*x)[0] == 'c') return;
  Json& data = (*expect)["data"];
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto at = [&](const Json& t) {
      return double_in(t.at("data")[t.at("data").size() == 1 ? 0 : i]);
    };
    if (x->at("data").size() != data.size() && x->at("data").size() != 1) return;
    const double a = at(*x);
    if (c.fn == "Nx.rsqrt" && a == 0 && std::signbit(a)) data[i] = "-inf";
    if (c.fn == "Nx.sign" && std::isinf(a)) data[i] = a > 0 ? 1.0 : -1.0;
    if (type == "f64" && a > 0 && c.fn == "Nx.log2") data[i] = std::log2(a);
    if (type == "f64" && a > 0 && c.fn == "Nx.log10") data[i] = std::log10(a);
    if (y == nullptr || (y->at("data").size() != data.size() && y->at("data").size() != 1))
      continue;
    const double b = at(*y);
    if (std::isfinite(a) && std::isfinite(b)) continue;
    if (c.fn == "Nx.pow") data[i] = json_of_value(std::pow(a, b));
    if (c.fn == "Nx.atan2") data[i] = json_of_value(std::atan2(a, b));
  }
}

/// erf_inv by halving an interval, with the C library's erf and erfc.
double inverse_of_erf(double x) {
  const long double size = std::abs(x);
  long double low = 0, high = 7;
  for (int i = 0; i < 80; ++i) {
    const long double middle = (low + high) / 2;
    const bool below = size < 0.5L ? std::erf(middle) < size : std::erfc(middle) > 1 - size;
    (below ? low : high) = middle;
  }
  return std::copysign(static_cast<double>((low + high) / 2), x);
}

/// The reference's erf_inv is a polynomial for single precision: off by 3e-8 in f64.
void exact_erf_inv(Case& c) {
  const Json* const x = tensor_argument(c, 0);
  Json* const expect = expected_tensor(c);
  if (c.fn != "Nx.erf_inv" || !x || !expect || dtype_in(*expect) != "f64") return;
  for (std::size_t i = 0; i < expect->at("data").size(); ++i)
    if (const double value = double_in(x->at("data")[i]); std::abs(value) < 1)
      (*expect)["data"][i] = inverse_of_erf(value);
}

// -- random numbers in bf16 -----------------------------------------------------------------------

using Rounding = double (*)(double);

double bits_to_double(std::uint32_t bits) {
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
std::uint32_t bits_of_float(double value) {
  const auto narrow = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  return bits;
}
double truncated(double value) { return bits_to_double(bits_of_float(value) & 0xffff0000u); }
double rounded(double value) {
  const std::uint32_t bits = bits_of_float(value);
  return bits_to_double((bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u);
}

/// M. Giles' erf_inv for single precision, as the reference has it.
double giles(double x) {
  constexpr double kNear[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                              -4.39150654e-06, 0.00021858087,  -0.00125372503,
                              -0.00417768164,  0.246640727,    1.50140941};
  constexpr double kFar[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                             -0.00367342844,  0.00573950773,  -0.0076224613,
                             0.00943887047,   1.00167406,     2.83297682};
  const double w = -std::log((1 - x) * (1 + x));
  const double at = w < 5 ? w - 2.5 : std::sqrt(w) - 3;
  double sum = 0;
  for (int i = 0; i < 9; ++i) sum = sum * at + (w < 5 ? kNear[i] : kFar[i]);
  return sum * x;
}

/// An even number of 7 bits in [low, 1), each operation stored by `store`.
double drawn_even(int bits, double low, Rounding store) {
  const double least = store(low), span = store(1 - least);
  return std::max(store(store(bits / 128.0 * span) + least), least);
}
/// The reference's chains of operations for one draw.
double drawn_normal(int bits, double mean, double deviation, Rounding store) {
  const double even = drawn_even(bits, -1 + 0x1p-8, store);
  const double normal = store(store(giles(even)) * store(std::sqrt(2.0)));
  return store(store(normal * store(deviation)) + store(mean));
}
double drawn_gumbel(int bits, double, double, Rounding store) {
  return store(-std::log(store(-std::log(drawn_even(bits, 0x1p-126, store)))));
}

/// bf16 rounds to nearest even after each operation. The bits behind an element are those for which
/// the truncating chain gives what was recorded.
void rounded_draws(Case& c) {
  const bool normal = c.fn == "Nx.Random.normal" || c.fn == "Nx.Random.normal_split";
  const bool gumbel = c.fn == "Nx.Random.gumbel" || c.fn == "Nx.Random.gumbel_split";
  if ((!normal && !gumbel) || !c.expect.is_object()) return;
  Json& result = c.expect.contains("tuple") ? c.expect.at("tuple").at(0) : c.expect;
  if (!result.contains("tensor") || dtype_in(result.at("tensor")) != "bf16") return;
  const double mean = c.args.size() > 1 ? double_in(c.args[1]) : 0;
  const double deviation = c.args.size() > 2 ? double_in(c.args[2]) : 1;
  const auto drawn = normal ? drawn_normal : drawn_gumbel;
  for (Json& value : result.at("tensor").at("data"))
    for (int bits = 0; bits < 128; ++bits)
      if (drawn(bits, mean, deviation, truncated) == double_in(value)) {
        value = drawn(bits, mean, deviation, rounded);
        break;
      }
}

// -- reductions -----------------------------------------------------------------------------------

/// True for a reduction of all axes of a tensor of integers to a scalar.
bool reduces_integers(Case& c, const char* fn) {
  const Json* const x = tensor_argument(c, 0);
  const Json* const expect = expected_tensor(c);
  return c.fn == fn && x && expect && is_integer_type(dtype_in(*x)) && !has_vector_axes(*x) &&
         expect->at("data").size() == 1 && !x->at("data").empty() && c.opts.empty();
}

/// A mean of integers does not overflow.
void mean_of_integers(Case& c) {
  if (!reduces_integers(c, "Nx.mean")) return;
  long double sum = 0;
  const Json& data = tensor_argument(c, 0)->at("data");
  for (const Json& value : data)
    sum += value.is_number_unsigned() ? static_cast<long double>(value.get<std::uint64_t>())
                                      : static_cast<long double>(value.get<std::int64_t>());
  c.expect["tensor"]["data"][0] = static_cast<double>(sum / static_cast<long double>(data.size()));
}

/// logsumexp of small integers subtracts in f32, not in their own type.
void logsumexp_of_integers(Case& c) {
  if (!reduces_integers(c, "Nx.logsumexp")) return;
  double most = -INFINITY, sum = 0;
  const Json& data = tensor_argument(c, 0)->at("data");
  for (const Json& value : data) most = std::max(most, double_in(value));
  for (const Json& value : data) sum += std::exp(double_in(value) - most);
  c.expect["tensor"]["data"][0] = most + std::log(sum);
}

/// `all` and `any` give 0 or 1, over no axes too.
void predicates_over_nothing(Case& c) {
  Json* const expect = expected_tensor(c);
  if ((c.fn != "Nx.all" && c.fn != "Nx.any") || expect == nullptr) return;
  if (!c.opts.contains("axes") || !c.opts.at("axes").is_array() || !c.opts.at("axes").empty())
    return;
  for (Json& value : expect->at("data")) value = value == 0 ? 0 : 1;
}

/// The gradient of a deviation of 0 is 0: PyTorch's choice, and the exact one for a single element,
/// whose deviation is 0 whatever it is.
void gradient_of_no_deviation(Case& c) {
  const Json* const x = tensor_argument(c, 0);
  Json* const expect = expected_tensor(c);
  if (c.fn != "grad" || c.desc.find("standard_deviation(x)") == std::string::npos || !x || !expect)
    return;
  const Json& data = x->at("data");
  for (const Json& element : data)
    if (element != data[0] || !std::isfinite(double_in(element))) return;
  for (Json& element : expect->at("data"))
    if (element == "nan") element = 0.0;
}

}  // namespace

double double_in(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return NAN;  // complex
  const auto text = json.get<std::string>();
  return text == "inf" ? INFINITY : text == "-inf" ? -INFINITY : NAN;
}

Json json_of_value(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

void apply_value_rules(Case& c) {
  if (c.error) return;
  first_nan(c);
  ieee(c);
  exact_erf_inv(c);
  rounded_draws(c);
  mean_of_integers(c);
  logsumexp_of_integers(c);
  predicates_over_nothing(c);
  gradient_of_no_deviation(c);
}

}  // namespace nx::conformance
