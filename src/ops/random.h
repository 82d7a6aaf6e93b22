// The row behind all random numbers.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

/// Operands: keys u32[batch…, 2] and, with `count` -1, counters u32[batch…, n]. Result: words
/// u32[batch…, count or n].
struct ThreefryAttrs {
  std::int64_t count = -1;
  template <class F>
  static void fields(F&& f) {
    f("count", &ThreefryAttrs::count);
  }
};
extern const graph::OpRow kThreefry;

}  // namespace nx::ops
