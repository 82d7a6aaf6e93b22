// layer: core
// The ledger: how many bytes of tensors and workspaces are alive, and were at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "nx/config.h"

namespace nx::memory {

/// Bytes on one device. Tensors and workspaces are counted by what they asked for; what the
/// allocator keeps for reuse is `cached`.
struct Stats {
  std::size_t live = 0;
  std::size_t peak = 0;          ///< Largest `live` since the start or the last reset_peak.
  std::size_t cached = 0;
  std::uint64_t allocations = 0;
};

/// Counts of a device: "host" or "xla". Throws ArgumentError for another name.
NX_API Stats stats(std::string_view device = "host");
/// Lets `peak` begin anew at the present `live`.
NX_API void reset_peak(std::string_view device = "host");
/// Gives cached blocks of host memory back to the system; returns how many bytes.
NX_API std::size_t trim();

}  // namespace nx::memory
