// What the rows that move elements share.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

Dims row_major_strides(const Dims& dims);
/// Throws ShapeError for an axis out of range, or given twice.
void check_distinct(std::string_view operation, const Dims& axes, std::size_t rank);
/// Throws DTypeError for operands of two types.
void check_same_type(std::string_view operation, const graph::TensorType& a,
                     const graph::TensorType& b);
inline kernels::ArraySpec spec_of(const graph::TensorType& type) { return {type.type, type.dims}; }
/// Writes x from `from` to `to` on one axis.
stablehlo::Value lower_part(stablehlo::Writer& writer, const stablehlo::Value& x, std::int64_t axis,
                            std::int64_t from, std::int64_t to);
/// A literal behind broadcasts, or an empty handle. Views of it are broadcasts of it.
Tensor splat_operand(const Tensor& x);

}  // namespace nx::ops
