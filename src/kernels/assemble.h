// Kernels that put arrays together or take blocks out of them: concatenate, pad, and slices whose
// starts are values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>

#include "kernels/tile.h"

namespace nx::kernels {

/// Inputs are joined along `axis`.
std::unique_ptr<PreparedKernel> prepare_concatenate(std::span<const ArraySpec> parts,
                                                    std::size_t axis);
/// Inputs: the array and a scalar. Negative `low` and `high` cut off.
std::unique_ptr<PreparedKernel> prepare_pad(const ArraySpec& in, const Dims& low, const Dims& high,
                                            const Dims& interior);
/// Inputs: the array and one scalar start for each axis, of type `start`; clamped.
std::unique_ptr<PreparedKernel> prepare_dynamic_slice(const ArraySpec& in, const Dims& lengths,
                                                      std::span<const DType> starts);
/// Inputs: the array, the update, starts. Output 0 may be the array itself.
std::unique_ptr<PreparedKernel> prepare_put_slice(const ArraySpec& in, const Dims& update,
                                                  std::span<const DType> starts);

/// An integer of any type as an index (u64 beyond s64 becomes its largest value).
template <class T>
constexpr std::int64_t as_index(T value) noexcept {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(value, static_cast<std::uint64_t>(kMost)));
  } else {
    return static_cast<std::int64_t>(value);
  }
}
std::int64_t read_index(DType type, const void* at, std::int64_t i = 0) noexcept;

}  // namespace nx::kernels
