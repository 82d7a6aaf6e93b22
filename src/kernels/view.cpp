// Walking positions in row-major order: only the innermost run is a template over the element's
// size.
#include "kernels/view.h"

#include <algorithm>
#include <cstring>

#include "kernels/copy_run-inl.h"

namespace nx::kernels {
namespace {

struct Bytes16 {
  std::uint64_t low, high;
};

/// Calls `f` with a value of the unsigned type of that size.
template <class F>
void visit_size(std::size_t element, F&& f) noexcept {
  switch (element) {
    case 1: return f(std::uint8_t{});
    case 2: return f(std::uint16_t{});
    case 4: return f(std::uint32_t{});
    case 8: return f(std::uint64_t{});
    default: return f(Bytes16{});
  }
}

/// A position in a view: the index of each axis and the offset they add up to.
struct Cursor {
  Dims index;
  std::int64_t offset;

  Cursor(const StridedView& view, std::int64_t flat)
      : index(view.dims.size()), offset(view.offset) {
    for (std::size_t a = view.dims.size(); a-- > 0;) {
      index[a] = flat % view.dims[a];
      flat /= view.dims[a];
      offset += index[a] * view.strides[a];
    }
  }
  /// To the next position of the axes before the last.
  void next_outer(const StridedView& view) noexcept {
    for (std::size_t a = view.dims.size() - 1; a-- > 0;) {
      offset += view.strides[a];
      if (++index[a] < view.dims[a]) return;
      offset -= index[a] * view.strides[a];
      index[a] = 0;
    }
  }
};

template <class T>
void gather_as(const StridedView& view, const T* base, std::int64_t first, std::int64_t count,
               T* to) noexcept {
  if (view.dims.empty()) {
    std::fill_n(to, count, base[view.offset]);
    return;
  }
  Cursor at(view, first);
  const std::int64_t inner = view.dims.back(), stride = view.strides.back();
  // The first run may begin within a row.
  std::int64_t run = std::min(inner - at.index.back(), count);
  copy_run(base + at.offset, stride, run, to);
  at.offset -= at.index.back() * stride;
  for (to += run, count -= run; count > 0; to += run, count -= run) {
    at.next_outer(view);
    run = std::min(inner, count);
    copy_run(base + at.offset, stride, run, to);
  }
}

}  // namespace

StridedView collapse(const StridedView& view) {
  StridedView result;
  result.offset = view.offset;
  for (std::size_t a = 0; a < view.dims.size(); ++a) {
    if (view.dims[a] == 1) continue;
    if (!result.dims.empty() && result.strides.back() == view.strides[a] * view.dims[a]) {
      result.dims.back() *= view.dims[a];
      result.strides.back() = view.strides[a];
    } else {
      result.dims.push_back(view.dims[a]);
      result.strides.push_back(view.strides[a]);
    }
  }
  return result;
}

bool reshape_view(const StridedView& view, const Dims& dims, StridedView& result) {
  const StridedView from = collapse(view);
  result = {dims, Dims(dims.size()), view.offset};
  std::size_t axis = from.dims.size();
  std::int64_t left = 1, stride = 0;  // what remains of the axis of `from` being split
  for (std::size_t a = dims.size(); a-- > 0;) {
    if (dims[a] == 1) continue;
    if (left == 1) {
      if (axis-- == 0) return false;
      left = from.dims[axis];
      stride = from.strides[axis];
    }
    if (dims[a] == 0 || left % dims[a] != 0) return false;
    result.strides[a] = stride;
    stride *= dims[a];
    left /= dims[a];
  }
  return left == 1 && axis == 0;
}

const void* contiguous_run(const StridedView& view, std::size_t element, const void* base,
                           std::int64_t first, std::int64_t count) noexcept {
  const auto* bytes = static_cast<const std::byte*>(base);
  if (view.dims.empty()) return count == 1 ? bytes + view.offset * std::int64_t(element) : nullptr;
  if (view.strides.back() != 1 || count > view.dims.back()) return nullptr;
  const Cursor at(view, first);
  if (at.index.back() + count > view.dims.back()) return nullptr;
  return bytes + at.offset * std::int64_t(element);
}

void gather_run(const StridedView& view, std::size_t element, const void* base, std::int64_t first,
                std::int64_t count, void* to) noexcept {
  visit_size(element, [&](auto type) {
    using T = decltype(type);
    gather_as(view, static_cast<const T*>(base), first, count, static_cast<T*>(to));
  });
}

void fill_run(std::size_t element, const void* value, std::int64_t count, void* to) noexcept {
  visit_size(element, [&](auto type) {
    using T = decltype(type);
    T one;
    std::memcpy(&one, value, sizeof(T));
    // By whole cache lines: the compiler's own loop stores a quarter of one at a time.
    constexpr std::int64_t kLine = 64 / sizeof(T);
    T line[kLine];
    std::fill_n(line, kLine, one);
    T* out = static_cast<T*>(to);
    for (; count >= kLine; count -= kLine, out += kLine) std::memcpy(out, line, sizeof(line));
    std::fill_n(out, count, one);
  });
}

void repeat_each(std::size_t element, const void* from, std::int64_t count, std::int64_t times,
                 void* to) noexcept {
  visit_size(element, [&](auto type) {
    using T = decltype(type);
    const T* const values = static_cast<const T*>(from);
    T* out = static_cast<T*>(to);
    for (std::int64_t i = 0; i < count; ++i) {
      const T value = values[i];
      for (std::int64_t k = 0; k < times; ++k) out[k] = value;
      out += times;
    }
  });
}

}  // namespace nx::kernels
