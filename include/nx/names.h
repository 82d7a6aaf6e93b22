// layer: ops
// Names of axes, and vectorised axes: axes that operations map over instead of working on.
#pragma once

#include "nx/shape.h"
#include "nx/tensor.h"

namespace nx {

/// The tensor under other axis names, one for each axis; an empty one takes the name away. Throws
/// ShapeError for a wrong count, a name given twice, and the name of a vectorised axis.
NX_API Tensor rename(const Operand& x, const Names& names);

/// The leading axes, as many as names are given, become vectorised ones of those names: operations
/// map over them, and operands that lack one are repeated along it. No values move.
/// `vectorize(x, "batch")`, `vectorize(x, {"batch", "head"})`. Throws ShapeError when there are not
/// that many axes, or when a name is in use.
NX_API Tensor vectorize(const Operand& x, const Axes& names);

struct DevectorizeOptions {
  bool keep_names = true;  // the axes are called what they were called as vectorised ones
  template <class F>
  static void fields(F&& f) {
    f("keep_names", &DevectorizeOptions::keep_names);
  }
};
/// All vectorised axes become plain leading axes again.
NX_API Tensor devectorize(const Operand& x, const DevectorizeOptions& options = {});

}  // namespace nx
