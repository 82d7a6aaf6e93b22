// layer: ops
// Sorting, and what is found by sorting. Sorting is stable and takes NaN for larger than every
// number: last when ascending, first when descending.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

struct SortOptions {
  Axis axis = 0;
  std::string direction = "asc";  ///< Or "desc".
  bool stable = true;             ///< Says nothing: sorting is stable anyway.
  template <class F>
  static void fields(F&& f) {
    f("axis", &SortOptions::axis);
    f("direction", &SortOptions::direction);
    f("stable", &SortOptions::stable);
  }
};
/// The elements along an axis in order. Throws ShapeError for a scalar, DTypeError for complex
/// numbers.
NX_API Tensor sort(const Operand& x, const SortOptions& options = {});

struct ArgsortOptions {
  Axis axis = 0;
  std::string direction = "asc";
  bool stable = true;
  DType type = DType::s32;  ///< Of the indices.
  template <class F>
  static void fields(F&& f) {
    f("axis", &ArgsortOptions::axis);
    f("direction", &ArgsortOptions::direction);
    f("stable", &ArgsortOptions::stable);
    f("type", &ArgsortOptions::type);
  }
};
/// Where the elements in order are taken from: sort(x) is take_along_axis(x, argsort(x)).
NX_API Tensor argsort(const Operand& x, const ArgsortOptions& options = {});

struct TopKOptions {
  std::int64_t k = 1;
  template <class F>
  static void fields(F&& f) {
    f("k", &TopKOptions::k);
  }
};
/// The k largest elements of the last axis, largest first, and their indices (s32).
NX_API std::pair<Tensor, Tensor> top_k(const Operand& x, const TopKOptions& options = {});

struct MedianOptions {
  std::optional<Axis> axis = {};  ///< Without it all elements.
  bool keep_axis = false;         ///< As an axis of size 1; without `axis` it says nothing.
  template <class F>
  static void fields(F&& f) {
    f("axis", &MedianOptions::axis);
    f("keep_axis", &MedianOptions::keep_axis);
  }
};
using ModeOptions = MedianOptions;
/// The middle element in order; of an even count the mean of the middle two, which for integers is
/// f32.
NX_API Tensor median(const Operand& x, const MedianOptions& options = {});
/// The most frequent element; of equally frequent ones the smallest.
NX_API Tensor mode(const Operand& x, const ModeOptions& options = {});

}  // namespace nx
