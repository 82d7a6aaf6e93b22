// Questions about a tensor that need no values.
#include "nx/about.h"

#include <fmt/format.h>

#include "core/at.h"
#include "core/body.h"

namespace nx {

DType type(const Tensor& x) { return x.type(); }
Shape shape(const Tensor& x) { return x.shape(); }
std::int64_t rank(const Tensor& x) { return x.rank(); }
std::int64_t size(const Tensor& x) { return x.size(); }

std::int64_t flat_size(const Tensor& x) {
  return element_count(detail::Access::checked(x, "flat_size").dims);
}

std::int64_t bit_size(const Tensor& x) { return flat_size(x) * bits_of(x.type()); }

std::int64_t byte_size(const Tensor& x) { return (bit_size(x) + 7) / 8; }

std::vector<Name> names(const Tensor& x) {
  const Names own = x.names();
  std::vector<Name> list(own.begin(), own.end());
  list.resize(at(x.rank()));
  return list;
}

std::vector<std::int64_t> axes(const Tensor& x) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < x.rank(); ++i) list.push_back(i);
  return list;
}

std::int64_t axis_index(const Tensor& x, const Axis& axis) {
  return axis.resolve("axis_index", x.rank(), x.names());
}

std::int64_t axis_size(const Tensor& x, const Axis& axis) {
  return x.shape()[at(axis.resolve("axis_size", x.rank(), x.names()))];
}

bool is_compatible(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || !(a.shape() == b.shape()) ||
      !(a.vectorized_axes() == b.vectorized_axes()))
    return false;
  const std::vector<Name> left = names(a), right = names(b);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!left[i].empty() && !right[i].empty() && !(left[i] == right[i])) return false;
  return true;
}

}  // namespace nx
