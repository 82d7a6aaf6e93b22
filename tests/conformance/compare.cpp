// Structural comparison of values written as JSON.
#include "conformance/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "nx/element.h"

namespace nx::conformance {
namespace {

struct ToleranceRow {
  std::string_view fn;  // a whole name, or a prefix that ends in `:` or `.`
  Tolerance tolerance;
};

// The reference computes in f64 and rounds when it stores; a chain of operations in a small type
// rounds after each one, so it may be off by two units.
constexpr Tolerance kChain{.small_units = 2};
// Gradients are chains of several operations, some of which cancel.
constexpr Tolerance kGradient{
    .small_units = 2};

// Keys and integers are exact, the floats made of them to one unit. In f64 a logarithm stands behind
// a normal number, and libraries differ in its last bit: three units of the result were seen.
constexpr Tolerance kDrawn{.f64_relative = 0, .f64_absolute = 0, .f32_relative = 0,
                           .f32_absolute = 0, .f32_units = 1, .f64_units = 4};

constexpr ToleranceRow kTolerances[] = {
    {"Nx.mean", kChain},
    {"Nx.weighted_mean", kChain},
    {"Nx.variance", kChain},
    {"Nx.standard_deviation", kChain},
    {"Nx.logsumexp", kChain},
    {"Nx.dot", kChain},
    {"Nx.sum", kChain},
    {"Nx.product", kChain},
    {"Nx.linspace", kChain},
    {"Nx.sigmoid", kChain},
    {"Nx.tan", kChain},
    {"Nx.Random.", kDrawn},
    // Their sum, rounded in the type, lies between 1 and 2 or above: half a unit of it there is the
    // same distance in the logarithm, however small that is; the reference truncates, a whole unit.
    {"Axon.Activations.log_softmax", {.small_units = 2, .small_absolute = 0x1p-7}},
    {"Axon.Activations.log_sumexp", {.small_units = 2, .small_absolute = 0x1p-7}},
    {"Axon.Activations.", kChain},
    // The reference subtracts log(2) as an f32, which is off by 2e-9.
    {"Axon.Losses.log_cosh", {.f64_absolute = 1e-8, .small_units = 2}},
    {"Axon.Losses.", kChain},
    // The bounds are f32 numbers in the reference, in f64 too. A bf16 element is the difference of
    // numbers as large as the bounds, behind it up to eight operations, after each of which the
    // reference truncates up to 2^-7 of them.
    {"Axon.Initializers.", {.f64_relative = 2e-7, .small_units = 2, .small_of_largest = 0x1p-4}},
    {"grad", kGradient},
    {"grad2", kGradient},
    {"grad:", kGradient},
    {"value_and_grad", kGradient},
    {"jacobian", kGradient},
    {"hessian", kGradient},
    {"train_defn", kGradient},
    // Steps that follow each other. The numbers that all elements share (corrections of moments, the
    // learning rate) are f32 there and here, whatever the parameters are. Of bf16 parameters, whose
    // moments are f32, the reference truncates what goes into the moments, several operations of up
    // to two units each. Parameters up to 4 have a unit of 2^-6, which each of three steps may lose.
    {"Polaris.Schedules.", {}},
    {"Polaris.", {.f64_relative = 2e-7, .small_units = 2, .small_absolute = 0x1p-4,
                  .from_small_relative = 0x1p-6}},
};

bool has_small_float(const Json& json) {
  if (json.is_object() && json.contains("dtype") && json.contains("shape"))
    return json.at("dtype") == "bf16" || json.at("dtype") == "f16";
  if (json.is_structured())
    for (const Json& part : json)
      if (has_small_float(part)) return true;
  return false;
}

std::string short_text(const Json& json) {
  std::string text = json.dump();
  if (text.size() > 120) text = text.substr(0, 117) + "...";
  return text;
}

std::string differs(std::string_view what, const Json& expect, const Json& got) {
  return fmt::format("{}: expected {}, got {}", what, short_text(expect), short_text(got));
}

/// Position of a small float in the order of all values of its type.
template <class T>
int place(float value) {
  const int bits = T(value).bits;
  const int sign = 1 << (8 * sizeof(T) - 1);
  return bits & sign ? -(bits & (sign - 1)) : bits;
}

int small_distance(std::string_view dtype, float a, float b) {
  if (dtype == "bf16") return std::abs(place<BFloat16>(a) - place<BFloat16>(b));
  if (dtype == "f16") return std::abs(place<Float16>(a) - place<Float16>(b));
  if (dtype == "f8") return std::abs(place<Float8E5M2>(a) - place<Float8E5M2>(b));
  return std::abs(place<Float8E4M3>(a) - place<Float8E4M3>(b));
}

double double_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return NAN;
  const auto& text = json.get_ref<const std::string&>();
  return text == "inf" ? INFINITY : text == "-inf" ? -INFINITY : NAN;
}

bool close(std::string_view dtype, const Json& expect, const Json& got, const Tolerance& t) {
  if (expect.is_array() && got.is_array() && expect.size() == 2 && got.size() == 2) {
    const auto part = dtype == "c128" ? "f64" : "f32";
    return close(part, expect[0], got[0], t) && close(part, expect[1], got[1], t);
  }
  if (dtype[0] == 'u' || dtype[0] == 's') return expect == got;
  const double a = double_of(expect), b = double_of(got);
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  if (dtype == "f64" || dtype == "f32") {
    const bool wide = dtype == "f64";
    const double unit = std::ldexp(1.0, std::ilogb(a == 0 ? 1e-300 : a) - (wide ? 52 : 23));
    if (std::abs(a - b) <= (wide ? t.f64_units : t.f32_units) * unit) return true;
    return std::abs(a - b) <= (wide ? t.f64_absolute : t.f32_absolute) +
                                  (wide ? t.f64_relative : t.f32_relative) * std::abs(a);
  }
  return std::abs(a - b) <= t.small_absolute ||
         small_distance(dtype, static_cast<float>(a), static_cast<float>(b)) <= t.small_units;
}

/// Missing labels, empty ones and nulls are the same.
Json labels_of(const Json& tensor, const char* key) {
  if (!tensor.contains(key)) return Json::array();
  for (const Json& label : tensor.at(key))
    if (!label.is_null()) return tensor.at(key);
  return Json::array();
}

std::string tensor_difference(const Json& expect, const Json& got, const Tolerance& t) {
  if (expect.at("dtype") != got.at("dtype"))
    return differs("type", expect.at("dtype"), got.at("dtype"));
  if (expect.at("shape") != got.at("shape"))
    return differs("shape", expect.at("shape"), got.at("shape"));
  if (const auto a = labels_of(expect, "names"), b = labels_of(got, "names"); a != b)
    return differs("names", a, b);
  if (const auto a = labels_of(expect, "vaxes"), b = labels_of(got, "vaxes"); a != b)
    return differs("vectorised axes", a, b);
  if (const bool a = expect.value("donatable", false), b = got.value("donatable", false); a != b)
    return differs("donatable", a, b);
  if (!expect.contains("data")) return "";
  const Json &a = expect.at("data"), &b = got.at("data");
  if (a.size() != b.size()) return differs("number of elements", a.size(), b.size());
  const auto dtype = expect.at("dtype").get<std::string>();
  Tolerance own = t;
  if (t.small_of_largest > 0)
    for (const Json& element : a)
      if (const double size = std::abs(double_of(element)); std::isfinite(size))
        own.small_absolute = std::max(own.small_absolute, t.small_of_largest * size);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!close(dtype, a[i], b[i], own))
      return fmt::format("element {}: expected {}, got {} (of {}, {})", i, a[i].dump(), b[i].dump(),
                         short_text(a), short_text(b));
  return "";
}

