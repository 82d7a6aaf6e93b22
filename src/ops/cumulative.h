// Rows of cumulative reductions: each element of the result combines everything up to it.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

struct CumulativeAttrs {
  std::int64_t axis = 0;
  bool reverse = false;  // from the end of the axis
  template <class F>
  static void fields(F&& f) {
    f("axis", &CumulativeAttrs::axis);
    f("reverse", &CumulativeAttrs::reverse);
  }
};
extern const graph::OpRow kCumulativeSum, kCumulativeProduct, kCumulativeMax, kCumulativeMin;

Tensor cumulate_dims(const graph::OpRow& row, const Tensor& x, CumulativeAttrs attrs,
                     SourceLocation where = {});

}  // namespace nx::ops
