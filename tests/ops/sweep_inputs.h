// What the sweep puts into public functions: their examples as tensors, moved off the round numbers
// that people choose, and a scalar made of whatever comes out.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/body.h"
#include "graph/dispatch.h"
#include "nx/binary.h"
#include "nx/creation.h"
#include "nx/reduce.h"
#include "nx/type.h"
#include "ops/rows.h"
#include "ops/sweep_compare.h"

namespace nx::ops {

/// The examples of a row. Those of elementwise functions are plain numbers: tensors here, or
/// nothing would be traced, differentiated, donated or mapped; the first of three elements, to
/// which the others are broadcast.
inline Examples examples_of(const FunctionRow& row) {
  Examples examples = (*row.examples)();
  if (!row.elementwise) return examples;
  for (Example& e : examples)
    for (Value& arg : e.args)
      if (const auto* number = arg.as<Number>())
        arg = full(&arg == &e.args[0] ? Dims{3} : Dims{}, Operand(*number),
                   {.type = *row.accepts == Accepts::kInteger ? DType::s32 : DType::f32});
  return examples;
}

struct Draw {
  std::uint64_t state = 88172645463325252u;
  double next() {  // in [0, 1), xorshift
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1p-53;
  }
};

inline bool is_smooth_input(const Tensor& t) {
  if (!is_float(t.type())) return false;
  for (const double v : t.to_flat_list<double>())
    if (!std::isfinite(v)) return false;
  return true;
}

inline Tensor f64_like(const Tensor& like, const std::vector<double>& values) {
  const auto& body = detail::Access::checked(like, "sweep");
  Tensor made = graph::new_tensor(DType::f64, body.dims, body.labels);
  std::copy(values.begin(), values.end(), graph::data_of<double>(made));
  return made;
}

/// The example with its float tensors in f64, moved a little off the round numbers that people
/// choose (where a maximum has ties and |x| a corner); for elementwise functions drawn evenly within
/// the range of the row's accuracy.
inline std::vector<Value> smooth_arguments(const FunctionRow& row, const Example& example) {
  std::vector<Value> args = example.args;
  Draw draw;
  const double low = row.accuracy->low, high = row.accuracy->high;
  const double middle = (low + high) / 2, half = std::min((high - low) / 2, 2.0) * 0.9;
  for (Value& arg : args)
    for_each_tensor(arg, [&](Tensor& t) {
      if (!is_smooth_input(t)) return;
      std::vector<double> values = t.to_flat_list<double>();
      for (double& v : values)
        v = row.elementwise ? middle + half * (2 * draw.next() - 1) : v + 0.01 + 0.1 * draw.next();
      t = f64_like(t, values);
    });
  return args;
}

inline std::vector<Tensor> smooth_leaves(const std::vector<Value>& args) {
  std::vector<Tensor> leaves;
  for (const Value& arg : args)
    for (const Tensor& t : tensors_of(arg))
      if (t.type() == DType::f64) leaves.push_back(t);
  return leaves;
}

inline std::vector<Value> with_leaves(std::vector<Value> args, const std::vector<Tensor>& leaves) {
  std::size_t next = 0;
  for (Value& arg : args)
    for_each_tensor(arg, [&](Tensor& t) {
      if (t.type() == DType::f64) t = leaves[next++];
    });
  return args;
}

/// A scalar of a result: its float elements weighted by numbers that are all different, so that a
/// gradient that ignores its upstream is found out.
inline Tensor weighted(const Value& result) {
  Tensor total = tensor(0.0, {.type = DType::f64});
  for (const Tensor& t : tensors_of(result)) {
    if (!is_float(t.type())) continue;
    const auto& dims = detail::Access::checked(t, "sweep").dims;
    const Tensor weights = add(multiply(iota(dims, {.type = DType::f64}), 0.37), 0.61);
    const Tensor plain = detail::Access::with_labels(t, {}, {});
    total = add(total, sum(multiply(as_type(plain, DType::f64), weights)));
  }
  return total;
}

inline bool has_float(const Value& result) {
  for (const Tensor& t : tensors_of(result))
    if (is_float(t.type()) && !t.is_template()) return true;
  return false;
}

}  // namespace nx::ops
