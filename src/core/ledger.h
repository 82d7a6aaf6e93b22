// Counters behind nx::memory::stats, one set for each platform. Whoever makes a storage counts it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nx::detail {

struct Ledger {
  std::atomic<std::size_t> live{0};
  std::atomic<std::size_t> peak{0};
  std::atomic<std::size_t> cached{0};
  std::atomic<std::uint64_t> allocations{0};

  void add(std::size_t bytes) noexcept {
    const std::size_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    allocations.fetch_add(1, std::memory_order_relaxed);
    std::size_t seen = peak.load(std::memory_order_relaxed);
    while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }
  void remove(std::size_t bytes) noexcept { live.fetch_sub(bytes, std::memory_order_relaxed); }
};

/// Platform 0 is the host, 1 is XLA.
Ledger& ledger_of(std::uint16_t platform) noexcept;

}  // namespace nx::detail
