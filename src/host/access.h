// How the elements of an edge are reached: views and relabels between an operation and the value
// it reads are looked through, so that they cost nothing unless something needs the array itself.
#pragma once

#include <optional>

#include "graph/graph.h"
#include "graph/op_row.h"
#include "kernels/strided.h"
#include "kernels/tile_program.h"
#include "kernels/view.h"

namespace nx::host {

struct Access {
  graph::Edge source;         // a value with memory or in a loop, a literal, a generated value
  bool in_order = true;       // flat position i of the edge is flat position i of the source
  kernels::StridedView view;  // else
};

/// The access to `type` when `input` (of `input_type`) is put under other dims; nothing when
/// strides cannot express it.
std::optional<Access> relabelled(const Access& input, const graph::TensorType& type);
/// The access through one more view; nothing when strides cannot express it.
std::optional<Access> viewed(const Access& input, const graph::TensorType& input_type,
                             const graph::TensorType& type, const graph::ViewRule::View& view);

/// How a view varies over a space of rows x columns; nothing when only a strided walk does it.
std::optional<kernels::Extent> extent_of(const kernels::StridedView& view, std::int64_t rows,
                                         std::int64_t columns);
/// Whether reading in order goes from cache line to cache line, over more than the caches near a
/// core hold, where another order would not: a copy, which is made by blocks, is read instead.
bool is_scattered(const Access& access, DType type);
/// The number of columns for which the view is one value per row or per column, or 0.
std::int64_t natural_columns(const kernels::StridedView& view);

/// Reduced and kept positions of a reduction.
enum class ReduceForm : std::uint8_t {
  kNone,     // nothing is combined: every reduced axis has size 1
  kEmpty,    // a reduced axis has size 0: the identity
  kRows,     // the last axes are reduced
  kColumns,  // the last axes are kept
};
struct ReduceShape {
  ReduceForm form = ReduceForm::kNone;
  std::int64_t kept = 1, reduced = 1;
  std::int64_t columns = 1;      // positions of the kept axes at the end
  std::size_t first_column = 0;  // the first of these axes
  bool in_order = true;          // else the operand is read with its axes in another order
  /// Of columns: runs of rows that are reduced each by itself.
  std::int64_t groups() const { return kept / columns; }
};
ReduceShape reduce_shape(const Dims& dims, const Dims& axes);
/// The positions of `dims` with the reduced axes last, but for the axes of the columns.
kernels::StridedView reduced_last(const Access& operand, const Dims& dims, const Dims& axes,
                                  const ReduceShape& shape);

/// The tile program's form of a reduction in one type. Throws UnsupportedError.
kernels::ReductionKernels make_reduction(const graph::OpRow& row, const graph::ReduceRule& rule,
                                         DType type);

}  // namespace nx::host
