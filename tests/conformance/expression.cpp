// Parser (recursive descent) and evaluator of described functions.
#include "conformance/expression.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdlib>

#include "conformance/run.h"
#include "nx/creation.h"
#include "nx/grad.h"

namespace nx::conformance {
namespace {

using Node = Expression::Node;
using Kind = Node::Kind;
using ops::Value;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}
  Node parse() {
    Node node = comparison();
    if (peek() != '\0') refuse();
    return node;
  }

 private:
  [[noreturn]] void refuse() const {
    throw Skip(fmt::format("a description that is not understood: {}", text_));
  }
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    peek();
    if (!text_.substr(at_).starts_with(token)) return false;
    // A word ends where the name ends.
    if (std::isalpha(token[0]) && at_ + token.size() < text_.size() &&
        (std::isalnum(text_[at_ + token.size()]) || text_[at_ + token.size()] == '_'))
      return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) refuse();
  }
  static Node call(std::string name, std::vector<Node> parts) {
    return {Kind::call, {}, std::move(name), std::move(parts)};
  }

  Node comparison() {
    Node left = additive();
    for (const auto& [token, name] : {std::pair{"==", "equal"}, std::pair{">=", "greater_equal"},
                                      std::pair{">", "greater"}, std::pair{"<", "less"}})
      if (take(token)) return call(name, {std::move(left), additive()});
    return left;
  }
  Node additive() {
    Node left = product();
    for (;;) {
      if (take("+")) left = call("add", {std::move(left), product()});
      else if (take("-")) left = call("subtract", {std::move(left), product()});
      else return left;
    }
  }
  Node product() {
    Node left = unary();
    for (;;) {
      const char next = peek();
      if (take("*")) left = call("multiply", {std::move(left), unary()});
      else if (take("/")) left = call("divide", {std::move(left), unary()});
      else if (take("mod")) left = call("remainder", {std::move(left), unary()});
      else if (take("and")) left = call("logical_and", {std::move(left), unary()});
      else if (left.kind == Kind::number && std::isalpha(next))  // 2x
        left = call("multiply", {std::move(left), unary()});
      else return left;
    }
  }
  Node unary() {
    if (!take("-")) return power();
    Node inner = power();
    if (const auto* n = inner.value.as<Number>(); inner.kind == Kind::number && n != nullptr) {
      inner.value = n->is_integer() ? Value(-n->integer()) : Value(-n->real());
      return inner;
    }
    return call("negate", {std::move(inner)});
  }
  Node power() {
    Node base = primary();
    while (take("^")) {
      if (take("T")) base = call("transpose", {std::move(base)});
      else base = call("pow", {std::move(base), unary()});
    }
    return base;
  }
  std::vector<Node> parts(std::string_view close) {
    std::vector<Node> list;
    if (take(close)) return list;
    do {
      bool named = false;
      for (const char* const option : {"axis", "axes", "offset", "strides", "keep_axes"})
        if (take(option)) {
          list.push_back({Kind::option, {}, option, {comparison()}});
          named = true;
          break;
        }
      if (!named) list.push_back(comparison());
    } while (take(","));
    expect(close);
    return list;
  }
  Node primary() {
    const char next = peek();
    if (take("[")) return {Kind::list, {}, "", parts("]")};
    if (take("{")) return {Kind::list, {}, "", parts("}")};
    if (take("|")) {
      Node inner = additive();
      expect("|");
      return call("abs", {std::move(inner)});
    }
    if (take("(")) {
      auto inner = parts(")");
      if (inner.size() == 1) return std::move(inner[0]);
      return {Kind::list, {}, "tuple", std::move(inner)};
    }
    if (std::isdigit(next)) {
      const char* const begin = text_.data() + at_;
      char* end = nullptr;
      const std::string copy(text_.substr(at_));
      const double real = std::strtod(copy.c_str(), &end);
      const std::string_view digits(begin, static_cast<std::size_t>(end - copy.c_str()));
      at_ += digits.size();
      const bool is_integer = digits.find_first_of(".e") == std::string_view::npos;
      return {Kind::number, is_integer ? Value(static_cast<std::int64_t>(real)) : Value(real), "",
              {}};
    }
    if (!std::isalpha(next)) refuse();
    std::string name;
    while (at_ < text_.size() && (std::isalnum(text_[at_]) || text_[at_] == '_'))
      name += text_[at_++];
    if (at_ < text_.size() && text_[at_] == '(') {
      ++at_;
      return call(std::move(name), parts(")"));
    }
    return {Kind::name, {}, std::move(name), {}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

Value call_function(const std::string& name, std::vector<Value> args, ops::Options options) {
  const auto* const row = find_function_named(name);
  if (row == nullptr) throw Skip(fmt::format("a function not there yet: {}", name));
  return (*row->call)(args, options);
}

/// Parameters that take a list of numbers as it is (starts, sizes, axes), not as a tensor.
bool takes_list(std::string_view name, std::size_t index, std::size_t count) {
  if (name == "slice" || name == "reshape" || name == "tile" || name == "iota" ||
      name == "broadcast" || name.starts_with("window_"))
    return true;
  if (name == "put_slice") return index == 1;
  if (name == "pad") return index == 2;
  if (name == "concatenate" || name == "stack") return true;
  return name == "dot" && count >= 4 && index != 0 && index != count / 2;
}

Value softmax(const Value& x, ops::Options options) {
  for (auto& [key, value] : options)
    if (key == "axis") key = "axes", value = Value(Value::List{value});
  options.emplace_back("keep_axes", "true");
  const Value e = call_function(
      "exp", {call_function("subtract", {x, call_function("reduce_max", {x}, options)}, {})}, {});
  return call_function("divide", {e, call_function("sum", {e}, options)}, {});
}

bool is_iota(const Node& node) { return node.kind == Kind::name && node.text == "iota"; }

Value evaluate(const Node& node, const Expression::Names& names);

Value evaluate_call(const Node& node, const Expression::Names& names) {
  std::string name = node.text;
  if (name == "grad") {
    auto inner = names;
    const auto function = [&](Tensor x) {
      inner["x"] = x;
      return tensor_from(evaluate(node.parts.at(0), inner));
    };
    return nx::grad(function)(tensor_from(names.at("x")));
  }
  std::vector<Value> args;
  ops::Options options;
  for (const Node& part : node.parts) {
    if (part.kind == Kind::option) {
      Value value = evaluate(part.parts.at(0), names);
      std::string key = part.text;
      if (key == "axis" && (name == "sum" || name == "mean" || name == "product" ||
                            name.starts_with("reduce_") || name == "logsumexp")) {
        key = "axes";
        value = Value(Value::List{value});
      }
      options.emplace_back(key, std::move(value));
    } else if (!is_iota(part)) {
      args.push_back(evaluate(part, names));
    }
  }
  // `… * iota`: 0, 1, 2, … in the shape of the other factor.
  if (args.size() == 1 && node.parts.size() == 2 && is_iota(node.parts[1])) {
    Value::List dims;
    for (const auto size : tensor_from(args[0]).shape()) dims.push_back(Value(size));
    args.push_back(call_function("iota", {Value(std::move(dims))}, {}));
  }
  if (name == "softmax") return softmax(args.at(0), options);
  if (name == "stop_grad") return nx::stop_grad(tensor_from(args.at(0)));
  if (name == "conj") name = "conjugate";
  if (name == "concat") name = "concatenate";
  if (name == "concatenate" || name == "stack") args = {Value(Value::List(args))};
  for (std::size_t i = 0; i < args.size(); ++i)
    if (args[i].as<Value::List>() != nullptr && !takes_list(name, i, args.size()))
      args[i] = tensor_from(args[i]);
  if (name == "iota" && args.at(0).as<Number>()) args[0] = Value(Value::List{args[0]});
  return call_function(name, std::move(args), std::move(options));
}

Value evaluate(const Node& node, const Expression::Names& names) {
  switch (node.kind) {
    case Kind::number: return node.value;
    case Kind::call: return evaluate_call(node, names);
    case Kind::list: {
      Value::List list;
      for (const Node& part : node.parts) list.push_back(evaluate(part, names));
      return list;
    }
    case Kind::name:
      if (const auto found = names.find(node.text); found != names.end()) return found->second;
      if (const auto type = dtype_from_name(node.text)) return *type;
      if (node.text == "same" || node.text == "valid") return node.text;
      break;
    case Kind::option: break;
  }
  throw Skip(fmt::format("a description with an unknown name: {}", node.text));
}

void collect(const Value& value, std::size_t depth, Dims& dims, std::vector<Number>& numbers) {
  if (const auto* list = value.as<Value::List>()) {
    if (dims.size() == depth) dims.push_back(static_cast<std::int64_t>(list->size()));
    for (const Value& v : *list) collect(v, depth + 1, dims, numbers);
  } else if (const auto* number = value.as<Number>()) {
    numbers.push_back(*number);
  } else {
    throw Skip("a list of something other than numbers");
  }
}

}  // namespace

Tensor tensor_from(const Value& value) {
  if (const auto* tensor = value.as<Tensor>()) return *tensor;
  Dims dims;
  std::vector<Number> numbers;
  collect(value, 0, dims, numbers);
  return tensor(Literal::of(dims, numbers));
}

Expression Expression::parse(std::string_view text) {
  Expression expression;
  expression.root_ = Parser(text).parse();
  return expression;
}

Value Expression::evaluate(const Names& names) const { return conformance::evaluate(root_, names); }

}  // namespace nx::conformance
