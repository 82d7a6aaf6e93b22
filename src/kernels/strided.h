// Copying between arrays that are walked at strides: what broadcast, transpose, slice, reverse,
// concatenate and pad come down to in memory.
#pragma once

#include <cstdint>

#include "nx/shape.h"

namespace nx::kernels {

/// Strides of a contiguous row-major array.
Dims row_major_strides(const Dims& dims);

/// Prepared once for dims and strides (in elements), run many times. `to` and `from` are the
/// addresses of the element with index 0 on every axis, and must not overlap.
class StridedCopy {
 public:
  StridedCopy() = default;
  StridedCopy(std::size_t element_bytes, const Dims& dims, const Dims& to_strides,
              const Dims& from_strides);
  void run(void* to, const void* from, int threads = 1) const;
  double cost_us() const;

 private:
  using Run2 = void (*)(char* to, const char* from, const StridedCopy& plan);
  void walk(char* to, const char* from, std::size_t axis) const;
  template <class T>
  static void run_rows(char* to, const char* from, const StridedCopy& plan);
  template <class T>
  static void run_transposed(char* to, const char* from, const StridedCopy& plan);
  template <class T>
  void choose();

  std::size_t bytes_ = 1;
  bool empty_ = true;
  // Axes of the outer walk, then the two of the innermost loop, all merged where they can be.
  Dims dims_, to_, from_;
  std::int64_t rows_ = 1, columns_ = 1;
  std::int64_t to_row_ = 0, to_column_ = 1, from_row_ = 0, from_column_ = 1;
  Run2 run_ = nullptr;
};

}  // namespace nx::kernels
