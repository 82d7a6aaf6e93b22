// Rows that make values out of attributes, and scalars for the rules of all families.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

/// Element = its index along `axis`, or its flat index when axis is -1.
struct IotaAttrs {
  DType type = DType::s32;
  Dims dims;
  std::int64_t axis = -1;
  template <class F>
  static void fields(F&& f) {
    f("type", &IotaAttrs::type);
    f("dims", &IotaAttrs::dims);
    f("axis", &IotaAttrs::axis);
  }
};
extern const graph::OpRow kIota;

/// A rank-0 tensor: a literal in an open trace, else a concrete scalar. Values wrap and round as
/// conversion to `type` does.
Tensor scalar(const Number& value, DType type);
/// The scalar repeated.
Tensor full_dims(const Number& value, DType type, const Dims& dims);
Tensor iota_along(DType type, Dims dims, std::int64_t axis);

}  // namespace nx::ops
