// Deliberate differences that have a general reason, as rules: each one looks at a case and, where
// it applies, replaces what is expected. differences.md lists them for people.
#pragma once

#include "conformance/case.h"

namespace nx::conformance {

/// Rules about types, numbers, names and marks.
void apply_type_rules(Case& c);
/// Rules about values: IEEE 754, the first NaN, exact functions, rounding.
void apply_value_rules(Case& c);

// -- looking at cases ---------------------------------------------------------------------------

inline const Json* tensor_in(const Json& json) {
  return json.is_object() && json.contains("tensor") ? &json.at("tensor") : nullptr;
}
inline Json* expected_tensor(Case& c) {
  return c.expect.is_object() && c.expect.contains("tensor") ? &c.expect.at("tensor") : nullptr;
}
/// Argument `i` where it is a tensor, or null.
inline const Json* tensor_argument(const Case& c, std::size_t i) {
  return i < c.args.size() ? tensor_in(c.args[i]) : nullptr;
}
inline std::string dtype_in(const Json& tensor) { return tensor.at("dtype").get<std::string>(); }
inline bool is_integer_type(const std::string& dtype) { return dtype[0] == 'u' || dtype[0] == 's'; }
inline bool has_vector_axes(const Json& tensor) { return tensor.contains("vaxes"); }

/// A number, or a text for NaN and infinities; NaN for what is none of them.
double double_in(const Json& json);
Json json_of_value(double value);

}  // namespace nx::conformance
