// `erase<&nx::sum>`: a public function as a call with run-time arguments. Parameters are filled
// from positional values, the options aggregate by name through its `fields`.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "nx/tensor.h"
#include "ops/function_row.h"

namespace nx::ops {

/// Anything with a `fields` list is an options aggregate.
struct FieldProbe {
  template <class M>
  void operator()(const char*, M) const {}
};
template <class T>
concept OptionsAggregate = std::is_aggregate_v<T> && requires { T::fields(FieldProbe{}); };

[[noreturn]] inline void refuse_value(const char* expected) {
  throw ArgumentError("call", fmt::format("expected {}", expected));
}

inline Number number_from(const Value& value) {
  if (const auto* number = value.as<Number>()) return *number;
  if (const auto* tensor = value.as<Tensor>())
    return is_inexact(tensor->type()) ? Number(tensor->to_number<double>())
                                      : Number(tensor->to_number<std::int64_t>());
  refuse_value("a number");
}

inline std::int64_t integer_from(const Value& value) {
  const Number number = number_from(value);
  if (!number.is_integer()) refuse_value("an integer");
  return number.integer();
}

inline Axis axis_from(const Value& value) {
  if (const auto* text = value.as<std::string>()) return Axis(*text);
  return Axis(integer_from(value));
}

/// Conversion of a run-time value to a parameter's type; specialised for what functions take.
template <class T>
struct FromValue;

template <class T>
  requires std::is_integral_v<T>
struct FromValue<T> {
  static T get(const Value& value) {
    if constexpr (std::is_same_v<T, bool>) {
      if (const auto* text = value.as<std::string>()) return *text == "true";
    }
    return static_cast<T>(integer_from(value));
  }
};
template <class T>
  requires std::is_floating_point_v<T>
struct FromValue<T> {
  static T get(const Value& value) { return static_cast<T>(number_from(value).real()); }
};
template <> struct FromValue<Number> {
  static Number get(const Value& value) { return number_from(value); }
};
template <> struct FromValue<std::string> {
  static std::string get(const Value& value) {
    if (const auto* text = value.as<std::string>()) return *text;
    refuse_value("a text");
  }
};
template <> struct FromValue<DType> {
  static DType get(const Value& value) {
    if (const auto* type = value.as<DType>()) return *type;
    if (const auto* text = value.as<std::string>())
      if (const auto type = dtype_from_name(*text)) return *type;
    refuse_value("an element type");
  }
};
template <> struct FromValue<Axis> {
  static Axis get(const Value& value) { return axis_from(value); }
};
template <> struct FromValue<Axes> {
  static Axes get(const Value& value) {
    if (value.is_none()) return {};
    const auto* list = value.as<Value::List>();
    if (list == nullptr) return Axes(axis_from(value));
    std::vector<Axis> axes;
    for (const Value& v : *list) axes.push_back(axis_from(v));
    return Axes(std::move(axes));
  }
};
template <> struct FromValue<Name> {
  static Name get(const Value& value) {
    return value.is_none() ? Name() : Name(FromValue<std::string>::get(value));
  }
};
template <std::uint32_t N>
struct FromValue<InlineVector<std::int64_t, N>> {
  static InlineVector<std::int64_t, N> get(const Value& value) {
    InlineVector<std::int64_t, N> list;
    if (const auto* tensor = value.as<Tensor>()) {
      for (const auto size : tensor->shape()) list.push_back(size);
    } else if (const auto* values = value.as<Value::List>()) {
      for (const Value& v : *values) list.push_back(integer_from(v));
    } else {
      list.push_back(integer_from(value));
    }
    return list;
  }
};
template <> struct FromValue<Names> {
  static Names get(const Value& value) {
    Names names;
    if (const auto* values = value.as<Value::List>())
      for (const Value& v : *values) names.push_back(FromValue<Name>::get(v));
    return names;
  }
};
template <> struct FromValue<Tensor> {
  static Tensor get(const Value& value) {
    if (const auto* tensor = value.as<Tensor>()) return *tensor;
    refuse_value("a tensor");
  }
};
template <class T>
struct FromValue<std::optional<T>> {
  static std::optional<T> get(const Value& value) {
    if (value.is_none()) return std::nullopt;
    return FromValue<T>::get(value);
  }
};
template <class T>
struct FromValue<std::vector<T>> {
  static std::vector<T> get(const Value& value) {
    std::vector<T> list;
    if (const auto* values = value.as<Value::List>()) {
      for (const Value& v : *values) list.push_back(FromValue<T>::get(v));
    } else {
      list.push_back(FromValue<T>::get(value));
    }
    return list;
  }
};
template <class A, class B>
struct FromValue<std::pair<A, B>> {
  static std::pair<A, B> get(const Value& value) {
    const auto* values = value.as<Value::List>();
    if (values == nullptr || values->size() != 2) refuse_value("two values");
    return {FromValue<A>::get((*values)[0]), FromValue<B>::get((*values)[1])};
  }
};

/// Keeps what a parameter refers to alive during the call.
template <class P>
struct Bound {
  using Plain = std::remove_cvref_t<P>;
  Plain value;
  explicit Bound(const Value& v) : value(FromValue<Plain>::get(v)) {}
  const Plain& get() const { return value; }
};
template <>
struct Bound<Operand> {
  Tensor tensor;
  Number number;
  bool is_number;
  explicit Bound(const Value& v) : is_number(v.as<Tensor>() == nullptr) {
    if (is_number) number = number_from(v);
    else tensor = *v.as<Tensor>();
  }
  Operand get() const { return is_number ? Operand(number) : Operand(tensor); }
};
template <>
struct Bound<std::span<const Tensor>> {
  std::vector<Tensor> list;
  explicit Bound(const Value& v) : list(FromValue<std::vector<Tensor>>::get(v)) {}
  std::span<const Tensor> get() const { return list; }
};

template <OptionsAggregate T>
T options_from(const Options& options) {
  T aggregate;
  for (const auto& option : options) {
    const std::string& name = option.first;
    const Value& value = option.second;
    bool known = false;
    T::fields([&](const char* field, auto member) {
      if (name != field) return;
      known = true;
      using Member = std::remove_cvref_t<decltype(aggregate.*member)>;
      if constexpr (OptionsAggregate<Member>) refuse_value("a plain option");
      else aggregate.*member = FromValue<Member>::get(value);
    });
    if (!known) throw ArgumentError("call", fmt::format("unknown option `{}`", name));
  }
  return aggregate;
}

inline Value to_value(const Tensor& t) { return Value(t); }
inline Value to_value(const Number& n) { return Value(n); }
inline Value to_value(DType t) { return Value(t); }
inline Value to_value(const std::string& text) { return Value(text); }
inline Value to_value(bool b) { return Value(std::string(b ? "true" : "false")); }
inline Value to_value(Name name) {
  return name.empty() ? Value() : Value(std::string(name.view()));
}
template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>)
Value to_value(T number) { return Value(number); }
template <class T>
Value to_value(const std::optional<T>& value);
template <class A, class B>
Value to_value(const std::pair<A, B>& pair);
template <class... T>
Value to_value(const std::tuple<T...>& tuple);
template <class T>
  requires requires(const T& t) { t.begin(); t.end(); } && (!std::is_same_v<T, std::string>)
