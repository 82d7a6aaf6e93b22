// Short ways to write values in the examples of function rows, and the conversions of run-time
// values that only structural functions need.
#pragma once

#include <string>
#include <utility>

#include "nx/creation.h"
#include "nx/movement.h"
#include "ops/erase.h"

namespace nx::ops {

template <class... T>
Value list(T... values) {
  return Value(Value::List{Value(values)...});
}
inline Value names_of(std::initializer_list<const char*> names) {
  Value::List values;
  for (const char* const name : names) values.push_back(*name ? Value(name) : Value());
  return Value(std::move(values));
}
inline Value types(DType type) { return Value(type); }
/// An f32 tensor of a literal.
inline Value f(const Literal& literal) { return Value(tensor(literal, {.type = DType::f32})); }
inline Value t(const Literal& literal, const TensorOptions& options = {}) {
  return Value(tensor(literal, options));
}

template <>
struct FromValue<VectorAxes> {
  static VectorAxes get(const Value& value) {
    VectorAxes axes;
    if (const auto* map = value.as<Value::Map>())
      for (const auto& [name, size] : *map) axes.push_back({Name(name), integer_from(size)});
    if (const auto* values = value.as<Value::List>())
      for (const Value& pair : *values) {
        const auto [name, size] = FromValue<std::pair<std::string, std::int64_t>>::get(pair);
        axes.push_back({Name(name), size});
      }
    return axes;
  }
};
template <>
struct FromValue<Start> {
  static Start get(const Value& value) {
    if (const auto* tensor = value.as<Tensor>()) return Start(*tensor);
    return Start(integer_from(value));
  }
};

inline const Value* find_option(const Options& options, std::string_view name) {
  for (const auto& [key, value] : options)
    if (key == name) return &value;
  return nullptr;
}
inline void expect_arguments(std::span<const Value> args, std::size_t least, std::size_t most) {
  if (args.size() < least || args.size() > most)
    throw ArgumentError("call", fmt::format("expected {} to {} arguments, got {}", least, most,
                                            args.size()));
}
/// An operand that stays alive as long as this does.
using BoundOperand = Bound<Operand>;

}  // namespace nx::ops
