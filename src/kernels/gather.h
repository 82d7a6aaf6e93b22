// Reading and writing slices at indices that are values.
#pragma once

#include <memory>

#include "kernels/tile.h"

namespace nx::kernels {

/// See ops/indexing.h: `operand` [batch…, d…], `indices` [batch…, i…, k], slices [batch…, the
/// operand's other axes with i… inserted before number `offset`]. `axes` does not count batch.
struct GatherSpec {
  ArraySpec operand, indices;
  Dims axes;
  int batch = 0;
  int offset = 0;
};
/// Dims of the slices.
Dims gathered_dims(const GatherSpec& spec);

/// Inputs: operand, indices. An index out of range is reported and clamped.
std::unique_ptr<PreparedKernel> prepare_gather(const GatherSpec& spec);

enum class Scatter : std::uint8_t { kAdd, kPut };
/// Inputs: operand, indices, slices. Output 0 may be the operand itself. Rows of indices are
/// worked off in order: of equal ones the last wins, or all are added.
std::unique_ptr<PreparedKernel> prepare_scatter(const GatherSpec& spec, Scatter mode);

}  // namespace nx::kernels
