// layer: ops
// Moving elements: nothing is computed on them. Vectorised axes stay in front and are not counted.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

struct ReshapeOptions {
  Names names = {};
  template <class F>
  static void fields(F&& f) {
    f("names", &ReshapeOptions::names);
  }
};
/// The same elements in other dims; one size may be -1: what is left. Copies nothing.
NX_API Tensor reshape(const Operand& x, const Dims& dims, const ReshapeOptions& options = {});

struct SqueezeOptions {
  Axes axes = {};  ///< Without it all axes of size 1.
  template <class F>
  static void fields(F&& f) {
    f("axes", &SqueezeOptions::axes);
  }
};
/// Drops axes of size 1.
NX_API Tensor squeeze(const Operand& x, const SqueezeOptions& options = {});

/// A new axis of size 1 at `axis` (-1: the last), with a name if given.
NX_API Tensor new_axis(const Operand& x, std::int64_t axis, Name name = {});

struct FlattenOptions {
  Axes axes = {};  ///< Neighbouring axes; without it all.
  template <class F>
  static void fields(F&& f) {
    f("axes", &FlattenOptions::axes);
  }
};
/// Several neighbouring axes as one.
NX_API Tensor flatten(const Operand& x, const FlattenOptions& options = {});

struct TransposeOptions {
  Axes axes = {};  ///< The operand's axes in their new order; without it reversed.
  template <class F>
  static void fields(F&& f) {
    f("axes", &TransposeOptions::axes);
  }
};
NX_API Tensor transpose(const Operand& x, const TransposeOptions& options = {});

struct BroadcastOptions {
  Axes axes = {};  ///< Which axes of the result the operand's are; without it the last ones.
  Names names = {};
  template <class F>
  static void fields(F&& f) {
    f("axes", &BroadcastOptions::axes);
    f("names", &BroadcastOptions::names);
  }
};
/// Repeats axes of size 1 and new axes up to `dims`.
NX_API Tensor broadcast(const Operand& x, const Dims& dims, const BroadcastOptions& options = {});

/// Where a slice begins on an axis: a number, or a scalar tensor whose value is not known yet.
class Start {
 public:
  Start(int index) : index_(index) {}
  Start(std::int64_t index) : index_(index) {}
  Start(Tensor index) : tensor_(std::move(index)) {}
  bool is_tensor() const noexcept { return tensor_.has_value(); }
  std::int64_t index() const noexcept { return index_; }
  const Tensor& tensor() const noexcept { return tensor_; }

 private:
  std::int64_t index_ = 0;
  Tensor tensor_;
};
using Starts = std::vector<Start>;

struct SliceOptions {
  Dims strides = {};  ///< One for each axis; without it 1.
  template <class F>
  static void fields(F&& f) {
    f("strides", &SliceOptions::strides);
  }
};
/// A block of `lengths` from `starts`; starts that reach too far are moved back so that it fits.
NX_API Tensor slice(const Operand& x, const Starts& starts, const Dims& lengths,
                    const SliceOptions& options = {});

struct SliceAlongAxisOptions {
  Axis axis = 0;
  std::int64_t strides = 1;
  template <class F>
  static void fields(F&& f) {
    f("axis", &SliceAlongAxisOptions::axis);
    f("strides", &SliceAlongAxisOptions::strides);
  }
};
NX_API Tensor slice_along_axis(const Operand& x, const Start& start, std::int64_t length,
                               const SliceAlongAxisOptions& options = {});

/// `x` with the block at `starts` replaced by `update`; starts are moved back so that it fits.
NX_API Tensor put_slice(const Operand& x, const Starts& starts, const Operand& update);

struct ConcatenateOptions {
  Axis axis = 0;
  template <class F>
  static void fields(F&& f) {
    f("axis", &ConcatenateOptions::axis);
  }
};
/// Tensors one after the other along an axis; types are merged.
NX_API Tensor concatenate(std::span<const Tensor> tensors, const ConcatenateOptions& options = {});
inline Tensor concatenate(std::initializer_list<Tensor> tensors,
                          const ConcatenateOptions& options = {}) {
  return concatenate(std::span<const Tensor>(tensors.begin(), tensors.size()), options);
}

struct StackOptions {
  std::int64_t axis = 0;
  Name name = {};
  template <class F>
  static void fields(F&& f) {
    f("axis", &StackOptions::axis);
    f("name", &StackOptions::name);
  }
};
/// Tensors of one shape along a new axis.
NX_API Tensor stack(std::span<const Tensor> tensors, const StackOptions& options = {});
inline Tensor stack(std::initializer_list<Tensor> tensors, const StackOptions& options = {}) {
  return stack(std::span<const Tensor>(tensors.begin(), tensors.size()), options);
}

/// Padding of one axis; negative `low` and `high` cut off, `interior` goes between elements.
struct Padding {
  std::int64_t low = 0, high = 0, interior = 0;
};
NX_API Tensor pad(const Operand& x, const Operand& value, std::span<const Padding> padding);
inline Tensor pad(const Operand& x, const Operand& value, std::initializer_list<Padding> padding) {
  return pad(x, value, std::span<const Padding>(padding.begin(), padding.size()));
}

struct ReverseOptions {
  Axes axes = {};  ///< Without it all.
  template <class F>
  static void fields(F&& f) {
    f("axes", &ReverseOptions::axes);
  }
};
NX_API Tensor reverse(const Operand& x, const ReverseOptions& options = {});

/// Repeats the whole tensor `repetitions` times along each axis (aligned from the right).
NX_API Tensor tile(const Operand& x, const Dims& repetitions);

}  // namespace nx
