// What is expected instead of the reference's result: by a rule where the reason is general, so that
// it holds for any folder of cases, else by the case's id in differences.jsonl.
#include "conformance/differences.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "nx/number.h"

namespace nx::conformance {
namespace {

const Json* tensor_in(const Json& json) {
  return json.is_object() && json.contains("tensor") ? &json.at("tensor") : nullptr;
}
Json* expected_tensor(Case& c) {
  return c.expect.is_object() && c.expect.contains("tensor") ? &c.expect.at("tensor") : nullptr;
}
std::string dtype_in(const Json& tensor) { return tensor.at("dtype").get<std::string>(); }
bool is_small_float(const Json& tensor) {
  const auto type = dtype_in(tensor);
  return type == "bf16" || type == "f16";
}
double double_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return NAN;  // complex
  const auto text = json.get<std::string>();
  return text == "inf" ? INFINITY : text == "-inf" ? -INFINITY : NAN;
}
Json json_of_double(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}
bool is_wide_literal(const Json& json) {  // an integer outside of s32
  return json.is_number_integer() &&
         (json.is_number_unsigned() ? json.get<std::uint64_t>() > INT32_MAX
                                    : json.get<std::int64_t>() < INT32_MIN ||
                                          json.get<std::int64_t>() > INT32_MAX);
}

/// Calls f on each number of a literal.
template <class F>
void for_each_literal(const Json& json, const F& f) {
  if (json.is_array())
    for (const Json& part : json) for_each_literal(part, f);
  else if (json.is_number_integer())
    f(json);
}

/// A literal that does not fit its type is an error; one without a type gets a type that holds it.
void literals(Case& c) {
  if (c.fn != "Nx.tensor" || c.args.size() != 1) return;
  if (c.opts.contains("type")) {
    const Json& type = c.opts.at("type");
    if (!type.is_object() || !type.contains("dtype")) return;
    const auto dtype = dtype_from_name(type.at("dtype").get<std::string>());
    if (!dtype || !is_integer(*dtype)) return;
    for_each_literal(c.args[0], [&](const Json& literal) {
      const Number number = literal.is_number_unsigned() ? Number(literal.get<std::uint64_t>())
                                                         : Number(literal.get<std::int64_t>());
      if (!fits(number, *dtype)) c.error = true;
    });
  } else if (Json* const expect = expected_tensor(c);
             expect && is_wide_literal(c.args[0]) && dtype_in(*expect) == "s32") {
    const bool unsigned_only = c.args[0].is_number_unsigned() &&
                               c.args[0].get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
    (*expect)["dtype"] = unsigned_only ? "u64" : "s64";
    (*expect)["data"] = Json::array({c.args[0]});
  }
}

/// The reference cuts a plain number to 32 bits before it adds, although the result's type holds it.
void wide_numbers(Case& c) {
  if (c.args.size() != 2 || (c.fn != "Nx.add" && c.fn != "Nx.subtract")) return;
  const bool first = is_wide_literal(c.args[0]);
  if (!first && !is_wide_literal(c.args[1])) return;
  Json* const expect = expected_tensor(c);
  const Json* const tensor = tensor_in(c.args[first ? 1 : 0]);
  if (expect == nullptr || tensor == nullptr) return;
  const auto type = dtype_in(*expect);
  const Json number = c.args[first ? 0 : 1];
  const Json& data = tensor->at("data");
  for (std::size_t i = 0; i < data.size(); ++i) {
    const double sign = c.fn == "Nx.add" ? 1 : -1;
    if (type[0] == 's' || type[0] == 'u') {
      const auto a = number.get<std::uint64_t>(), b = data[i].get<std::uint64_t>();
      const std::uint64_t value = sign > 0 ? a + b : first ? a - b : b - a;
      (*expect)["data"][i] = type[0] == 'u' ? Json(value) : Json(static_cast<std::int64_t>(value));
    } else {
      double n = number.get<double>();
      if (type == "f16") n = std::abs(n) > 65504 ? std::copysign(INFINITY, n) : n;
      const double b = double_of(data[i]);
      const double value = sign > 0 ? n + b : first ? n - b : b - n;
      (*expect)["data"][i] = json_of_double(value);
    }
  }
}

/// Infinities and NaN are numbers like others: weak.
void weak_infinities(Case& c) {
  Json* const expect = expected_tensor(c);
  if (expect == nullptr || dtype_in(*expect) != "f32" || c.args.size() != 2) return;
  for (const int i : {0, 1}) {
    const Json* const tensor = tensor_in(c.args[i]);
    if (tensor && is_small_float(*tensor) && c.args[1 - i].is_string())
      (*expect)["dtype"] = dtype_in(*tensor);
  }
}

/// Sums and products of u64 stay u64.
void unsigned_sums(Case& c) {
  if ((c.fn != "Nx.sum" && c.fn != "Nx.product") || c.args.empty()) return;
  const Json* const tensor = tensor_in(c.args[0]);
  Json* const expect = expected_tensor(c);
  if (tensor && expect && dtype_in(*tensor) == "u64" && dtype_in(*expect) == "s64") {
    (*expect)["dtype"] = "u64";
    for (Json& v : (*expect)["data"])
      if (!v.is_number_unsigned()) v = static_cast<std::uint64_t>(v.get<std::int64_t>());
  }
}

/// The first NaN wins, whatever stands behind it (without an axis, or for one).
void first_nan(Case& c) {
  if ((c.fn != "Nx.argmax" && c.fn != "Nx.argmin") || c.args.empty()) return;
  const Json* const tensor = tensor_in(c.args[0]);
  Json* const expect = expected_tensor(c);
  if (!tensor || !expect || expect->at("data").size() != 1) return;
  const Json& data = tensor->at("data");
  for (std::size_t i = 0; i < data.size(); ++i)
    if (data[i] == "nan") {
      (*expect)["data"][0] = i;
      return;
    }
}

/// What IEEE 754 says of infinities, zeros and NaN, and exact logarithms in f64.
void ieee(Case& c) {
  Json* const expect = expected_tensor(c);
  if (expect == nullptr || c.args.empty()) return;
  const auto type = dtype_in(*expect);
  if (type != "f32" && type != "f64") return;
  const Json* const x = tensor_in(c.args[0]);
  const Json* const y = c.args.size() > 1 ? tensor_in(c.args[1]) : nullptr;
  if (x == nullptr || dtype_in(*x)[0] == 'c') return;
  Json& data = (*expect)["data"];
  for (std::size_t i = 0; i < data.size(); ++i) {
    const auto at = [&](const Json& t) {
      return double_of(t.at("data")[t.at("data").size() == 1 ? 0 : i]);
    };
    if (x->at("data").size() != data.size() && x->at("data").size() != 1) return;
    const double a = at(*x);
    if (c.fn == "Nx.rsqrt" && a == 0 && std::signbit(a)) data[i] = "-inf";
    if (c.fn == "Nx.sign" && std::isinf(a)) data[i] = a > 0 ? 1.0 : -1.0;
    if (type == "f64" && a > 0 && c.fn == "Nx.log2") data[i] = std::log2(a);
    if (type == "f64" && a > 0 && c.fn == "Nx.log10") data[i] = std::log10(a);
    if (y == nullptr || (y->at("data").size() != data.size() && y->at("data").size() != 1)) continue;
    const double b = at(*y);
    if (std::isfinite(a) && std::isfinite(b)) continue;
    if (c.fn == "Nx.pow") data[i] = json_of_double(std::pow(a, b));
    if (c.fn == "Nx.atan2") data[i] = json_of_double(std::atan2(a, b));
  }
}

}  // namespace

