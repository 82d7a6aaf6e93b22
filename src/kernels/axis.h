// An array seen along one axis.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nx/shape.h"

namespace nx::kernels {

/// A row-major array is `outer` blocks of `count` elements on the axis, `inner` of which lie side
/// by side: `outer * inner` lines with `count` elements each, `inner` apart.
struct AlongAxis {
  AlongAxis(const Dims& dims, std::size_t axis) {
    for (std::size_t i = 0; i < dims.size(); ++i)
      (i < axis ? outer : i > axis ? inner : count) *= dims[i];
  }
  std::int64_t lines() const { return outer * inner; }
  std::int64_t size() const { return outer * count * inner; }
  /// The first element of a line.
  std::int64_t begin_of(std::int64_t line) const {
    return line / inner * count * inner + line % inner;
  }
  std::int64_t outer = 1, count = 1, inner = 1;
};

}  // namespace nx::kernels
