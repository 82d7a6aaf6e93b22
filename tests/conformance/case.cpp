// Reading of cases, and conversion of their values.
#include "conformance/case.h"

#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "core/body.h"
#include "graph/dispatch.h"
#include "nx/donation.h"

namespace nx::conformance {
namespace {

constexpr std::string_view kLaterTypes[] = {"u2", "u4", "s2", "s4", "f8", "f8_e4m3fn", "c64", "c128"};

bool is_later(const Json& json) {
  if (!json.is_string()) return false;
  for (const auto type : kLaterTypes)
    if (json.get_ref<const std::string&>() == type) return true;
  return false;
}

bool mentions_later_type(const Json& json) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      if (key == "complex" || key == "bits" || (key == "dtype" && is_later(value))) return true;
      if (key != "data" && mentions_later_type(value)) return true;
    }
  } else if (json.is_array()) {
    for (const Json& value : json)
      if (mentions_later_type(value)) return true;
  }
  return false;
}

double double_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto& text = json.get_ref<const std::string&>();
  if (text == "nan") return NAN;
  if (text == "inf") return INFINITY;
  if (text == "-inf") return -INFINITY;
  throw IoError("conformance", fmt::format("expected a number, got `{}`", text));
}

Json json_of_double(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

DType dtype_of(const Json& json) {
  const auto& name = json.get_ref<const std::string&>();
  const auto type = dtype_from_name(name);
  if (!type) throw IoError("conformance", fmt::format("unknown type `{}`", name));
  return *type;
}

template <class T>
T element_of(const Json& json) {
  if constexpr (std::is_integral_v<T>) {
    return json.is_number_unsigned() ? static_cast<T>(json.get<std::uint64_t>())
                                     : static_cast<T>(json.get<std::int64_t>());
  } else if constexpr (requires(T t) { t.imag(); }) {
    using Part = typename T::value_type;
    return T(static_cast<Part>(double_of(json.at(0))), static_cast<Part>(double_of(json.at(1))));
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(double_of(json));
  } else {
    return T(static_cast<float>(double_of(json)));
  }
}

template <class T>
Json json_of_element(T value) {
  if constexpr (std::is_integral_v<T>) {
    return value;
  } else if constexpr (requires { value.imag(); }) {
    return Json::array({json_of_double(value.real()), json_of_double(value.imag())});
  } else {
    return json_of_double(static_cast<double>(static_cast<
        std::conditional_t<std::is_same_v<T, double>, double, float>>(value)));
  }
}

Tensor tensor_of(const Json& json, bool is_template) {
  const DType type = dtype_of(json.at("dtype"));
  Dims dims;
  VectorAxes vector_axes;
  if (json.contains("vaxes"))
    for (const Json& axis : json.at("vaxes")) {
      vector_axes.push_back({Name(axis.at(0).get<std::string>()), axis.at(1).get<std::int64_t>()});
      dims.push_back(vector_axes.back().size);
    }
  for (const Json& size : json.at("shape")) dims.push_back(size.get<std::int64_t>());
  Names names;
  if (json.contains("names"))
    for (const Json& name : json.at("names"))
      names.push_back(name.is_null() ? Name() : Name(name.get<std::string>()));
  detail::Labels* const labels = detail::make_labels(std::move(names), std::move(vector_axes));
  Tensor made;
  if (is_template) {
    made = detail::Access::make_template(type, dims, labels);
  } else {
    const Json& data = json.at("data");
    const auto count = static_cast<std::size_t>(element_count(dims));
    if (data.size() != count)
      throw IoError("conformance", fmt::format("expected {} elements, got {}", count, data.size()));
    made = graph::new_tensor(type, dims, labels);
    visit_element(type, [&](auto e) {
      auto* to = graph::data_of<decltype(e)>(made);
      for (std::size_t i = 0; i < count; ++i) to[i] = element_of<decltype(e)>(data[i]);
    });
  }
  detail::release_labels(labels);
  return json.value("donatable", false) ? donatable(made) : made;
}

std::string bytes_of(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

ops::Value list_of(const Json& json) {
  ops::Value::List list;
  for (const Json& value : json) list.push_back(value_of(value));
  return ops::Value(std::move(list));
}

Json json_of_tensor(const Tensor& t) {
  Json inner;
  inner["dtype"] = std::string(name_of(t.type()));
  inner["shape"] = Json::array();
  for (const auto size : t.shape()) inner["shape"].push_back(size);
  const Names names = t.names();
  if (!names.empty()) {
    inner["names"] = Json::array();
    for (const Name name : names)
      inner["names"].push_back(name.empty() ? Json() : Json(std::string(name.view())));
  }
  const VectorAxes axes = t.vectorized_axes();
  if (!axes.empty()) {
    inner["vaxes"] = Json::array();
    for (const VectorAxis& axis : axes)
      inner["vaxes"].push_back(Json::array({std::string(axis.name.view()), axis.size}));
  }
  if (is_donatable(t)) inner["donatable"] = true;
  Json outer;
  if (t.is_template()) {
    outer["template"] = std::move(inner);
    return outer;
  }
  Json data = Json::array();
  visit_element(t.type(), [&](auto e) {
    for (const auto value : t.to_flat_list<decltype(e)>()) data.push_back(json_of_element(value));
  });
  inner["data"] = std::move(data);
  outer["tensor"] = std::move(inner);
  return outer;
}

Json json_of_number(const Number& n) {
  switch (n.kind()) {
    case Number::Kind::kInteger: return n.integer();
    case Number::Kind::kUnsigned: return static_cast<std::uint64_t>(n.integer());
    case Number::Kind::kFloat: return json_of_double(n.real());
    case Number::Kind::kComplex: break;
  }
  return Json{{"complex", Json::array({json_of_double(n.real()), json_of_double(n.imag())})}};
}

}  // namespace

void read_cases(const std::filesystem::path& file, const std::function<void(Case&&)>& take) {
  std::ifstream in(file);
  if (!in) throw IoError("conformance", fmt::format("cannot read {}", file.string()));
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    Case c;
    try {
      const Json json = Json::parse(line);
      c.id = json.at("id").get<std::string>();
      c.fn = json.at("fn").get<std::string>();
      c.desc = json.value("desc", std::string());
      c.args = json.value("args", Json::array());
      c.opts = json.value("opts", Json::object());
      c.error = json.value("error", false);
      if (json.contains("expect")) c.expect = json.at("expect");
    } catch (const nlohmann::json::exception& e) {
      throw IoError("conformance", fmt::format("{}:{}: {}", file.string(), number, e.what()));
    }
    take(std::move(c));
  }
}

