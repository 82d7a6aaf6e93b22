// Rows that read and write elements at indices that are values.
//
// With B = `batch` leading axes shared by all operands, k = axes.size():
//   operand  [batch…, d0, d1, …]
//   indices  [batch…, i0, i1, …, k]   integers; the last axis lists positions on `axes`
//   slices   [batch…, …]              the operand's axes that are not in `axes`, in order, with
//                                     i0, i1, … inserted before the one numbered `offset`
// gather gives the slices; indexed_add and indexed_put take them as a third operand.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

/// `axes` and `offset` do not count the batch axes.
struct GatherAttrs {
  Dims axes;
  int batch = 0;
  int offset = 0;
  template <class F>
  static void fields(F&& f) {
    f("axes", &GatherAttrs::axes);
    f("batch", &GatherAttrs::batch);
    f("offset", &GatherAttrs::offset);
  }
};
extern const graph::OpRow kGather, kIndexedAdd, kIndexedPut;

Tensor gather_dims(const Tensor& x, const Tensor& indices, GatherAttrs attrs,
                   const graph::Caller& caller = {});
Tensor scatter_dims(const graph::OpRow& row, const Tensor& x, const Tensor& indices,
                    const Tensor& updates, GatherAttrs attrs, const graph::Caller& caller = {});
/// `index` as s64, clamped to 0 … last.
Tensor clamp_index(const Tensor& index, std::int64_t last);

}  // namespace nx::ops
