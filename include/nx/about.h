// layer: ops
// Questions about a tensor that need no values: they work on traced tensors and templates too.
#pragma once

#include <vector>

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

NX_API DType type(const Tensor& x);
/// Sizes of the axes, without the vectorised ones.
NX_API Shape shape(const Tensor& x);
NX_API std::int64_t rank(const Tensor& x);
/// Number of elements, without and with the vectorised axes.
NX_API std::int64_t size(const Tensor& x);
NX_API std::int64_t flat_size(const Tensor& x);
/// Bytes and bits of all elements as packed (types below a byte are rounded up to whole bytes).
NX_API std::int64_t byte_size(const Tensor& x);
NX_API std::int64_t bit_size(const Tensor& x);
/// One name for each axis; empty where an axis has none.
NX_API std::vector<Name> names(const Tensor& x);
/// 0, 1, … rank - 1.
NX_API std::vector<std::int64_t> axes(const Tensor& x);
NX_API std::int64_t axis_index(const Tensor& x, const Axis& axis);
NX_API std::int64_t axis_size(const Tensor& x, const Axis& axis);
/// Equal type, shape, names (a missing one fits any) and vectorised axes.
NX_API bool is_compatible(const Tensor& a, const Tensor& b);

}  // namespace nx
