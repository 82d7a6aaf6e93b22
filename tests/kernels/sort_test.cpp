// Sorting along an axis against std::stable_sort, for every type, length and direction.
#include "kernels/sort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "nx/element.h"

namespace nx::kernels {
namespace {

template <class T>
std::vector<T> numbers(std::size_t count, std::uint32_t seed) {
  std::vector<T> list;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    // Few enough for ties, with both signs and values that need all bits.
    const int small = static_cast<int>(seed >> 24) - 100;
    if constexpr (std::is_integral_v<T>)
      list.push_back(static_cast<T>(seed >> 31 ? small : static_cast<T>(seed * 2654435761u)));
    else list.push_back(T(static_cast<float>(small) / 8));
  }
  if constexpr (!std::is_integral_v<T>) {
    for (std::size_t i = 7; i < count; i += 13)
      list[i] = T(std::numeric_limits<float>::quiet_NaN());
    for (std::size_t i = 3; i < count; i += 17) list[i] = T(i % 2 ? -0.0f : 0.0f);
    for (std::size_t i = 5; i < count; i += 19) list[i] = T(i % 2 ? -INFINITY : INFINITY);
  }
  return list;
}

/// Whether a comes before b, NaN being larger than every number.
template <class T>
bool comes_before(T a, T b, bool descending) {
  const bool a_nan = a != a, b_nan = b != b;
  if (a_nan || b_nan) return descending ? a_nan && !b_nan : b_nan && !a_nan;
  return descending ? b < a : a < b;
}

template <class T>
void check(std::size_t outer, std::size_t count, std::size_t inner, bool descending) {
  const auto in = numbers<T>(outer * count * inner, 77);
  const Dims dims{static_cast<std::int64_t>(outer), static_cast<std::int64_t>(count),
                  static_cast<std::int64_t>(inner)};
  std::vector<T> values(in.size());
  std::vector<std::int32_t> indices(in.size());
  for (const bool as_indices : {false, true}) {
    const auto kernel = prepare_sort({DTypeOf<T>::kType, dims}, {1, descending, as_indices});
    std::vector<std::uint64_t> scratch(kernel->scratch_bytes() / 8 + 1);
    const void* const from[] = {in.data()};
    void* const to[] = {as_indices ? static_cast<void*>(indices.data()) : values.data()};
    kernel->run({from, to, scratch.data(), nullptr, as_indices ? 2 : 1});
  }
  for (std::size_t line = 0; line < outer * inner; ++line) {
    const std::size_t base = line / inner * count * inner + line % inner;
    std::vector<std::int32_t> want(count);
    std::iota(want.begin(), want.end(), 0);
    std::stable_sort(want.begin(), want.end(), [&](std::int32_t a, std::int32_t b) {
      return comes_before(in[base + static_cast<std::size_t>(a) * inner],
                          in[base + static_cast<std::size_t>(b) * inner], descending);
    });
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t at = base + i * inner;
      ASSERT_EQ(indices[at], want[i]) << "place " << i << " of line " << line;
      const T expected = in[base + static_cast<std::size_t>(want[i]) * inner];
      ASSERT_TRUE(values[at] == expected || (values[at] != values[at] && expected != expected));
    }
  }
}

template <class T>
void check_all() {
  for (const bool descending : {false, true}) {
    for (const std::size_t count : {0u, 1u, 2u, 17u, 255u, 256u, 1000u})
      check<T>(2, count, 1, descending);
    check<T>(3, 300, 2, descending);
    check<T>(1, 20000, 1, descending);
    check<T>(0, 5, 3, descending);
  }
}

TEST(Sort, is_stable_for_integers_of_every_width) {
  check_all<std::uint8_t>();
  check_all<std::int8_t>();
  check_all<std::uint16_t>();
  check_all<std::int16_t>();
  check_all<std::uint32_t>();
  check_all<std::int32_t>();
  check_all<std::uint64_t>();
  check_all<std::int64_t>();
}

TEST(Sort, is_stable_for_floats_with_zeros_of_both_signs_infinities_and_nan) {
  check_all<float>();
  check_all<double>();
  check_all<BFloat16>();
  check_all<Float16>();
}

}  // namespace
}  // namespace nx::kernels
