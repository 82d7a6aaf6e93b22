// Function rows of creation.
#include <cstring>

#include "core/at.h"
#include "ops/creation.h"
#include "ops/families.h"
#include "ops/operand.h"
#include "ops/row_values.h"

namespace nx::ops {
namespace {

void collect(const Value& value, std::size_t depth, Dims& dims, std::vector<Number>& numbers) {
  const auto* values = value.as<Value::List>();
  if (values == nullptr) {
    if (depth != dims.size()) throw ShapeError("tensor", "the parts of a literal differ in shape");
    if (value.as<Number>() == nullptr) refuse_value("numbers");
    numbers.push_back(*value.as<Number>());
    return;
  }
  const auto size = static_cast<std::int64_t>(values->size());
  if (dims.size() == depth && numbers.empty()) dims.push_back(size);
  if (depth >= dims.size() || dims[depth] != size)
    throw ShapeError("tensor", "the parts of a literal differ in shape");
  for (const Value& part : *values) collect(part, depth + 1, dims, numbers);
}

Value call_tensor(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 1, 1);
  const auto own = options_from<TensorOptions>(options);
  if (const auto* given = args[0].as<Tensor>()) {
    if (own.type && *own.type != given->type())
      throw ArgumentError("tensor", "a tensor keeps its type; use as_type");
    if (!given->names().empty() && !own.names.empty() && !(given->names() == own.names))
      throw ArgumentError("tensor", "a tensor keeps its names; use rename");
    const ops::Plain plain = plain_operand("tensor", *given);
    check_names("tensor", own.names, at(plain.rank()));
    return with_labels(plain.tensor, own.names, plain.vector_axes);
  }
  if (const auto* truth = args[0].as<std::string>()) {
    if (*truth != "true" && *truth != "false") refuse_value("numbers");
    return tensor(*truth == "true" ? 1 : 0, {own.type.value_or(DType::u8), own.names});
  }
  Dims dims;
  std::vector<Number> numbers;
  collect(args[0], 0, dims, numbers);
  return tensor(Literal::of(dims, numbers), own);
}

/// Bytes as text.
Value call_from_binary(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 2, 2);
  if (!options.empty()) throw ArgumentError("call", "from_binary has no options");
  const auto bytes = FromValue<std::string>::get(args[0]);
  return from_binary(std::as_bytes(std::span(bytes)), FromValue<DType>::get(args[1]));
}

Value call_to_binary(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 1, 1);
  if (!options.empty()) throw ArgumentError("call", "to_binary has no options");
  const Tensor x = args[0].as<Tensor>() ? *args[0].as<Tensor>() : tensor(number_from(args[0]));
  const auto bytes = to_binary(x);
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// Of every leaf of a container.
Value template_of(const Value& value) {
  if (const auto* x = value.as<Tensor>()) return to_template(*x);
  if (const auto* number = value.as<Number>()) return make_template({}, default_type(*number));
  if (const auto* values = value.as<Value::List>()) {
    Value::List made;
    for (const Value& v : *values) made.push_back(template_of(v));
    return made;
  }
  const auto* map = value.as<Value::Map>();
  if (map == nullptr) refuse_value("a tensor or a container");
  Value::Map made;
  for (const auto& [key, v] : *map) made.emplace(key, template_of(v));
  return made;
}

Value call_to_template(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 1, 1);
  if (!options.empty()) throw ArgumentError("call", "to_template has no options");
  return template_of(args[0]);
}

Value call_iota(std::span<const Value> args, const Options& options) {
  if (!args.empty() && args[0].as<Tensor>()) refuse_value("sizes, not a tensor");
  return erase<&nx::iota>(args, options);
}

Value call_eye(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 1, 1);
  const auto own = options_from<EyeOptions>(options);
  if (args[0].as<Number>()) return eye(integer_from(args[0]), own);
  return eye(FromValue<Dims>::get(args[0]), own);
}

const FunctionRow kFunctions[] = {
    {.name = "tensor", .module = "Nx", .doc = "A tensor of the values given.",
     .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{list(1, 2)}, {}, t({1, 2})},
               {{list(list(1.5, 2), list(3, 4))}, {}, f({{1.5, 2}, {3, 4}})},
               {{list(1, 2)}, {{"type", DType::u8}}, t({1, 2}, {.type = u8})}};
     },
     .call = call_tensor, .differentiable = false},
    {.name = "iota", .module = "Nx", .doc = "0, 1, 2, … through all elements or along an axis.",
     .accepts = Accepts::kSpecial, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{list(2, 3)}, {}, t({{0, 1, 2}, {3, 4, 5}})},
               {{list(2, 2)}, {{"axis", 0}, {"type", DType::f32}}, f({{0, 0}, {1, 1}})}};
     },
     .call = call_iota, .differentiable = false},
    {.name = "eye", .module = "Nx", .doc = "Ones on the diagonal of the last two axes.",
     .accepts = Accepts::kSpecial, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{2}, {}, t({{1, 0}, {0, 1}})},
               {{list(2, 3)}, {{"type", DType::f32}}, f({{1, 0, 0}, {0, 1, 0}})}};
     },
     .call = call_eye, .differentiable = false},
    {.name = "linspace", .module = "Nx", .doc = "Evenly spaced values on a new last axis.",
     .accepts = Accepts::kSpecial, .names = NamesRule::kSpecial, .accuracy = Accuracy{2},
     .examples = +[]() -> Examples {
       return {{{0, 10}, {{"n", 5}}, f({0, 2.5, 5, 7.5, 10})},
               {{0, 10}, {{"n", 5}, {"endpoint", "false"}}, f({0, 2, 4, 6, 8})}};
     },
     .call = erase<&nx::linspace>, .differentiable = false},
    {.name = "template", .module = "Nx", .doc = "Type, shape and names without values.",
     .accepts = Accepts::kSpecial, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{list(2, 3), DType::f32}, {}, make_template({2, 3}, f32)}};
     },
     .call = erase<&nx::make_template>, .differentiable = false},
    {.name = "to_template", .module = "Nx", .doc = "The template of a tensor.",
     .accepts = Accepts::kAny, .names = NamesRule::kKeep, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2})}, {}, make_template({2}, f32)}};
     },
     .call = call_to_template, .differentiable = false},
    {.name = "from_binary", .module = "Nx", .doc = "A tensor of packed little-endian elements.",
     .accepts = Accepts::kAny, .names = NamesRule::kDrop, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{std::string("\x01\x02", 2), DType::u8}, {}, t({1, 2}, {.type = u8})}};
     },
     .call = call_from_binary, .differentiable = false},
    {.name = "to_binary", .module = "Nx", .doc = "The packed elements, little endian.",
     .accepts = Accepts::kAny, .names = NamesRule::kDrop, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{t({1, 2}, {.type = u4})}, {}, std::string("\x12", 1)}};
     },
     .call = call_to_binary, .differentiable = false},
};

const graph::OpRow* const kRows[] = {&kIota};

}  // namespace

const Family kCreationFamily{"creation", kRows, kFunctions};

}  // namespace nx::ops
