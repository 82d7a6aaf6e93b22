// Differences in types, in how plain numbers are taken, in names and in marks.
#include <algorithm>
#include <cmath>

#include "conformance/rules.h"
#include "nx/number.h"

namespace nx::conformance {
namespace {

bool is_wide_literal(const Json& json) {  // an integer outside of s32
  return json.is_number_integer() &&
         (json.is_number_unsigned()
              ? json.get<std::uint64_t>() > INT32_MAX
              : json.get<std::int64_t>() < INT32_MIN || json.get<std::int64_t>() > INT32_MAX);
}

/// Calls f on each number of a literal.
template <class F>
void for_each_literal(const Json& json, const F& f) {
  if (json.is_array())
    for (const Json& part : json) for_each_literal(part, f);
  else if (json.is_number_integer()) f(json);
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
    const bool unsigned_only =
        c.args[0].is_number_unsigned() &&
        c.args[0].get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX);
    (*expect)["dtype"] = unsigned_only ? "u64" : "s64";
    (*expect)["data"] = Json::array({c.args[0]});
  }
}

/// The reference cuts a plain number to 32 bits before it adds, although the result's type holds
/// it.
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
    if (is_integer_type(type)) {
      const auto a = number.get<std::uint64_t>(), b = data[i].get<std::uint64_t>();
      const std::uint64_t value = sign > 0 ? a + b : first ? a - b : b - a;
      (*expect)["data"][i] = type[0] == 'u' ? Json(value) : Json(static_cast<std::int64_t>(value));
    } else {
      double n = number.get<double>();
      if (type == "f16") n = std::abs(n) > 65504 ? std::copysign(INFINITY, n) : n;
      const double b = double_in(data[i]);
      (*expect)["data"][i] = json_of_value(sign > 0 ? n + b : first ? n - b : b - n);
    }
  }
}

/// Infinities and NaN are numbers like others: weak.
void weak_infinities(Case& c) {
  Json* const expect = expected_tensor(c);
  if (expect == nullptr || dtype_in(*expect) != "f32" || c.args.size() != 2) return;
  for (const std::size_t i : {0, 1}) {
    const Json* const tensor = tensor_in(c.args[i]);
    if (tensor == nullptr || !c.args[1 - i].is_string()) continue;
    const auto type = dtype_in(*tensor);
    if (type == "bf16" || type == "f16") (*expect)["dtype"] = type;
  }
}

/// Numbers are weak: drawing in f64 does not cut them to f32 first.
void exact_bounds(Case& c) {
  const bool normal = c.fn.starts_with("Nx.Random.normal");
  if ((!normal && !c.fn.starts_with("Nx.Random.uniform")) || c.args.size() != 3) return;
  if (!c.args[1].is_number() || !c.args[2].is_number() || !c.expect.is_object()) return;
  Json& result = c.expect.contains("tuple") ? c.expect.at("tuple").at(0) : c.expect;
  if (!result.contains("tensor")) return;
  Json& drawn = result.at("tensor");
  if (dtype_in(drawn) != "f64") return;
  const double a = c.args[1].get<double>(), b = c.args[2].get<double>();
  const double a_cut = static_cast<float>(a), b_cut = static_cast<float>(b);
  if (a == a_cut && b == b_cut) return;
  const double scale = normal ? b / b_cut : (b - a) / (b_cut - a_cut);
  for (Json& value : drawn.at("data")) value = a + (value.get<double>() - a_cut) * scale;
}

/// Sums and products of u64 stay u64.
void unsigned_sums(Case& c) {
  if (c.fn != "Nx.sum" && c.fn != "Nx.product") return;
  const Json* const tensor = tensor_argument(c, 0);
  Json* const expect = expected_tensor(c);
  if (tensor && expect && dtype_in(*tensor) == "u64" && dtype_in(*expect) == "s64") {
    (*expect)["dtype"] = "u64";
    for (Json& v : (*expect)["data"])
      if (!v.is_number_unsigned()) v = static_cast<std::uint64_t>(v.get<std::int64_t>());
  }
}

