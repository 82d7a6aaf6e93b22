// Positions along an axis as values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nx/dtype.h"

namespace nx::kernels {

/// Elements [first, first + count) of an array of `type`, of which each holds its index along an
/// axis: there are `size` of them, each `inner` times over, again and again. Integers wrap.
void fill_iota(DType type, std::int64_t size, std::int64_t inner, std::int64_t first,
               std::size_t count, void* to);

}  // namespace nx::kernels