ops::Value value_of(const Json& json) {
  if (json.is_null()) return {};
  if (json.is_boolean()) return json.get<bool>() ? "true" : "false";
  if (json.is_number_unsigned()) return json.get<std::uint64_t>();
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return Number(double_of(json));
  if (json.is_array()) return list_of(json);
  if (json.empty()) return ops::Value::Map();
  const std::string& kind = json.begin().key();
  const Json& inner = json.begin().value();
  if (kind == "tensor" || kind == "template") return tensor_of(inner, kind == "template");
  if (kind == "complex")
    return Number(std::complex<double>(double_of(inner.at(0)), double_of(inner.at(1))));
  if (kind == "str" || kind == "atom") return inner.get<std::string>();
  if (kind == "bin_hex") return bytes_of(inner.get<std::string>());
  if (kind == "dtype") {
    if (inner.is_string())
      if (const auto type = dtype_from_name(inner.get<std::string>())) return *type;
    return inner.is_string() ? ops::Value(inner.get<std::string>()) : value_of(inner);
  }
  if (kind == "tuple") return list_of(inner);
  if (kind == "kw") {  // pairs of a bare key and a value
    ops::Value::List pairs;
    for (const Json& pair : inner)
      pairs.push_back(ops::Value::List{pair.at(0).get<std::string>(), value_of(pair.at(1))});
    return pairs;
  }
  if (kind == "range")
    return ops::Value::Range{inner.at(0).get<std::int64_t>(), inner.at(1).get<std::int64_t>(),
                             inner.at(2).get<std::int64_t>()};
  if (kind == "map") {
    ops::Value::Map map;
    for (const auto& [key, value] : inner.items()) map[key] = value_of(value);
    return map;
  }
  throw IoError("conformance", fmt::format("unknown kind of value `{}`", kind));
}

ops::Options options_of(const Json& json) {
  ops::Options options;
  if (json.is_object() && json.contains("kw")) return options_of(json.at("kw"));
  if (json.is_array()) {
    for (const Json& pair : json)
      options.emplace_back(pair.at(0).is_string() ? pair.at(0).get<std::string>()
                                                  : pair.at(0).at("atom").get<std::string>(),
                           value_of(pair.at(1)));
  } else {
    for (const auto& [key, value] : json.items()) options.emplace_back(key, value_of(value));
  }
  return options;
}

Json json_of(const ops::Value& value) {
  if (const auto* t = value.as<Tensor>()) return t->has_value() ? json_of_tensor(*t) : Json();
  if (const auto* n = value.as<Number>()) return json_of_number(*n);
  if (const auto* d = value.as<DType>()) return Json{{"dtype", std::string(name_of(*d))}};
  if (const auto* s = value.as<std::string>()) return Json{{"str", *s}};
  if (const auto* r = value.as<ops::Value::Range>())
    return Json{{"range", Json::array({r->first, r->last, r->step})}};
  if (const auto* list = value.as<ops::Value::List>()) {
    Json array = Json::array();
    for (const ops::Value& v : *list) array.push_back(json_of(v));
    return array;
  }
  if (const auto* map = value.as<ops::Value::Map>()) {
    Json inner = Json::object();
    for (const auto& [key, v] : *map) inner[key] = json_of(v);
    return Json{{"map", std::move(inner)}};
  }
  return {};
}

bool mentions_later_type(const Case& c) {
  return mentions_later_type(c.args) || mentions_later_type(c.opts) || mentions_later_type(c.expect);
}

std::string name_here(std::string_view name) {
  if (name.ends_with('?')) {
    name.remove_suffix(1);
    return "is_" + std::string(name);
  }
  if (name.ends_with('!')) name.remove_suffix(1);
  return std::string(name);
}

}  // namespace nx::conformance
