// The small language in which cases describe functions: `sum(exp(x) * [1,2,3,4])`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/function_row.h"

namespace nx::conformance {

/// Numbers, lists, names, calls of functions by our names, `axis 1` as an option, + - * / ^ mod and,
/// comparisons, `2x`, `x^T`, `|x|`, tuples, `grad(expression)` with respect to x.
class Expression {
 public:
  using Names = std::map<std::string, ops::Value, std::less<>>;

  /// Throws Skip for a text that is not of the language.
  static Expression parse(std::string_view text);
  /// Throws Skip when a function in it is not there.
  ops::Value evaluate(const Names& names) const;

  struct Node {
    enum class Kind { number, name, list, call, option } kind = Kind::number;
    ops::Value value;
    std::string text;
    std::vector<Node> parts;
  };

 private:
  Node root_;
};

/// The value as a tensor; lists of numbers become s32 or f32 tensors.
Tensor tensor_from(const ops::Value& value);

}  // namespace nx::conformance
