// Axes, sizes and offsets are signed, containers count unsigned: where the two meet.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nx {

/// `index`, which is not negative, as containers take it.
constexpr std::size_t at(std::int64_t index) noexcept { return static_cast<std::size_t>(index); }

}  // namespace nx
