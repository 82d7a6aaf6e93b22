// The row of a public function: what the docs, the test sweep, the status page and the conformance
// runner need to know of it. One for each public function, in its family's file.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/op_row.h"
#include "nx/tensor.h"

namespace nx::ops {

/// An argument, option or result whose type is known only at run time.
struct Value {
  struct Range {
    std::int64_t first = 0, last = 0, step = 1;  // both ends included
  };
  using List = std::vector<Value>;
  using Map = std::map<std::string, Value>;
  std::variant<std::monostate, Tensor, Number, DType, std::string, Range, List, Map> data;

  Value() = default;
  Value(Tensor tensor) : data(std::move(tensor)) {}
  template <detail::PlainNumber T>
  Value(T number) : data(Number(number)) {}
  Value(Number number) : data(number) {}
  Value(DType type) : data(type) {}
  Value(const char* text) : data(std::string(text)) {}
  Value(std::string text) : data(std::move(text)) {}
  Value(Range range) : data(range) {}
  Value(List list) : data(std::move(list)) {}
  Value(Map map) : data(std::move(map)) {}
  template <class T>
  const T* as() const noexcept { return std::get_if<T>(&data); }
  bool is_none() const noexcept { return data.index() == 0; }
};
using Options = std::vector<std::pair<std::string, Value>>;

struct Example {
  std::vector<Value> args;
  Options options;
  Value result;
};
using Examples = std::vector<Example>;

/// Which element types a function takes.
enum class Accepts : std::uint8_t { kAny, kReal, kInteger, kFloatLike, kAnyButComplex, kSpecial };

/// Largest error against the exact result, in units in the last place, for inputs in [low, high].
struct Accuracy {
  double ulp = 0;  // 0: exact
  double low = -10, high = 10;
};

/// How names of axes pass from operands to the result.
enum class NamesRule : std::uint8_t { kMerge, kKeep, kDropReduced, kDrop, kSpecial };

using ErasedCall = Value (*)(std::span<const Value> args, const Options& options);

struct FunctionRow {
  graph::Required<std::string_view> name;    // "sum"
  graph::Required<std::string_view> module;  // of the reference: "Nx", "Nx.Random", …
  graph::Required<std::string_view> doc;     // one line
  graph::Required<Accepts> accepts;
  graph::Required<NamesRule> names;
  graph::Required<Accuracy> accuracy;
  graph::Required<Examples (*)()> examples;  // at least one, values from an independent source
  graph::Required<ErasedCall> call;          // erase<&nx::sum>, see ops/erase.h
  bool differentiable = true;                // swept with numeric gradients on inexact inputs
  bool elementwise = false;                  // swept on drawn inputs within `accuracy`'s range
};

/// Makes rows that share all but name, documentation, call and examples.
struct RowMaker {
  graph::Required<std::string_view> module;
  graph::Required<Accepts> accepts;
  graph::Required<NamesRule> names;
  graph::Required<Accuracy> accuracy;
  bool differentiable = true, elementwise = false;
  constexpr FunctionRow operator()(std::string_view name, std::string_view doc, ErasedCall call,
                                   Examples (*examples)()) const {
    return {.name = name,
            .module = module,
            .doc = doc,
            .accepts = accepts,
            .names = names,
            .accuracy = accuracy,
            .examples = examples,
            .call = call,
            .differentiable = differentiable,
            .elementwise = elementwise};
  }
};

/// A family's file gives its rows through these two functions, listed in registry.cpp.
struct Family {
  std::string_view name;
  std::span<const graph::OpRow* const> ops;
  std::span<const FunctionRow> functions;
};
std::span<const Family* const> families();

}  // namespace nx::ops
