// The caching allocator. Small blocks are kept by each thread, larger ones in one table by size.
#include "runtime/host_memory.h"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <new>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/ledger.h"
#include "nx/memory.h"

namespace nx::runtime {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmall = 1024;
constexpr std::size_t kSmallClasses = kSmall / kAlignment;
constexpr int kKeptSmall = 32;                                // for each class and thread
constexpr std::size_t kKeptLarge = std::size_t{256} << 20;    // bytes in all

// Trivially destructible, so tensors that die late are safe: once its thread has drained it, it
// stays closed and blocks go straight back.
struct SmallCache {
  void* blocks[kSmallClasses][kKeptSmall];
  int counts[kSmallClasses];
  bool armed;
  bool closed;
};
thread_local SmallCache small_cache;

/// Frees what an ending thread holds.
struct Drain {
  ~Drain() {
    small_cache.closed = true;
    for (std::size_t at = 0; at < kSmallClasses; ++at)
      while (small_cache.counts[at] > 0)
        std::free(small_cache.blocks[at][--small_cache.counts[at]]);
  }
};
void arm_drain() noexcept {
  static thread_local Drain drain;
  small_cache.armed = true;
}

struct LargeCache {
  std::mutex mutex;
  std::unordered_map<std::size_t, std::vector<void*>> by_size;
  std::size_t bytes = 0;
};

LargeCache& large_cache() {
  static auto* const cache = new LargeCache;  // never destroyed
  return *cache;
}

detail::Ledger& ledger() noexcept { return detail::ledger_of(0); }

std::size_t rounded(std::size_t bytes) noexcept {
  const std::size_t step = bytes <= kSmall ? kAlignment : bytes <= (1 << 16) ? 1024 : 4096;
  return bytes == 0 ? kAlignment : (bytes + step - 1) / step * step;
}

void* take_cached(std::size_t capacity) noexcept {
  if (capacity <= kSmall) {
    const std::size_t at = capacity / kAlignment - 1;
    if (small_cache.counts[at] == 0) return nullptr;
    return small_cache.blocks[at][--small_cache.counts[at]];
  }
  LargeCache& cache = large_cache();
  const std::lock_guard lock(cache.mutex);
  const auto found = cache.by_size.find(capacity);
  if (found == cache.by_size.end() || found->second.empty()) return nullptr;
  void* const data = found->second.back();
  found->second.pop_back();
  cache.bytes -= capacity;
  ledger().cached.store(cache.bytes, std::memory_order_relaxed);
  return data;
}

bool keep(void* data, std::size_t capacity) noexcept {
  if (capacity <= kSmall) {
    const std::size_t at = capacity / kAlignment - 1;
    if (small_cache.closed || small_cache.counts[at] == kKeptSmall) return false;
    if (!small_cache.armed) arm_drain();
    small_cache.blocks[at][small_cache.counts[at]++] = data;
    return true;
  }
  LargeCache& cache = large_cache();
  const std::lock_guard lock(cache.mutex);
  if (cache.bytes + capacity > kKeptLarge) return false;
  try {
    cache.by_size[capacity].push_back(data);
  } catch (const std::bad_alloc&) {
    return false;
  }
  cache.bytes += capacity;
  ledger().cached.store(cache.bytes, std::memory_order_relaxed);
  return true;
}

}  // namespace

Block allocate_block(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 62))
    throw BackendError("allocate", fmt::format("{} bytes is more than any machine has", bytes));
  const std::size_t capacity = rounded(bytes);
  void* data = take_cached(capacity);
  if (data == nullptr) data = std::aligned_alloc(kAlignment, capacity);
  if (data == nullptr && memory::trim() > 0) data = std::aligned_alloc(kAlignment, capacity);
  if (data == nullptr)
    throw BackendError("allocate", fmt::format("out of host memory; asked for {} bytes with {} "
                                               "bytes of tensors alive",
                                               bytes, ledger().live.load()));
  return {data, capacity, nullptr};
}

void free_block(Block block) noexcept {
  if (block.deleter != nullptr) {
    (*block.deleter)();
    delete block.deleter;
  } else if (block.data != nullptr && block.capacity != 0 && !keep(block.data, block.capacity)) {
    std::free(block.data);
  }
}

HostStorage::HostStorage(Block block, std::size_t bytes, const char* foreign) noexcept
    : Storage({}, bytes, block.data), block_(block), foreign_(foreign) {
  ledger().add(bytes);
}

HostStorage::~HostStorage() { free_memory(); }

void HostStorage::free_memory() noexcept {
  if (data() == nullptr) return;
  ledger().remove(bytes());
  set_data(nullptr);
  free_block(std::exchange(block_, {}));
}

HostStorage::HostStorage(HostStorage& from, std::size_t bytes) noexcept
    : Storage({}, bytes, from.data()), block_(std::exchange(from.block_, {})), foreign_(nullptr) {
  if (bytes != from.bytes()) {  // mostly there is nothing to count
    ledger().remove(from.bytes());
    ledger().add(bytes);
  }
  from.set_data(nullptr);
}

detail::Storage* allocate_host(std::size_t bytes) {
  return new HostStorage(allocate_block(bytes), bytes);
}

detail::Storage* adopt_host(void* data, std::size_t bytes, std::function<void()> deleter,
                            const char* kind) {
  const bool owned = static_cast<bool>(deleter);
  Block block{data, 0, nullptr};
  if (owned) block.deleter = new std::function<void()>(std::move(deleter));
  return new HostStorage(block, bytes, owned ? nullptr : kind);
}

detail::Storage* take_over_host(detail::Storage& consumed, std::size_t bytes) {
  auto& from = static_cast<HostStorage&>(consumed);
  return new HostStorage(from, bytes);
}

}  // namespace nx::runtime

namespace nx::memory {

std::size_t trim() {
  auto& cache = runtime::large_cache();
  const std::lock_guard lock(cache.mutex);
  const std::size_t bytes = cache.bytes;
  for (auto& [size, blocks] : cache.by_size)
    for (void* const data : blocks) std::free(data);
  cache.by_size.clear();
  cache.bytes = 0;
  runtime::ledger().cached.store(0, std::memory_order_relaxed);
  return bytes;
}

}  // namespace nx::memory
