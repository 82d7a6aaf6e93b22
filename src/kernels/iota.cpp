// Iota as runs: of one index repeated, or of indices that follow one another.
#include "kernels/iota.h"

#include <algorithm>
#include <complex>
#include <limits>

#include "kernels/elementwise.h"
#include "nx/element.h"

namespace nx::kernels {
namespace {

/// The index as an element, with integers wrapped.
template <class T, class Index>
T as_element(Index index) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<T>(index);
  else return T(static_cast<std::conditional_t<sizeof(T) == 16, double, float>>(index));
}

template <class T, class Index>
void count_up(Index from, std::size_t count, T* to) {
  for (std::size_t i = 0; i < count; ++i)
    to[i] = as_element<T>(static_cast<Index>(from + static_cast<Index>(i)));
}

template <class T>
void fill(std::int64_t size, std::int64_t inner, std::int64_t first, std::size_t count, T* to) {
  std::int64_t index = first / inner % size, within = first % inner;
  // Processors convert integers of 32 bits to floats in vectors, those of 64 seldom.
  const bool is_small = size <= std::numeric_limits<std::int32_t>::max();
  while (count > 0) {
    const auto run =
        std::min(count, static_cast<std::size_t>(inner == 1 ? size - index : inner - within));
    if (inner > 1) std::fill_n(to, run, as_element<T>(index++));
    else if (is_small) count_up(static_cast<std::int32_t>(index), run, to);
    else count_up(index, run, to);
    if (inner == 1 || index == size) index = 0;
    within = 0;
    to += run;
    count -= run;
  }
}

/// By way of f32, from which whole runs are narrowed at once.
void fill_narrow(DType type, std::int64_t size, std::int64_t inner, std::int64_t first,
                 std::size_t count, std::byte* to) {
  constexpr std::size_t kChunk = 256;
  float wide[kChunk];
  while (count > 0) {
    const std::size_t run = std::min(count, kChunk);
    fill(size, inner, first, run, wide);
    narrow_floats(type, wide, to, run);
    first += static_cast<std::int64_t>(run);
    to += run * byte_size_of(type);
    count -= run;
  }
}

}  // namespace

void fill_iota(DType type, std::int64_t size, std::int64_t inner, std::int64_t first,
               std::size_t count, void* to) {
  if (count == 0) return;
  if (is_narrow_float(type))
    return fill_narrow(type, size, inner, first, count, static_cast<std::byte*>(to));
  visit_element(type, [&](auto element) {
    using T = decltype(element);
    fill(size, inner, first, count, static_cast<T*>(to));
  });
  if (is_subbyte(type)) wrap_subbyte(type, to, count);
}

}  // namespace nx::kernels
