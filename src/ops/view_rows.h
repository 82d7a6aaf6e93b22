// What the rows of views share.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

Dims row_major_strides(const Dims& dims);
/// Throws ShapeError for an axis out of range, or given twice.
void check_distinct(std::string_view operation, const Dims& axes, std::size_t rank);
/// A literal behind broadcasts, or an empty handle. Views of it are broadcasts of it.
Tensor splat_operand(const Tensor& x);

}  // namespace nx::ops
