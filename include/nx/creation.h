// layer: ops
// Making tensors out of values, attributes and memory. While a function is traced, what these
// make is part of its graph.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "nx/config.h"
#include "nx/literal.h"
#include "nx/tensor.h"
#include "nx/type.h"

namespace nx {

struct TensorOptions {
  std::optional<DType> type = {};
  Names names = {};
  template <class F>
  static void fields(F&& f) {
    f("type", &TensorOptions::type);
    f("names", &TensorOptions::names);
  }
};
/// `tensor(1)`, `tensor({1.5, 2})`, `tensor({{1, 2}, {3, 4}}, {.type = nx::u8})`, a vector, a span.
/// Throws ArgumentError for an integer that does not fit `type`, ShapeError for ragged braces.
NX_API Tensor tensor(const Literal& literal, const TensorOptions& options = {});

/// The names of the element types: `nx::f32` is a DType where one is wanted, and `nx::u8(3)`,
/// `nx::f32({1, 2})` make tensors, `nx::f32(x)` casts one.
template <DType kType>
struct TypeName {
  constexpr operator DType() const noexcept { return kType; }
  Tensor operator()(const Literal& literal, const Names& names = {}) const {
    return tensor(literal, {.type = kType, .names = names});
  }
  Tensor operator()(const Tensor& x) const { return as_type(x, kType); }
};
#define NX_TYPE_NAME_(name) inline constexpr TypeName<DType::name> name {}
NX_TYPE_NAME_(u2);
NX_TYPE_NAME_(u4);
NX_TYPE_NAME_(u8);
NX_TYPE_NAME_(u16);
NX_TYPE_NAME_(u32);
NX_TYPE_NAME_(u64);
NX_TYPE_NAME_(s2);
NX_TYPE_NAME_(s4);
NX_TYPE_NAME_(s8);
NX_TYPE_NAME_(s16);
NX_TYPE_NAME_(s32);
NX_TYPE_NAME_(s64);
NX_TYPE_NAME_(f8);
NX_TYPE_NAME_(f8_e4m3fn);
NX_TYPE_NAME_(bf16);
NX_TYPE_NAME_(f16);
NX_TYPE_NAME_(f32);
NX_TYPE_NAME_(f64);
NX_TYPE_NAME_(c64);
NX_TYPE_NAME_(c128);
#undef NX_TYPE_NAME_

struct IotaOptions {
  DType type = DType::s32;
  std::optional<Axis> axis = {};  ///< Count along this axis; without it through all elements.
  Names names = {};
  VectorAxes vectorized_axes = {};
  template <class F>
  static void fields(F&& f) {
    f("type", &IotaOptions::type);
    f("axis", &IotaOptions::axis);
    f("names", &IotaOptions::names);
    f("vectorized_axes", &IotaOptions::vectorized_axes);
  }
};
/// 0, 1, 2, … in the given dims.
NX_API Tensor iota(const Dims& dims, const IotaOptions& options = {});

struct EyeOptions {
  DType type = DType::s32;
  Names names = {};
  VectorAxes vectorized_axes = {};
  template <class F>
  static void fields(F&& f) {
    f("type", &EyeOptions::type);
    f("names", &EyeOptions::names);
    f("vectorized_axes", &EyeOptions::vectorized_axes);
  }
};
/// Ones where the last two indices are equal, else zeros. One size gives a square.
NX_API Tensor eye(const Dims& dims, const EyeOptions& options = {});
inline Tensor eye(std::int64_t size, const EyeOptions& options = {}) {
  return eye(Dims{size, size}, options);
}

struct LinspaceOptions {
  std::int64_t n = 0;    ///< How many values; has to be given.
  bool endpoint = true;  ///< The last value is `stop` itself.
  DType type = DType::f32;
  Name name = {};
  template <class F>
  static void fields(F&& f) {
    f("n", &LinspaceOptions::n);
    f("endpoint", &LinspaceOptions::endpoint);
    f("type", &LinspaceOptions::type);
    f("name", &LinspaceOptions::name);
  }
};
/// `n` evenly spaced values from `start` to `stop`, on a new last axis. Throws ArgumentError for an
/// `n` below 1.
NX_API Tensor linspace(const Operand& start, const Operand& stop,
                       const LinspaceOptions& options = {});

struct FullOptions {
  std::optional<DType> type = {};  ///< Without it the value's own.
  Names names = {};
  template <class F>
  static void fields(F&& f) {
    f("type", &FullOptions::type);
    f("names", &FullOptions::names);
  }
};
/// The value repeated.
NX_API Tensor full(const Dims& dims, const Operand& value, const FullOptions& options = {});
NX_API Tensor zeros(const Dims& dims, const FullOptions& options = {});  ///< f32 without a type
NX_API Tensor ones(const Dims& dims, const FullOptions& options = {});   ///< f32 without a type
/// `value` in the type, shape and names of `like`.
NX_API Tensor full_like(const Tensor& like, const Number& value);

struct TemplateOptions {
  Names names = {};
  template <class F>
  static void fields(F&& f) {
    f("names", &TemplateOptions::names);
  }
};
/// Type, shape and names without values: what `compile` takes.
NX_API Tensor make_template(const Dims& dims, DType type, const TemplateOptions& options = {});
/// The template of a tensor; it keeps the mark of donation.
NX_API Tensor to_template(const Tensor& tensor);

/// Elements as they are packed: little endian, several to a byte for types below a byte.
NX_API Tensor from_binary(std::span<const std::byte> bytes, DType type);
NX_API std::vector<std::byte> to_binary(const Tensor& tensor);

struct PointerOptions {
  /// Called once with the address when the last user dies: the memory is ours then, and may be
  /// donated. Without it the memory is borrowed: the caller keeps it alive and unchanged.
  std::function<void(void*)> deleter = {};
  Names names = {};
};
/// A tensor on host memory that exists already; nothing is copied.
NX_API Tensor from_pointer(void* data, DType type, const Dims& dims,
                           PointerOptions options = {});

}  // namespace nx
