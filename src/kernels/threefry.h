// The threefry-2x32 generator with 20 rounds (Salmon et al., 2011).
#pragma once

#include <memory>

#include "kernels/tile.h"

namespace nx::kernels {

struct ThreefrySpec {
  std::int64_t keys = 1;       // independent keys, each of two u32
  std::int64_t count = 0;      // words for each key
  bool own_counters = false;   // a second input has `count` counters for each key
};
/// Inputs: keys [keys, 2] and perhaps counters [keys, count]; output [keys, count] words. Without
/// counters they are 0 … count - 1, with a 0 more when count is odd. The first half of them is the
/// left word of each block, the second half the right one, and so are the words that come out.
std::unique_ptr<PreparedKernel> prepare_threefry(const ThreefrySpec& spec);

}  // namespace nx::kernels