/// A padding of another type is brought to the tensor's; the reference writes its bytes as they
/// are.
void typed_padding(Case& c) {
  if (c.fn != "Nx.pad" || c.args.size() != 3) return;
  const Json* const tensor = tensor_argument(c, 0);
  Json* const expect = expected_tensor(c);
  if (!tensor || !expect || tensor->at("shape").size() != 1 || has_vector_axes(*tensor)) return;
  const auto type = dtype_in(*tensor);
  const Json* const value_tensor = tensor_in(c.args[1]);
  if (value_tensor && dtype_in(*value_tensor) == type) return;
  const Json& value = value_tensor ? value_tensor->at("data").at(0) : c.args[1];
  Json fill = value;
  if (is_integer_type(type)) {
    // Cut off towards 0, then modulo 2^n.
    const auto whole = value.is_number_integer() ? value.get<std::int64_t>()
                                                 : static_cast<std::int64_t>(double_in(value));
    const int bits = std::stoi(type.substr(1));
    const auto low = bits == 64 ? static_cast<std::uint64_t>(whole)
                                : static_cast<std::uint64_t>(whole) & ((1ull << bits) - 1);
    const bool negative = type[0] == 's' && (low >> (bits - 1)) != 0;
    fill = negative ? Json(static_cast<std::int64_t>(low | (bits == 64 ? 0 : ~0ull << bits)))
                    : Json(low);
  }
  const Json& padding = c.args[2].at(0).at("tuple");
  const auto low = padding.at(0).get<std::int64_t>(), high = padding.at(1).get<std::int64_t>();
  const auto between = padding.at(2).get<std::int64_t>();
  std::vector<Json> wide;
  for (const Json& element : tensor->at("data")) {
    if (!wide.empty()) wide.insert(wide.end(), static_cast<std::size_t>(between), fill);
    wide.push_back(element);
  }
  Json data = Json::array();
  for (std::int64_t i = -low; i < static_cast<std::int64_t>(wide.size()) + high; ++i)
    data.push_back(i < 0 || i >= static_cast<std::int64_t>(wide.size())
                       ? fill
                       : wide[static_cast<std::size_t>(i)]);
  (*expect)["data"] = data;
}

/// Marks are never on results (R4 of the donation contract).
void unmarked_results(Case& c) {
  constexpr std::string_view kUnmarked[] = {"donatable_result_of_op", "donatable_reshape",
                                            "donatable_vectorize",    "donatable_rename",
                                            "donatable_as_type_same", "donatable_backend_copy",
                                            "donatable_jit_identity"};
  for (const auto fn : kUnmarked)
    if (c.fn == fn) c.expect = false;
}

/// A number has no buffer that could be marked, and stays a number (R1).
void numbers_stay(const Json& given, Json& expect) {
  if (given.is_number()) {
    expect = given;
    return;
  }
  for (const char* const kind : {"tuple", "map"}) {
    if (!given.is_object() || !given.contains(kind)) continue;
    for (const auto& [key, value] : given.at(kind).items())
      numbers_stay(value, given.at(kind).is_array() ? expect.at(kind).at(std::stoul(key))
                                                    : expect.at(kind).at(key));
  }
}
void unmarked_numbers(Case& c) {
  if (c.args.empty()) return;
  if (c.fn == "Nx.donatable") numbers_stay(c.args[0], c.expect);
  if (c.fn != "donatable_of_map_then_donatable?") return;
  std::size_t i = 0;
  for (const auto& [key, value] : c.args[0].at("map").items())
    c.expect.at("tuple").at(i++) = tensor_in(value) != nullptr;
}

/// A vectorised axis is no axis of the tensor: neither its name nor its place is one.
void axes_of_lanes(Case& c) {
  const Json* const tensor = tensor_argument(c, 0);
  if (tensor == nullptr || !has_vector_axes(*tensor)) return;
  if (c.fn == "Nx.broadcast") return;  // its axes are the result's
  const auto rank = static_cast<std::int64_t>(tensor->at("shape").size());
  const auto is_axis = [&](const Json& axis) {
    if (axis.is_number_integer())
      return axis.get<std::int64_t>() >= -rank && axis.get<std::int64_t>() < rank;
    if (!axis.is_object() || !axis.contains("atom")) return true;
    const Json names = tensor->value("names", Json::array());
    return std::find(names.begin(), names.end(), axis.at("atom")) != names.end();
  };
  for (const char* const option : {"axis", "axes"}) {
    if (!c.opts.contains(option)) continue;
    const Json& axes = c.opts.at(option);
    if (!(axes.is_array() ? std::all_of(axes.begin(), axes.end(), is_axis) : is_axis(axes)))
      c.error = true;
  }
}

/// Names are texts here, which the reference refuses beside its atoms.
void textual_names(Case& c) {
  const Json* const tensor = tensor_argument(c, 0);
  if (c.fn != "Nx.vectorize" || !c.error || !tensor || c.args.size() != 2) return;
  const Json list = c.args[1].is_array() ? c.args[1] : Json::array({c.args[1]});
  const auto is_text = [](const Json& name) { return name.is_object() && name.contains("str"); };
  if (std::none_of(list.begin(), list.end(), is_text)) return;
  Json made = *tensor, axes = tensor->value("vaxes", Json::array());
  if (list.size() > made.at("shape").size()) return;
  for (const Json& name : list) {
    axes.push_back(Json::array({name.begin().value(), made.at("shape").front()}));
    made.at("shape").erase(0);
    if (made.contains("names")) made.at("names").erase(0);
  }
  made["vaxes"] = axes;
  c.error = false;
  c.expect = Json{{"tensor", made}};
}

}  // namespace

void apply_type_rules(Case& c) {
  textual_names(c);
  if (c.error) return;
  literals(c);
  wide_numbers(c);
  weak_infinities(c);
  exact_bounds(c);
  unsigned_sums(c);
  typed_padding(c);
  unmarked_results(c);
  unmarked_numbers(c);
  axes_of_lanes(c);
}

}  // namespace nx::conformance
