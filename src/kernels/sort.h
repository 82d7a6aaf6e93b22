// Sorting along an axis: the values, or the indices that would sort them. Stable: equal elements
// keep their order; NaN is larger than every number.
#pragma once

#include <memory>

#include "kernels/tile.h"

namespace nx::kernels {

struct SortSpec {
  std::size_t axis = 0;
  bool descending = false;
  bool indices = false;  // else the values
  DType index_type = DType::s32;
};
/// For all types but complex ones.
std::unique_ptr<PreparedKernel> prepare_sort(const ArraySpec& in, const SortSpec& spec);

}  // namespace nx::kernels
