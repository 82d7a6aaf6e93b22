// Everything up to each element along an axis, combined in one pass.
#pragma once

#include <memory>

#include "kernels/reduce.h"

namespace nx::kernels {

struct CumulativeSpec {
  Reduction reduction = Reduction::kSum;  // kSum, kProduct, kMax or kMin
  std::size_t axis = 0;
  bool reverse = false;  // from the end of the axis
};
/// For integers, f32 and f64. Integers wrap; f32 is carried in f64, so that long sums lose nothing;
/// max and min pass NaN on.
std::unique_ptr<PreparedKernel> prepare_cumulative(const ArraySpec& in, const CumulativeSpec& spec);

}  // namespace nx::kernels
