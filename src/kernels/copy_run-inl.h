// The innermost loop of walks through strides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace nx::kernels {

/// `count` elements that lie `stride` apart, to contiguous memory.
template <class T>
void copy_run(const T* from, std::int64_t stride, std::int64_t count, T* to) noexcept {
  if (stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
  } else if (stride == 0) {
    std::fill_n(to, count, *from);
  } else if (stride == -1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[-i];  // vectors, reversed
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
}

}  // namespace nx::kernels
