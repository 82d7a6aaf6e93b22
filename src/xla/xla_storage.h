// A tensor's buffer on a PJRT device. Counted by the ledger of platform 1 for as long as its memory
// is its own: until it is freed, destroyed, or taken over by a result.
#pragma once

#include <atomic>

#include "core/storage.h"
#include "xla/buffer.h"

namespace nx::xla {

/// The platform number of all PJRT devices. Ordinals count devices, 64 for each client.
inline constexpr std::uint16_t kPlatform = 1;
inline constexpr std::uint16_t kDevicesPerClient = 64;

class XlaStorage final : public detail::Storage {
 public:
  /// `bytes` are those of the elements in host memory. The device may see another type or dims of
  /// the same width, where the buffer lies in a donated one's memory; `address` when it is known.
  XlaStorage(detail::DeviceId device, std::size_t bytes, Buffer buffer,
             const void* address = nullptr, detail::CallSite made_by = {}) noexcept;
  ~XlaStorage() override { uncount(); }

  const Buffer& buffer() const noexcept { return buffer_; }
  /// Both wait for the value. Throw BackendError; when the run that was to make it has failed, that
  /// names its call (R18).
  void copy_to_host(void* to) const override;
  void wait() const override;
  /// The address on the device; for a buffer that has none (empty, or gone) the storage's own.
  const void* identity() const noexcept override;
  void free_memory() noexcept override;
  /// A result has taken the memory over.
  void give_up() noexcept { uncount(); }

 private:
  bool uncount() noexcept;
  /// From within a handler of `error`.
  [[noreturn]] void throw_lost(const BackendError& error) const;

  Buffer buffer_;
  detail::CallSite made_by_;
  mutable std::atomic<const void*> address_;
  std::atomic<bool> counted_{true};
};

}  // namespace nx::xla
