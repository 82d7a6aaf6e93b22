// layer: ops
// Parts of a tensor along an axis, its neighbours' differences, and borders made of its own
// elements.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

struct SplitOptions {
  Axis axis = 0;
  template <class F>
  static void fields(F&& f) {
    f("axis", &SplitOptions::axis);
  }
};
/// The part before `place` and the rest. An integer is an index, from the end when negative; a
/// float between 0 and 1 is a fraction of the axis, rounded up. Throws ArgumentError unless both
/// parts have elements.
NX_API std::pair<Tensor, Tensor> split(const Operand& x, const Number& place,
                                       const SplitOptions& options = {});

struct DiffOptions {
  std::int64_t order = 1;  ///< How often differences are taken.
  Axis axis = -1;
  template <class F>
  static void fields(F&& f) {
    f("order", &DiffOptions::order);
    f("axis", &DiffOptions::axis);
  }
};
/// Each element less the one before it; the axis loses an element for each order.
NX_API Tensor diff(const Operand& x, const DiffOptions& options = {});

/// Elements before and after an axis.
using Border = std::pair<std::int64_t, std::int64_t>;

struct ReflectOptions {
  std::vector<Border> padding_config = {};  ///< One for each axis.
  template <class F>
  static void fields(F&& f) {
    f("padding_config", &ReflectOptions::padding_config);
  }
};
/// Borders of the elements inside, mirrored at the edge element (which is not repeated).
NX_API Tensor reflect(const Operand& x, const ReflectOptions& options);

/// Borders of one value; negative ones cut off.
NX_API Tensor pad_outer(const Operand& x, const Operand& value, const std::vector<Border>& borders);
/// Borders of the tensor's elements: "cyclic" goes on from the other end, "mirror" turns round at
/// the edge and repeats it, "reflect" does not repeat it, "replicate" repeats the edge element.
NX_API Tensor pad_outer(const Operand& x, const std::string& mode,
                        const std::vector<Border>& borders);

struct FillOptions {
  std::optional<DType> type = {};  ///< Without it the merged one of tensor and value.
  template <class F>
  static void fields(F&& f) {
    f("type", &FillOptions::type);
  }
};
/// A tensor of x's shape and names, all elements equal to the scalar `value`.
NX_API Tensor fill(const Operand& x, const Operand& value, const FillOptions& options = {});

}  // namespace nx
