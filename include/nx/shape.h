// layer: core
// Dimensions, axis names, and the ways a caller may name an axis.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "nx/config.h"
#include "nx/dtype.h"
#include "nx/inline_vector.h"

namespace nx {

/// Sizes of the axes, outermost first; `{}` is a scalar's. Also used for strides and starts.
using Shape = InlineVector<std::int64_t, 6>;
using Dims = Shape;

/// Product of the sizes (1 for a scalar). Throws ShapeError when it does not fit 63 bits.
NX_API std::int64_t element_count(const Dims& dims);
/// `[2, 3]`, and `f32[2, 3]` with a type.
NX_API std::string to_string(const Dims& dims);
NX_API std::string to_string(DType type, const Dims& dims);

/// An axis name: interned, so that it copies and compares as a pointer. Empty: no name.
class NX_API Name {
 public:
  constexpr Name() noexcept = default;
  Name(std::string_view text);
  Name(const char* text) : Name(std::string_view(text)) {}
  Name(const std::string& text) : Name(std::string_view(text)) {}
  bool empty() const noexcept { return text_ == nullptr; }
  std::string_view view() const noexcept { return text_ ? std::string_view(*text_) : ""; }
  friend bool operator==(Name a, Name b) noexcept { return a.text_ == b.text_; }
  const void* id() const noexcept { return text_; }

 private:
  const std::string* text_ = nullptr;
};

/// One name for each axis, or empty when no axis has one.
using Names = InlineVector<Name, 4>;

/// A vectorised axis: its name and size. Operations map over it.
struct VectorAxis {
  Name name;
  std::int64_t size = 0;
  friend bool operator==(const VectorAxis&, const VectorAxis&) = default;
};
using VectorAxes = InlineVector<VectorAxis, 2>;

/// One axis, given by index (negative: from the end) or by name.
class NX_API Axis {
 public:
  Axis(int index) : index_(index) {}
  Axis(std::int64_t index) : index_(index) {}
  Axis(const char* name) : name_(name) {}
  Axis(std::string_view name) : name_(name) {}
  Axis(const std::string& name) : name_(name) {}
  Axis(Name name) : name_(name) {}
  bool is_named() const noexcept { return !name_.empty(); }
  std::int64_t index() const noexcept { return index_; }
  Name name() const noexcept { return name_; }
  std::string describe() const;
  /// The index in 0 … rank-1. Throws ShapeError naming `operation` when there is no such axis.
  int resolve(std::string_view operation, int rank, const Names& names) const;

 private:
  std::int64_t index_ = 0;
  Name name_;
};

/// Several axes, written `1`, `{0, 1}`, `"x"`, `{"x", "y"}`; a default one means "all of them".
class NX_API Axes {
 public:
  Axes() = default;
  Axes(int axis) : list_{Axis(axis)}, given_(true) {}
  Axes(std::int64_t axis) : list_{Axis(axis)}, given_(true) {}
  Axes(const char* axis) : list_{Axis(axis)}, given_(true) {}
  Axes(Axis axis) : list_{axis}, given_(true) {}
  Axes(std::initializer_list<Axis> list) : list_(list), given_(true) {}
  Axes(std::vector<Axis> list) : list_(std::move(list)), given_(true) {}
  static Axes of(std::span<const std::int64_t> indices);
  /// False for a default-constructed value, which stands for the operation's default.
  bool is_given() const noexcept { return given_; }
  const std::vector<Axis>& list() const noexcept { return list_; }
  /// Indices in the order given. Throws ShapeError for an unknown axis and for one named twice.
  InlineVector<std::int64_t, 6> resolve(std::string_view operation, int rank,
                                        const Names& names) const;

 private:
  std::vector<Axis> list_;
  bool given_ = false;
};

}  // namespace nx
