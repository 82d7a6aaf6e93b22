// layer: ops
// Reading and writing at indices that are tensors. An index out of range is an error in an eager
// call; compiled code clamps it.
#pragma once

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

struct TakeOptions {
  Axis axis = 0;
  template <class F>
  static void fields(F&& f) {
    f("axis", &TakeOptions::axis);
  }
};
/// The slices at `indices` along an axis; the axes of `indices` take its place.
NX_API Tensor take(const Operand& x, const Operand& indices, const TakeOptions& options = {});

struct TakeAlongAxisOptions {
  Axis axis = 0;
  template <class F>
  static void fields(F&& f) {
    f("axis", &TakeAlongAxisOptions::axis);
  }
};
/// Element [i, indices[i, j], …]: indices of the operand's rank, equal to it but along the axis.
NX_API Tensor take_along_axis(const Operand& x, const Operand& indices,
                              const TakeAlongAxisOptions& options = {});

struct GatherOptions {
  Axes axes = {};  ///< What the last axis of the indices lists; without it the leading axes.
  template <class F>
  static void fields(F&& f) {
    f("axes", &GatherOptions::axes);
  }
};
/// The slice at each row of `indices`.
NX_API Tensor gather(const Operand& x, const Operand& indices, const GatherOptions& options = {});

struct IndexedAddOptions {
  Axes axes = {};
  template <class F>
  static void fields(F&& f) {
    f("axes", &IndexedAddOptions::axes);
  }
};
using IndexedPutOptions = IndexedAddOptions;
/// `x` with `updates` added at the indices; equal indices add up.
NX_API Tensor indexed_add(const Operand& x, const Operand& indices, const Operand& updates,
                          const IndexedAddOptions& options = {});
/// `x` with the slices at the indices replaced; of equal indices the last one wins.
NX_API Tensor indexed_put(const Operand& x, const Operand& indices, const Operand& updates,
                          const IndexedPutOptions& options = {});

}  // namespace nx
