// Reductions of contiguous runs, and the index of an extreme element along an axis.
#pragma once

#include <memory>

#include "kernels/tile.h"
#include "nx/number.h"

namespace nx::kernels {

enum class Reduction : std::uint8_t { kSum, kProduct, kMax, kMin, kAll, kAny };

/// Null for types that have none (complex max and min, sums below a byte). max and min pass NaN
/// on; kAll and kAny take u8 predicates.
TileKernel combine_kernel(Reduction reduction, DType type);
RowReduceKernel row_reduce_kernel(Reduction reduction, DType type);
/// What the accumulator begins with.
Number reduction_identity(Reduction reduction, DType type);

struct ArgReduceSpec {
  std::size_t axis = 0;
  bool largest = true;
  bool last_of_ties = false;
  DType index_type = DType::s32;
};
/// Index along the axis; the first NaN wins over every number.
std::unique_ptr<PreparedKernel> prepare_arg_reduce(const ArraySpec& in, const ArgReduceSpec& spec);

}  // namespace nx::kernels
