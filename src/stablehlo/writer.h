// A writer of StableHLO text in MLIR's generic form, which every version reads alike:
//   %3 = "stablehlo.add"(%1, %2) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// Knows element types and dims, nothing of our graph.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nx/dtype.h"
#include "nx/number.h"
#include "nx/shape.h"

namespace nx::stablehlo {

/// A tensor type as text: our types, or `i1` for predicates.
struct Type {
  DType type = DType::f32;
  Dims dims;
  bool predicate = false;  // i1
};
/// `tensor<2x3xf32>`, `tensor<ui8>`, `tensor<4xi1>`.
std::string to_string(const Type& type);
/// `f32`, `ui8`, `i32`, `f8E5M2`, `complex<f32>`.
std::string element_name(DType type);

struct Value {
  std::string name;  // "%12"
  Type type;
};

class Writer {
 public:
  using Region = std::function<std::vector<Value>(Writer&, std::span<const Value> arguments)>;

  /// Writes `"stablehlo.<name>"(operands) {attributes} : …`; `attributes` is MLIR text such as
  /// `dimension = 0 : i64`, without braces.
  Value op(std::string_view name, std::span<const Value> operands, Type result,
           std::string_view attributes = {});
  Value op(std::string_view name, std::initializer_list<Value> operands, Type result,
           std::string_view attributes = {}) {
    return op(name, std::span<const Value>(operands.begin(), operands.size()), result, attributes);
  }
  /// The same with any number of results.
  std::vector<Value> op(std::string_view name, std::span<const Value> operands,
                        std::span<const Type> results, std::string_view attributes);
  std::vector<Value> op_with_regions(std::string_view name, std::span<const Value> operands,
                                     std::span<const Type> results, std::string_view attributes,
                                     std::span<const std::vector<Type>> region_arguments,
                                     std::span<const Region> regions);

  // Shorthands for what many lowerings need.
  Value constant(const Number& number, DType type, const Dims& dims = {});
  Value convert(const Value& value, DType type);              // predicate in or out is handled
  Value to_predicate(const Value& value);                     // value != 0
  Value from_predicate(const Value& value, DType type);
  Value compare(std::string_view direction, const Value& a, const Value& b);  // EQ NE LT LE GT GE
  Value select(const Value& predicate, const Value& on_true, const Value& on_false);
  Value broadcast(const Value& value, const Dims& dims, std::span<const std::int64_t> axes);
  Value broadcast_scalar(const Value& value, const Dims& dims) { return broadcast(value, dims, {}); }
  Value reshape(const Value& value, const Dims& dims);
  Value transpose(const Value& value, std::span<const std::int64_t> permutation);
  /// `stablehlo.reduce` with a body of one binary operation (`stablehlo.<body>`).
  Value reduce(const Value& value, const Value& init, std::span<const std::int64_t> axes,
               std::string_view body);

  /// `array<i64: 1, 2>`.
  static std::string array(std::span<const std::int64_t> values);
  /// `[1, 2]`.
  static std::string list(std::span<const std::int64_t> values);

  const std::string& text() const noexcept { return text_; }
  Value fresh(Type type);
  std::vector<Value> fresh(std::span<const Type> types);
  void line(std::string_view text);

 private:
  std::string text_;
  int next_ = 0;
  int indent_ = 2;
};

/// A number as an MLIR literal of the type (`1.000000e+00`, `0x7FC00000` for NaN and infinities).
std::string literal(const Number& number, DType type);

}  // namespace nx::stablehlo
