// Walking the public functions: every row, its tensors, and its call traced and compiled. Shared by
// the sweep and by the runner of recorded cases.
#pragma once

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include "nx/jit.h"
#include "ops/function_row.h"
#include "train/families.h"

namespace nx::ops {

inline std::vector<const FunctionRow*> all_rows() {
  std::vector<const FunctionRow*> rows;
  for (const Family* family : train::all_families())
    for (const FunctionRow& row : family->functions) rows.push_back(&row);
  return rows;
}

/// True for functions that need the values of their tensors, which a traced tensor does not have,
/// or that make templates, which no program computes.
inline bool reads_values(const FunctionRow& row) {
  constexpr std::string_view kNames[] = {
      "to_binary",   "to_number",  "to_flat_list", "to_list",     "to_template", "template",
      "to_batched",  "from_binary", "compatible?", "donatable",   "donatable?",  "serialize",
      "deserialize", "load_numpy", "is_tensor",    "to_heatmap",  "from_pointer", "inspect",
  };
  return *row.module == "Nx" &&
         std::find(std::begin(kNames), std::end(kNames), *row.name) != std::end(kNames);
}

/// Calls `f` on every tensor with a value or node inside `value`, in order.
inline void for_each_tensor(Value& value, const std::function<void(Tensor&)>& f) {
  if (auto* t = std::get_if<Tensor>(&value.data)) {
    if (t->has_value() && !t->is_template()) f(*t);
  } else if (auto* list = std::get_if<Value::List>(&value.data)) {
    for (Value& v : *list) for_each_tensor(v, f);
  } else if (auto* map = std::get_if<Value::Map>(&value.data)) {
    for (auto& [key, v] : *map) for_each_tensor(v, f);
  }
}

using Call = std::function<Value(std::span<const Value> args, const Options& options)>;

/// Runs `call` through jit, with every tensor of `args` and `options` as a traced argument.
inline Value run_traced(const Call& call, std::span<const Value> args, const Options& options,
                        const JitOptions& jit_options) {
  std::vector<Tensor> leaves;
  std::vector<Value> own_args(args.begin(), args.end());
  Options own_options = options;
  const auto for_each_argument = [&](const std::function<void(Tensor&)>& f) {
    for (Value& arg : own_args) for_each_tensor(arg, f);
    for (auto& [key, value] : own_options) for_each_tensor(value, f);
  };
  for_each_argument([&](Tensor& t) { leaves.push_back(t); });
  Value result;  // what is not a tensor in it is known once the function is traced
  const auto function = nx::jit(
      [&](std::vector<Tensor> traced) {
        std::size_t next = 0;
        for_each_argument([&](Tensor& t) { t = traced[next++]; });
        result = call(own_args, own_options);
        std::vector<Tensor> tensors;
        for_each_tensor(result, [&](Tensor& t) {
          tensors.push_back(std::move(t));
          t = Tensor();
        });
        return tensors;
      },
      jit_options);
  const std::vector<Tensor> tensors = function(leaves);
  std::size_t next = 0;
  // Emptied handles have no value, which for_each_tensor passes over: walk by hand.
  const std::function<void(Value&)> fill = [&](Value& value) {
    if (auto* t = std::get_if<Tensor>(&value.data)) {
      if (!t->has_value()) *t = tensors[next++];
    } else if (auto* list = std::get_if<Value::List>(&value.data)) {
      for (Value& v : *list) fill(v);
    } else if (auto* map = std::get_if<Value::Map>(&value.data)) {
      for (auto& [key, v] : *map) fill(v);
    }
  };
  fill(result);
  return result;
}

}  // namespace nx::ops
