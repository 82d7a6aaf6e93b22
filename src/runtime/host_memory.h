// Host memory: blocks from a caching allocator, and the storage that owns one and can hand it to a
// successor (donation).
#pragma once

#include <functional>

#include "core/storage.h"

namespace nx::runtime {

/// A piece of host memory and how it is given back.
struct Block {
  void* data = nullptr;
  std::size_t capacity = 0;                       // 0 with external memory
  std::function<void()>* deleter = nullptr;       // external, owned
};

/// 64-byte aligned. Throws BackendError when the system has no more memory.
Block allocate_block(std::size_t bytes);
void free_block(Block block) noexcept;

class HostStorage final : public detail::Storage {
 public:
  HostStorage(Block block, std::size_t bytes, const char* foreign = nullptr) noexcept;
  ~HostStorage() override;
  const char* foreign_owner() const noexcept override { return foreign_; }
  /// True for memory that the caller made and gave us.
  bool is_adopted() const noexcept { return block_.deleter != nullptr; }
  void free_memory() noexcept override;
  /// A successor on the memory of `from`, which has none afterwards.
  HostStorage(HostStorage& from, std::size_t bytes) noexcept;

 private:
  Block block_;
  const char* foreign_;
};

detail::Storage* allocate_host(std::size_t bytes);
detail::Storage* adopt_host(void* data, std::size_t bytes, std::function<void()> deleter,
                            const char* kind);
/// A storage on the memory of `consumed`, which must be a HostStorage with at least these bytes.
detail::Storage* take_over_host(detail::Storage& consumed, std::size_t bytes);

}  // namespace nx::runtime
