// Iota against one element at a time: every type, every length, from every place.
#include "kernels/iota.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "kernels/elementwise.h"
#include "nx/element.h"

namespace nx::kernels {
namespace {

constexpr DType kTypes[] = {DType::u2,  DType::u4,  DType::u8,  DType::u16,       DType::u32,
                            DType::u64, DType::s2,  DType::s4,  DType::s8,        DType::s16,
                            DType::s32, DType::s64, DType::f8,  DType::f8_e4m3fn, DType::bf16,
                            DType::f16, DType::f32, DType::f64, DType::c64,       DType::c128};

template <class T>
T element_of(DType type, std::int64_t index) {
  if constexpr (std::is_integral_v<T>) {
    const int unused = 64 - bits_of(type);
    const auto low = static_cast<std::uint64_t>(index) << unused;
    return static_cast<T>(is_unsigned(type) ? static_cast<std::int64_t>(low >> unused)
                                            : static_cast<std::int64_t>(low) >> unused);
  } else if constexpr (std::is_same_v<T, double> || sizeof(T) == 16) {
    return T(static_cast<double>(index));
  } else {
    return T(static_cast<float>(index));
  }
}

void check(DType type, std::int64_t size, std::int64_t inner, std::int64_t first,
           std::size_t count) {
  visit_element(type, [&](auto element) {
    using T = decltype(element);
    std::vector<T> got(count + 1, T(3)), expected(count + 1, T(3));
    for (std::size_t i = 0; i < count; ++i)
      expected[i] = element_of<T>(type, (first + static_cast<std::int64_t>(i)) / inner % size);
    fill_iota(type, size, inner, first, count, got.data());
    ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(T)), 0)
        << name_of(type) << " size " << size << " inner " << inner << " first " << first
        << " count " << count;
  });
}

TEST(Iota, every_length_from_every_place_has_the_elements_of_one_by_one) {
  for (const DType type : kTypes)
    for (const std::int64_t size : {1, 2, 7, 33, 1000})
      for (const std::int64_t inner : {1, 2, 5, 40})
        for (std::size_t count = 0; count <= 70; ++count) {
          const std::int64_t first = static_cast<std::int64_t>(count) * 37 % (2 * size * inner);
          check(type, size, inner, first, count);
        }
}

TEST(Iota, long_runs_wrap_and_round_as_conversion_does) {
  for (const DType type : kTypes) {
    check(type, 70000, 1, 0, 70000);
    check(type, 70000, 3, 65000, 1500);
    // Beyond 32 bits, and where f32 has no more odd numbers.
    check(type, 40000000000, 1, (std::int64_t{1} << 32) - 300, 700);
    check(type, 40000000000, 1, (std::int64_t{1} << 24) - 300, 700);
    check(type, 2000000000, 1, (std::int64_t{1} << 24) - 300, 700);
    check(type, 2147483647, 1, 2147483647 - 300, 700);
    check(type, 2147483648, 2, 4294967296 - 300, 700);
  }
}

}  // namespace
}  // namespace nx::kernels
