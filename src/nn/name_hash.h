// Names as numbers, for keys that depend on the parameter alone and not on its neighbours.
#pragma once

#include <cstdint>
#include <string_view>

namespace nx::nn::detail_nn {

/// The first four bytes of the MD5 digest, most significant first, as in the reference.
std::uint32_t name_hash(std::string_view text);

}  // namespace nx::nn::detail_nn
