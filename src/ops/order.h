// Rows of sorting along an axis.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

struct SortAttrs {
  std::int64_t axis = 0;
  bool descending = false;
  DType index_type = DType::s32;  // of argsort's result
  template <class F>
  static void fields(F&& f) {
    f("axis", &SortAttrs::axis);
    f("descending", &SortAttrs::descending);
    f("index_type", &SortAttrs::index_type);
  }
};
/// Stable, NaN larger than every number. sort gives the values, argsort their indices.
extern const graph::OpRow kSort, kArgsort;

Tensor sort_dims(const Tensor& x, std::int64_t axis, bool descending);
Tensor argsort_dims(const Tensor& x, std::int64_t axis, bool descending, DType index_type);

}  // namespace nx::ops
