// Builders of movement nodes at graph level: all axes, no labels, the identity is not emitted.
#include <numeric>

#include "core/at.h"
#include "graph/trace.h"
#include "ops/creation.h"
#include "ops/movement.h"

namespace nx::ops {

using graph::Attrs;
using graph::emit;

Dims iota_dims(std::size_t count) {
  Dims axes(count);
  std::iota(axes.begin(), axes.end(), std::int64_t{0});
  return axes;
}

Dims shift_axes(const Dims& axes, int count) {
  Dims shifted = iota_dims(at(count));
  for (const std::int64_t axis : axes) shifted.push_back(axis + count);
  return shifted;
}

Tensor part_dims(const Tensor& x, std::int64_t axis, std::int64_t from, std::int64_t to) {
  Dims limits = dims_of(x);
  Dims starts(limits.size(), 0);
  starts[at(axis)] = from;
  limits[at(axis)] = to;
  return slice_dims(x, starts, limits, Dims(limits.size(), 1));
}

Dims with_leading(const Tensor& x, int count, const Dims& dims) {
  const Dims all = dims_of(x);
  Dims out(all.begin(), all.begin() + count);
  out.insert(out.end(), dims.begin(), dims.end());
  return out;
}

Tensor broadcast_dims(const Tensor& x, Dims dims, Dims axes) {
  if (dims_of(x) == dims && axes == iota_dims(dims.size())) return x;
  return emit(kBroadcast, {x}, Attrs::of(BroadcastAttrs{std::move(dims), std::move(axes)}), {});
}

Tensor broadcast_to(const Tensor& x, const Dims& dims) {
  const std::size_t rank = dims_of(x).size();
  Dims axes = iota_dims(rank);
  for (auto& axis : axes) axis += static_cast<std::int64_t>(dims.size() - rank);
  return broadcast_dims(x, dims, axes);
}

Tensor transpose_dims(const Tensor& x, Dims permutation) {
  if (permutation == iota_dims(permutation.size())) return x;
  return emit(kTranspose, {x}, Attrs::of(TransposeAttrs{std::move(permutation)}), {});
}

Tensor reshape_dims(const Tensor& x, Dims dims) {
  if (dims_of(x) == dims) return x;
  return emit(kReshape, {x}, Attrs::of(ReshapeAttrs{std::move(dims)}), {});
}

Tensor slice_dims(const Tensor& x, Dims starts, Dims limits, Dims strides) {
  const Dims dims = dims_of(x);
  if (limits == dims && starts == Dims(dims.size(), 0) && strides == Dims(dims.size(), 1)) return x;
  return emit(kSlice, {x},
              Attrs::of(SliceAttrs{std::move(starts), std::move(limits), std::move(strides)}), {});
}

Tensor reverse_dims(const Tensor& x, Dims axes) {
  if (axes.empty()) return x;
  return emit(kReverse, {x}, Attrs::of(ReverseAttrs{std::move(axes)}), {});
}

Tensor pad_dims(const Tensor& x, const Tensor& value, Dims low, Dims high, Dims interior) {
  const Dims zeros(low.size(), 0);
  if (low == zeros && high == zeros && interior == zeros) return x;
  const Tensor fill = value.has_value() ? value : scalar(Number(0), x.type());
  return emit(kPad, {x, fill},
              Attrs::of(PadAttrs{std::move(low), std::move(high), std::move(interior)}), {});
}

Tensor concatenate_dims(std::span<const Tensor> parts, std::int64_t axis) {
  if (parts.size() == 1) return parts[0];
  return emit(kConcatenate, parts, Attrs::of(ConcatenateAttrs{axis}), {});
}

}  // namespace nx::ops
