// Reading runs of an array through strides: what broadcast, transpose, slice and reverse are to a
// kernel that wants contiguous elements, a tile at a time. Whole arrays: kernels/strided.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nx/shape.h"

namespace nx::kernels {

/// Element (i0, i1, …) of `dims` lies `offset + i0*strides[0] + …` elements after the base.
struct StridedView {
  Dims dims;
  Dims strides;
  std::int64_t offset = 0;

  std::int64_t count() const noexcept {
    std::int64_t n = 1;
    for (const std::int64_t d : dims) n *= d;
    return n;
  }
  friend bool operator==(const StridedView&, const StridedView&) = default;
};

/// The same positions with as few axes as possible: axes of size 1 dropped, neighbours merged that
/// are walked as one.
StridedView collapse(const StridedView& view);
/// The view under other dims of the same count, when strides can express it.
bool reshape_view(const StridedView& view, const Dims& dims, StridedView& result);

/// The address of positions [first, first + count) of a collapsed view when they lie one after the
/// other in memory, else null.
const void* contiguous_run(const StridedView& view, std::size_t element, const void* base,
                           std::int64_t first, std::int64_t count) noexcept;
/// Copies positions [first, first + count) of a collapsed view, in row-major order, to `to`.
/// `element` is the size of an element: 1, 2, 4, 8 or 16 bytes.
void gather_run(const StridedView& view, std::size_t element, const void* base, std::int64_t first,
                std::int64_t count, void* to) noexcept;
/// `count` copies of one element.
void fill_run(std::size_t element, const void* value, std::int64_t count, void* to) noexcept;
/// `count` elements, each of them `times` times over.
void repeat_each(std::size_t element, const void* from, std::int64_t count, std::int64_t times,
                 void* to) noexcept;

}  // namespace nx::kernels