Differences::Differences(const std::filesystem::path& file) {
  std::ifstream in(file);
  if (!in) throw IoError("conformance", fmt::format("cannot read {}", file.string()));
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    try {
      const Json json = Json::parse(line);
      Override entry;
      entry.error = json.value("error", false);
      if (!entry.error) entry.expect = json.at("expect");
      by_id_[json.at("id").get<std::string>()] = std::move(entry);
    } catch (const nlohmann::json::exception& e) {
      throw IoError("conformance", fmt::format("{}:{}: {}", file.string(), number, e.what()));
    }
  }
}

void Differences::apply(Case& c) const {
  const auto found = by_id_.find(c.id);
  if (found != by_id_.end()) {
    c.error = found->second.error;
    c.expect = found->second.expect;
    return;
  }
  if (c.error) return;
  // Marks are never on results, and numbers have no buffer to mark: donation.md, R1 and R4.
  constexpr std::string_view kUnmarked[] = {
      "donatable_result_of_op", "donatable_reshape",      "donatable_vectorize",
      "donatable_rename",       "donatable_as_type_same", "donatable_backend_copy",
      "donatable_jit_identity"};
  for (const auto fn : kUnmarked)
    if (c.fn == fn) c.expect = false;
  literals(c);
  wide_numbers(c);
  weak_infinities(c);
  unsigned_sums(c);
  first_nan(c);
  ieee(c);
  apply_nn_differences(c);
}

}  // namespace nx::conformance
