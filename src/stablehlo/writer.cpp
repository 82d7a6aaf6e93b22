// StableHLO text: operations in generic form, types and literals.
#include "stablehlo/writer.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "nx/element.h"

namespace nx::stablehlo {
namespace {

std::string joined_names(std::span<const Value> values) {
  std::string text;
  for (const Value& value : values) {
    if (!text.empty()) text += ", ";
    text += value.name;
  }
  return text;
}

std::string joined_types(std::span<const Value> values) {
  std::string text;
  for (const Value& value : values) {
    if (!text.empty()) text += ", ";
    text += to_string(value.type);
  }
  return text;
}

std::string float_literal(double value, DType type) {
  if (std::isfinite(value)) {
    const std::string text = fmt::format("{:.17e}", value);
    return text;
  }
  // Not finite: MLIR wants the bits.
  switch (type) {
    case DType::f64: return fmt::format("0x{:016X}", std::bit_cast<std::uint64_t>(value));
    case DType::f32:
      return fmt::format("0x{:08X}", std::bit_cast<std::uint32_t>(static_cast<float>(value)));
    case DType::bf16: return fmt::format("0x{:04X}", BFloat16(static_cast<float>(value)).bits);
    case DType::f16: return fmt::format("0x{:04X}", Float16(static_cast<float>(value)).bits);
    case DType::f8: return fmt::format("0x{:02X}", Float8E5M2(static_cast<float>(value)).bits);
    default: return fmt::format("0x{:02X}", Float8E4M3(static_cast<float>(value)).bits);
  }
}

/// Results as an operation binds them: `%3`, or `%3:2` for `%3#0` and `%3#1`.
std::string bound_name(std::span<const Value> values) {
  const std::string& first = values[0].name;
  if (values.size() == 1) return first;
  return fmt::format("{}:{}", first.substr(0, first.find('#')), values.size());
}

/// `tensor<f32>`, or `(tensor<f32>, tensor<ui8>)` when there are several or none.
std::string result_list(std::span<const Value> values) {
  const std::string types = joined_types(values);
  return values.size() == 1 ? types : "(" + types + ")";
}

}  // namespace

std::string element_name(DType type) {
  if (is_unsigned(type)) return fmt::format("ui{}", bits_of(type));
  if (is_integer(type)) return fmt::format("i{}", bits_of(type));
  switch (type) {
    case DType::f8: return "f8E5M2";
    case DType::f8_e4m3fn: return "f8E4M3FN";
    case DType::c64: return "complex<f32>";
    case DType::c128: return "complex<f64>";
    default: return std::string(name_of(type));
  }
}

std::string to_string(const Type& type) {
  std::string text = "tensor<";
  for (const std::int64_t size : type.dims) text += fmt::format("{}x", size);
  return text + (type.predicate ? std::string("i1") : element_name(type.type)) + ">";
}

std::string literal(const Number& number, DType type) {
  if (is_complex(type)) {
    const DType part = type == DType::c64 ? DType::f32 : DType::f64;
    return fmt::format("({}, {})", float_literal(number.real(), part),
                       float_literal(number.imag(), part));
  }
  if (is_float(type)) return float_literal(number.real(), type);
  if (!number.is_integer()) return fmt::format("{}", static_cast<std::int64_t>(number.real()));
  if (is_unsigned(type)) {
    const auto value = static_cast<std::uint64_t>(number.integer());
    const int bits = bits_of(type);
    return fmt::format("{}", bits == 64 ? value : value & ((std::uint64_t{1} << bits) - 1));
  }
  return fmt::format("{}", number.integer());
}

Value Writer::fresh(Type type) { return {fmt::format("%{}", next_++), std::move(type)}; }

void Writer::line(std::string_view text) {
  text_.append(static_cast<std::size_t>(indent_) * 2, ' ');
  text_ += text;
  text_ += '\n';
}

Value Writer::op(std::string_view name, std::span<const Value> operands, Type result,
                 std::string_view attributes) {
  const Value value = fresh(std::move(result));
  const std::string braces = attributes.empty() ? "" : fmt::format(" {{{}}}", attributes);
  line(fmt::format("{} = \"stablehlo.{}\"({}){} : ({}) -> {}", value.name, name,
                   joined_names(operands), braces, joined_types(operands),
                   to_string(value.type)));
  return value;
}

std::vector<Value> Writer::fresh(std::span<const Type> types) {
  if (types.size() == 1) return {fresh(types[0])};
  std::vector<Value> values;
  for (std::size_t i = 0; i < types.size(); ++i)
    values.push_back({fmt::format("%{}#{}", next_, i), types[i]});
  ++next_;
  return values;
}

std::vector<Value> Writer::op(std::string_view name, std::span<const Value> operands,
                              std::span<const Type> results, std::string_view attributes) {
  const std::vector<Value> values = fresh(results);
  line(fmt::format("{} = \"stablehlo.{}\"({}) {{{}}} : ({}) -> {}", bound_name(values), name,
                   joined_names(operands), attributes, joined_types(operands),
                   result_list(values)));
  return values;
}

std::vector<Value> Writer::op_with_regions(std::string_view name, std::span<const Value> operands,
                                           std::span<const Type> results,
                                           std::string_view attributes,
                                           std::span<const std::vector<Type>> region_arguments,
                                           std::span<const Region> regions) {
  const std::vector<Value> values = fresh(results);
  line(fmt::format("{} = \"stablehlo.{}\"({}) ({{", bound_name(values), name,
                   joined_names(operands)));
  for (std::size_t r = 0; r < regions.size(); ++r) {
    if (r) line("}, {");
    ++indent_;
    std::vector<Value> arguments;
    std::string header = "^bb0(";
    for (const Type& type : region_arguments[r]) {
      arguments.push_back(fresh(type));
      if (arguments.size() > 1) header += ", ";
      header += fmt::format("{}: {}", arguments.back().name, to_string(type));
    }
    if (!arguments.empty()) line(header + "):");
    const std::vector<Value> returned = regions[r](*this, arguments);
    line(fmt::format("\"stablehlo.return\"({}) : ({}) -> ()", joined_names(returned),
                     joined_types(returned)));
    --indent_;
  }
  const std::string braces = attributes.empty() ? "" : fmt::format(" {{{}}}", attributes);
  line(fmt::format("}}){} : ({}) -> {}", braces, joined_types(operands), result_list(values)));
  return values;
}

Value Writer::constant(const Number& number, DType type, const Dims& dims) {
  const Type result{type, dims, false};
  return op("constant", {}, result,
            fmt::format("value = dense<{}> : {}", literal(number, type), to_string(result)));
}

Value Writer::convert(const Value& value, DType type) {
  if (!value.type.predicate && value.type.type == type) return value;
  return op("convert", {value}, {type, value.type.dims, false});
}

Value Writer::to_predicate(const Value& value) {
  if (value.type.predicate) return value;
  return compare("NE", value, constant(Number(0), value.type.type, value.type.dims));
}

Value Writer::from_predicate(const Value& value, DType type) { return convert(value, type); }

Value Writer::compare(std::string_view direction, const Value& a, const Value& b) {
  const DType type = a.type.type;
  const std::string_view kind = a.type.predicate || is_unsigned(type) ? "UNSIGNED"
                                : is_integer(type)                    ? "SIGNED"
                                                                      : "FLOAT";
  return op("compare", {a, b}, {DType::u8, a.type.dims, true},
            fmt::format("comparison_direction = #stablehlo<comparison_direction {}>, "
                        "compare_type = #stablehlo<comparison_type {}>",
                        direction, kind));
}

Value Writer::select(const Value& predicate, const Value& on_true, const Value& on_false) {
  return op("select", {to_predicate(predicate), on_true, on_false}, on_true.type);
}

Value Writer::broadcast(const Value& value, const Dims& dims, std::span<const std::int64_t> axes) {
  Type type = value.type;
  type.dims = dims;
  return op("broadcast_in_dim", {value}, type,
            fmt::format("broadcast_dimensions = {}", array(axes)));
}

Value Writer::reshape(const Value& value, const Dims& dims) {
  if (value.type.dims == dims) return value;
  Type type = value.type;
  type.dims = dims;
  return op("reshape", {value}, type);
}

Value Writer::transpose(const Value& value, std::span<const std::int64_t> permutation) {
  Type type = value.type;
  for (std::size_t i = 0; i < permutation.size(); ++i)
    type.dims[i] = value.type.dims[static_cast<std::size_t>(permutation[i])];
  return op("transpose", {value}, type, fmt::format("permutation = {}", array(permutation)));
}

Value Writer::reduce(const Value& value, const Value& init, std::span<const std::int64_t> axes,
                     std::string_view body) {
  Type scalar = value.type;
  scalar.dims = {};
  Type result = scalar;
  for (std::size_t i = 0; i < value.type.dims.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end())
      result.dims.push_back(value.type.dims[i]);
  const std::vector<Type> arguments = {scalar, scalar};
  const Region region = [&](Writer& w, std::span<const Value> in) {
    return std::vector<Value>{w.op(body, in, scalar)};
  };
  const Value operands[] = {value, init};
  return op_with_regions("reduce", operands, {&result, 1},
                         fmt::format("dimensions = {}", array(axes)), {&arguments, 1},
                         {&region, 1})[0];
}

std::string Writer::array(std::span<const std::int64_t> values) {
  if (values.empty()) return "array<i64>";
  return fmt::format("array<i64: {}>", fmt::join(values, ", "));
}

std::string Writer::list(std::span<const std::int64_t> values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

}  // namespace nx::stablehlo
