// layer: transform
// Reverse-mode differentiation of functions over tensors.
//
//   auto loss = [](nx::Tensor w, nx::Tensor x, nx::Tensor y) {
//     return nx::mean(nx::pow(nx::dot(x, w) - y, 2));
//   };
//   nx::Tensor g = nx::grad(loss)(w, x, y);            // with respect to w, of w's shape
//   auto [value, dw] = nx::value_and_grad(loss)(w, x, y);
//
// The *first* argument is differentiated; it may be any container, and the gradient has its
// structure: a tensor for each tensor, numbers as they are. Works in traced functions, on concrete
// tensors, and on functions that differentiate themselves (second order).
//
// In eager code the function is traced at every call, so that it may read other tensors each time;
// what was traced is compiled once for equal programs. Under `jit` neither happens after the first call.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nx/config.h"
#include "nx/container.h"
#include "nx/error.h"
#include "nx/tensor.h"

namespace nx {
namespace detail {

/// What one run of the differentiated function left behind.
struct TracedValue {
  std::vector<Tensor*> leaves;   // of the whole value; given values when the trace is ours
  const Tensor* loss = nullptr;  // null: a plain number, which varies with nothing
};
/// Runs the function on these leaves of its first argument.
using TraceValue = TracedValue (*)(void* context, std::span<const Tensor> leaves);

struct Leaf {
  std::string path;
  Tensor tensor;  // may be empty: then so is its gradient
};
/// The gradients, one for each leaf. May call `trace` twice (vectorised axes).
NX_API std::vector<Tensor> differentiate(std::span<const Leaf> leaves, void* context,
                                         TraceValue trace, SourceLocation where);
NX_API Tensor number_leaf(const Number& number);    // f32
NX_API Tensor number_tensor(const Number& number);  // s32 or f32, as jit's arguments

template <class T>
inline constexpr bool is_pair_v = false;
template <class A, class B>
inline constexpr bool is_pair_v<std::pair<A, B>> = true;

/// A bare number becomes an f32 leaf.
template <class T>
auto differentiable(const T& argument) {
  if constexpr (PlainNumber<T>) {
    return number_leaf(Number(argument));
  } else {
    return argument;
  }
}

template <bool kAux, class Value>
const Tensor* loss_of(const Value& value) {
  if constexpr (kAux) {
    static_assert(is_pair_v<Value>, "with aux the function returns std::pair(loss, aux)");
    return loss_of<false>(value.first);
  } else if constexpr (PlainNumber<Value>) {
    return nullptr;
  } else {
    static_assert(std::is_convertible_v<const Value&, const Tensor&>,
                  "the function must return one tensor; return std::pair(loss, aux) and use "
                  "grad_with_aux to carry more");
    return &static_cast<const Tensor&>(value);
  }
}

template <class T>
decltype(auto) number_as_tensor(const T& argument) {
  if constexpr (PlainNumber<T>) {
    return number_tensor(Number(argument));
  } else {
    return (argument);
  }
}

/// {value, gradient} of `function` at `point`.
template <bool kAux, class F, class Point, class... Rest>
auto differentiate_at(const F& function, SourceLocation where, Point point, const Rest&... rest) {
  using Value = std::remove_cvref_t<std::invoke_result_t<const F&, Point, const Rest&...>>;
  static_assert(Container<Value>, "the function must return a tensor, or std::pair(loss, aux)");

  std::vector<Leaf> leaves;
  for_each_leaf_with_path(point, "", [&](const std::string& path, const Tensor& leaf) {
    leaves.push_back({path, leaf});
  });
  std::optional<Value> value;
  auto trace = [&](std::span<const Tensor> traced) {
    Point inner = point;
    std::size_t i = 0;
    for_each_leaf(inner, [&](Tensor& leaf) { leaf = traced[i++]; });
    value.reset();
    value.emplace(std::invoke(function, std::move(inner), rest...));
    TracedValue result;
    for_each_leaf(*value, [&](Tensor& leaf) { result.leaves.push_back(&leaf); });
    result.loss = loss_of<kAux>(std::as_const(*value));
    return result;
  };
  const std::vector<Tensor> gradients = differentiate(
      leaves, &trace,
      [](void* context, std::span<const Tensor> traced) {
        return (*static_cast<decltype(trace)*>(context))(traced);
      },
      where);
  std::size_t i = 0;
  for_each_leaf(point, [&](Tensor& leaf) { leaf = gradients[i++]; });
  return std::pair<Value, Point>(std::move(*value), std::move(point));
}

/// The same, with numbers as tensors where the function does not take them as they are.
template <bool kAux, class F, class T, class... Rest>
auto value_and_gradient(const F& function, SourceLocation where, const T& argument,
                        const Rest&... rest) {
  auto point = differentiable(argument);
  if constexpr (std::is_invocable_v<const F&, decltype(point), const Rest&...>) {
    return differentiate_at<kAux>(function, where, std::move(point), rest...);
  } else {
    return differentiate_at<kAux>(function, where, std::move(point), number_as_tensor(rest)...);
  }
}

}  // namespace detail

/// A function that returns the gradient of `function` with respect to its first argument. A result
/// that is no scalar is summed first; vectorised axes are never summed.
///
/// The gradient of a leaf has its shape, names and vectorised axes. Its type is the leaf's, but
/// f32 for integers and for floats below f32, and f64 where the loss was computed in f64.
/// Throws UnsupportedError when the result depends on the argument through an operation without a
/// gradient, ArgumentError when the argument holds no tensor.
template <class F>
auto grad(F function, SourceLocation where = SourceLocation::current()) {
  return [function = std::move(function), where]<Container T, class... Rest>(
             const T& argument, const Rest&... rest) {
    return detail::value_and_gradient<false>(function, where, argument, rest...).second;
  };
}

/// As `grad`, but returns `std::pair(value, gradient)`; the value is not summed.
template <class F>
auto value_and_grad(F function, SourceLocation where = SourceLocation::current()) {
  return [function = std::move(function), where]<Container T, class... Rest>(
             const T& argument, const Rest&... rest) {
    return detail::value_and_gradient<false>(function, where, argument, rest...);
  };
}

/// For functions that return `std::pair(loss, aux)`: `std::pair(gradient of the loss, aux)`, where
/// aux is any container (a model's new state, predictions for a metric).
template <class F>
auto grad_with_aux(F function, SourceLocation where = SourceLocation::current()) {
  return [function = std::move(function), where]<Container T, class... Rest>(
             const T& argument, const Rest&... rest) {
    auto [value, gradient] =
        detail::value_and_gradient<true>(function, where, argument, rest...);
    return std::pair(std::move(gradient), std::move(value.second));
  };
}

/// For functions that return `std::pair(loss, aux)`: `std::pair(std::pair(loss, aux), gradient)`.
template <class F>
auto value_and_grad_with_aux(F function, SourceLocation where = SourceLocation::current()) {
  return [function = std::move(function), where]<Container T, class... Rest>(
             const T& argument, const Rest&... rest) {
    return detail::value_and_gradient<true>(function, where, argument, rest...);
  };
}

/// The same tensor, seen as a constant by `grad`.
NX_API Tensor stop_grad(const Tensor& x, SourceLocation where = SourceLocation::current());

/// `value`, whose gradient is what `backward(g)` returns: one tensor (or an empty handle for zero)
/// for each of `inputs`, of its shape, where g is the gradient of `value`.
///
///   custom_grad(cos(t), {t}, [=](Tensor g) { return std::vector{g * 100 * sin(t)}; })
NX_API Tensor custom_grad(const Tensor& value, std::vector<Tensor> inputs,
                          std::function<std::vector<Tensor>(const Tensor& g)> backward,
                          SourceLocation where = SourceLocation::current());

}  // namespace nx
