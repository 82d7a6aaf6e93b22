// layer: ops
// Reductions of everything up to an element, along an axis. The type stays; integers wrap, and
// floats below f32 are added up in f32.
#pragma once

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

struct CumulativeOptions {
  Axis axis = 0;
  bool reverse = false;  ///< From the end of the axis.
  template <class F>
  static void fields(F&& f) {
    f("axis", &CumulativeOptions::axis);
    f("reverse", &CumulativeOptions::reverse);
  }
};
NX_API Tensor cumulative_sum(const Operand& x, const CumulativeOptions& options = {});
NX_API Tensor cumulative_product(const Operand& x, const CumulativeOptions& options = {});
/// NaN from the first one on.
NX_API Tensor cumulative_max(const Operand& x, const CumulativeOptions& options = {});
NX_API Tensor cumulative_min(const Operand& x, const CumulativeOptions& options = {});

}  // namespace nx
