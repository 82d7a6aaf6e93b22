// Composing views, and naming what a view is to a rows x columns space.
#include "host/access.h"

#include <algorithm>
#include <cstdlib>

#include "nx/error.h"
#include "transform/literal.h"

namespace nx::host {

using graph::TensorType;
using kernels::StridedView;

std::optional<Access> relabelled(const Access& input, const TensorType& type) {
  if (input.in_order) return input;
  Access result{input.source, false, {}};
  if (!kernels::reshape_view(input.view, type.dims, result.view)) return std::nullopt;
  return result;
}

namespace {

bool is_row_major(const StridedView& view) {
  const StridedView c = kernels::collapse(view);
  return c.offset == 0 && (c.dims.empty() || (c.dims.size() == 1 && c.strides[0] == 1));
}

/// `outer` reads an array of `dims` whose own element (i0, …) is at `inner`.
std::optional<StridedView> compose(const StridedView& outer, const Dims& dims,
                                   const StridedView& inner) {
  const Dims steps = kernels::row_major_strides(dims);
  StridedView result{outer.dims, Dims(outer.dims.size()), inner.offset};
  // The range of indices that is touched along each axis of the inner array.
  Dims low(dims.size()), high(dims.size());
  std::int64_t rest = outer.offset;
  for (std::size_t a = 0; a < dims.size(); ++a) {
    low[a] = high[a] = rest / steps[a];
    rest %= steps[a];
    result.offset += low[a] * inner.strides[a];
  }
  for (std::size_t i = 0; i < outer.dims.size(); ++i) {
    const std::int64_t stride = outer.strides[i];
    if (stride == 0 || outer.dims[i] == 1) continue;
    std::size_t axis = dims.size();
    for (std::size_t a = 0; a < dims.size() && axis == dims.size(); ++a)
      if (dims[a] > 1 && stride % steps[a] == 0) axis = a;
    if (axis == dims.size()) return std::nullopt;
    const std::int64_t step = stride / steps[axis];
    result.strides[i] = step * inner.strides[axis];
    (step > 0 ? high : low)[axis] += step * (outer.dims[i] - 1);
  }
  for (std::size_t a = 0; a < dims.size(); ++a)
    if (low[a] < 0 || high[a] >= dims[a]) return std::nullopt;
  return result;
}

}  // namespace

std::optional<Access> viewed(const Access& input, const TensorType& input_type,
                             const TensorType& type, const graph::ViewRule::View& view) {
  StridedView outer{type.dims, view.strides, view.offset};
  if (input_type.count() == 0 || type.count() == 0) {
    // Nothing is read: any access will do.
    if (type.count() == 0)
      return Access{input.source, false, {type.dims, Dims(type.dims.size()), 0}};
  }
  if (!input.in_order) {
    const auto composed = compose(outer, input_type.dims, input.view);
    if (!composed) return std::nullopt;
    outer = *composed;
    return Access{input.source, false, outer};
  }
  if (input_type.count() == type.count() && is_row_major(outer)) return input;
  return Access{input.source, false, outer};
}

std::optional<kernels::Extent> extent_of(const StridedView& view, std::int64_t rows,
                                         std::int64_t columns) {
  const StridedView c = kernels::collapse(view);
  if (c.dims.empty() || (c.dims.size() == 1 && c.strides[0] == 0)) return kernels::Extent::kScalar;
  if (c.dims.size() == 1) {
    if (c.strides[0] == 1) return kernels::Extent::kFull;
    return std::nullopt;
  }
  if (c.dims.size() != 2 || c.dims[0] != rows || c.dims[1] != columns) return std::nullopt;
  if (c.strides[0] == 1 && c.strides[1] == 0) return kernels::Extent::kPerRow;
  if (c.strides[0] == 0 && c.strides[1] == 1) return kernels::Extent::kPerColumn;
  return std::nullopt;
}

bool is_scattered(const Access& access, DType type) {
  constexpr std::int64_t kLine = 64, kFewLines = 16, kFewElements = 16384;
  if (access.in_order || access.view.count() < kFewElements) return false;
  const StridedView c = kernels::collapse(access.view);
  const auto bytes = [&](std::size_t axis) {
    return std::abs(c.strides[axis]) * static_cast<std::int64_t>(byte_size_of(type));
  };
  if (c.dims.back() < kFewLines || bytes(c.dims.size() - 1) < kLine) return false;
  for (std::size_t a = 0; a + 1 < c.dims.size(); ++a)
    if (c.strides[a] != 0 && bytes(a) < kLine) return true;
  return false;
}

std::int64_t natural_columns(const StridedView& view) {
  const StridedView c = kernels::collapse(view);
  if (c.dims.size() != 2) return 0;
  const bool fits =
      (c.strides[0] == 1 && c.strides[1] == 0) || (c.strides[0] == 0 && c.strides[1] == 1);
  return fits ? c.dims[1] : 0;
}

namespace {

// Groups of fewer elements are not worth a tile each.
constexpr std::int64_t kSmallestGroup = 256;

bool is_among(const Dims& axes, std::size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
}

}  // namespace

ReduceShape reduce_shape(const Dims& dims, const Dims& axes) {
  ReduceShape shape;
  std::size_t last_reduced = 0;
  for (std::size_t a = 0; a < dims.size(); ++a) {
    const bool reduced = is_among(axes, a);
    (reduced ? shape.reduced : shape.kept) *= dims[a];
    if (reduced && dims[a] != 1) last_reduced = a;
  }
  if (shape.reduced <= 1) {
    shape.form = shape.reduced == 0 ? ReduceForm::kEmpty : ReduceForm::kNone;
    return shape;
  }
  shape.first_column = last_reduced + 1;
  for (std::size_t a = shape.first_column; a < dims.size(); ++a)
    if (!is_among(axes, a)) shape.columns *= dims[a];
  const bool is_columns = shape.columns > 1 && (shape.columns == shape.kept ||
                                                shape.columns * shape.reduced >= kSmallestGroup);
  shape.form = is_columns ? ReduceForm::kColumns : ReduceForm::kRows;
  if (!is_columns) {
    shape.columns = 1;
    shape.first_column = dims.size();
  }
  // Whether what is kept comes before all that is reduced, but for the columns.
  bool reduced_before = false;
  for (std::size_t a = 0; a < shape.first_column; ++a) {
    if (dims[a] == 1) continue;
    if (is_among(axes, a)) reduced_before = true;
    else if (reduced_before) shape.in_order = false;
  }
  return shape;
}

StridedView reduced_last(const Access& operand, const Dims& dims, const Dims& axes,
                         const ReduceShape& shape) {
  const Dims strides = operand.in_order ? kernels::row_major_strides(dims) : operand.view.strides;
  StridedView view;
  view.offset = operand.in_order ? 0 : operand.view.offset;
  const auto place = [&](std::size_t a) { return a >= shape.first_column ? 2 : is_among(axes, a); };
  for (const int wanted : {0, 1, 2})
    for (std::size_t a = 0; a < dims.size(); ++a) {
      if (place(a) != wanted) continue;
      view.dims.push_back(dims[a]);
      view.strides.push_back(strides[a]);
    }
  return view;
}

kernels::ReductionKernels make_reduction(const graph::OpRow& row, const graph::ReduceRule& rule,
                                         DType type) {
  kernels::ReductionKernels reduction;
  reduction.combine = rule.combine(type);
  reduction.row = rule.row(type);
  if (reduction.combine == nullptr || reduction.row == nullptr)
    throw UnsupportedError(row.name,
                           "the host compiler has no kernel for " + std::string(name_of(type)));
  reduction.element = static_cast<std::uint32_t>(byte_size_of(type));
  transform::write_number(rule.identity(type), type, reduction.identity.data());
  return reduction;
}

}  // namespace nx::host