Value to_value(const T& list) {
  Value::List values;
  for (const auto& element : list) values.push_back(to_value(element));
  return Value(std::move(values));
}
template <class T>
Value to_value(const std::optional<T>& value) {
  return value ? to_value(*value) : Value();
}
template <class A, class B>
Value to_value(const std::pair<A, B>& pair) {
  return Value(Value::List{to_value(pair.first), to_value(pair.second)});
}
template <class... T>
Value to_value(const std::tuple<T...>& tuple) {
  return std::apply(
      [](const auto&... v) { return Value(Value::List{to_value(v)...}); }, tuple);
}

namespace erased {

/// One parameter: an options aggregate, the place of the call, or the next positional value.
template <class P>
auto bind(std::span<const Value> args, const Options& options, std::size_t& next, bool& used) {
  using Plain = std::remove_cvref_t<P>;
  if constexpr (OptionsAggregate<Plain>) {
    used = true;
    return options_from<Plain>(options);
  } else if constexpr (std::is_same_v<Plain, SourceLocation>) {
    return SourceLocation{};
  } else {
    if (next >= args.size())
      throw ArgumentError("call", fmt::format("too few arguments; got {}", args.size()));
    return Bound<Plain>(args[next++]);
  }
}
template <class B>
decltype(auto) unbound(const B& bound) {
  if constexpr (requires { bound.get(); }) return bound.get();
  else return (bound);
}

template <auto Function, class R, class... P>
Value call(R (*)(P...), std::span<const Value> args, const Options& options) {
  std::size_t next = 0;
  bool used = false;
  // Braces fix the order of evaluation: positional values are taken from left to right.
  const std::tuple<decltype(bind<P>(args, options, next, used))...> bound{
      bind<P>(args, options, next, used)...};
  if (next != args.size())
    throw ArgumentError("call", fmt::format("expected {} arguments, got {}", next, args.size()));
  if (!used && !options.empty())
    throw ArgumentError("call", fmt::format("unknown option `{}`", options.front().first));
  return std::apply([](const auto&... b) { return to_value(Function(unbound(b)...)); }, bound);
}

}  // namespace erased

template <auto Function>
Value erase(std::span<const Value> args, const Options& options) {
  return erased::call<Function>(Function, args, options);
}

}  // namespace nx::ops