/// Texts however they are written: a text, an atom, a truth value.
const std::string* text_of(const Json& json, std::string& buffer) {
  if (json.is_boolean()) buffer = json.get<bool>() ? "true" : "false";
  else if (json.is_object() && json.contains("str")) buffer = json.at("str").get<std::string>();
  else if (json.is_object() && json.contains("atom")) buffer = json.at("atom").get<std::string>();
  else if (json.is_object() && json.contains("bin_hex"))
    buffer = *value_of(json).as<std::string>();
  else return nullptr;
  return &buffer;
}

const Json* list_in(const Json& json) {
  if (json.is_array()) return &json;
  if (json.is_object() && json.contains("tuple")) return &json.at("tuple");
  if (json.is_object() && json.contains("kw")) return &json.at("kw");
  return nullptr;
}

bool is_number(const Json& json) { return json.is_number() || json.is_string(); }

}  // namespace

Tolerance tolerance_of(const Case& c, std::string_view compiler) {
  const std::string_view fn = c.fn;
  Tolerance tolerance;
  for (const auto& row : kTolerances)
    if (row.fn == fn ||
        ((row.fn.back() == ':' || row.fn.back() == '.') && fn.starts_with(row.fn))) {
      tolerance = row.tolerance;
      break;
    }
  // XLA lets LLVM contract the last multiplication and addition, which shows where they cancel.
  if (compiler == "xla" && fn.starts_with("Nx.Random.")) tolerance.f32_absolute = 0x1p-23;
  if (tolerance.from_small_relative > 0 && has_small_float(c.args))
    tolerance.f32_relative = tolerance.from_small_relative;
  return tolerance;
}

std::string difference(const Json& expect, const Json& got, const Tolerance& tolerance) {
  for (const char* const kind : {"tensor", "template"})
    if (expect.is_object() && expect.contains(kind)) {
      if (!got.is_object() || !got.contains(kind)) return differs("kind", expect, got);
      return tensor_difference(expect.at(kind), got.at(kind), tolerance);
    }
  std::string a_buffer, b_buffer;
  if (const auto* a = text_of(expect, a_buffer)) {
    const auto* b = text_of(got, b_buffer);
    return b != nullptr && *a == *b ? "" : differs("text", expect, got);
  }
  if (const Json* const a = list_in(expect)) {
    const Json* const b = list_in(got);
    if (b == nullptr) return differs("kind", expect, got);
    if (a->size() != b->size()) return differs("length", expect, got);
    for (std::size_t i = 0; i < a->size(); ++i)
      if (auto inner = difference((*a)[i], (*b)[i], tolerance); !inner.empty())
        return fmt::format("[{}] {}", i, inner);
    return "";
  }
  if (expect.is_object() && expect.contains("map")) {
    if (!got.is_object() || !got.contains("map")) return differs("kind", expect, got);
    const Json &a = expect.at("map"), &b = got.at("map");
    if (a.size() != b.size()) return differs("keys", expect, got);
    for (const auto& [key, value] : a.items()) {
      if (!b.contains(key)) return fmt::format("key `{}` is missing", key);
      if (auto inner = difference(value, b.at(key), tolerance); !inner.empty())
        return fmt::format("{}: {}", key, inner);
    }
    return "";
  }
  if (is_number(expect) && is_number(got)) {
    const bool integers = expect.is_number_integer() && got.is_number_integer();
    if (integers ? expect == got : close("f64", expect, got, tolerance)) return "";
  } else if (expect == got) {
    return "";
  }
  return differs("value", expect, got);
}

}  // namespace nx::conformance
