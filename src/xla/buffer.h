// A buffer on a device of a client: transfers, liveness, address. Move only; knows nothing of
// donation, which is a matter of the call that consumes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "nx/dtype.h"
#include "nx/shape.h"
#include "xla/client.h"

struct PJRT_Buffer;
struct PJRT_Event;

namespace nx::xla {

/// Destroying it gives the memory back once work queued on it has ended. In a forked child nothing
/// is destroyed.
class Buffer {
 public:
  Buffer() noexcept = default;
  /// Takes the handle over.
  Buffer(Client& client, PJRT_Buffer* handle) noexcept;
  Buffer(Buffer&& other) noexcept
      : client_(other.client_), handle_(std::exchange(other.handle_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(client_, other.client_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Buffer() {
    if (handle_ != nullptr) destroy();
  }

  /// Copies row-major elements to a device; `data` may be changed as soon as this returns. Types
  /// below a byte are given one element a byte, as they lie in host memory. The plugin never keeps
  /// a reference to `data`.
  static Buffer from_host(Client& client, int device, const void* data, DType type,
                          std::span<const std::int64_t> dims);
  /// The same without waiting, and without a copy where the device can read `data` as it lies: it
  /// must not change until the plugin drops its reference to it, at the latest when the buffer is
  /// destroyed and the runs that read it have ended.
  static Buffer from_shared(Client& client, int device, std::shared_ptr<const void> data,
                            DType type, std::span<const std::int64_t> dims);

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  PJRT_Buffer* handle() const noexcept { return handle_; }
  Client& client() const noexcept { return *client_; }
  /// Gives the handle up to the caller, who destroys it.
  PJRT_Buffer* release() noexcept;

  DType dtype() const;
  Dims dims() const;
  /// Bytes on the device; types below a byte may be packed there.
  std::size_t device_bytes() const;
  int device() const;
  /// True once a call has taken the memory over, or free_memory was called.
  bool is_deleted() const;
  /// The device's address of the first byte; for comparing, and on the CPU for reading. Throws
  /// BackendError for a deleted buffer. Equal addresses of live buffers mean the same memory.
  void* device_pointer() const;
  /// The event of the value's being there, which may outlive the buffer; the caller destroys it.
  PJRT_Event* ready_event() const;
  /// Returns when the value is there. Reports the error of the computation that made it.
  void wait() const;
  /// True when the computation that was to make the value has failed; waits for it. False where
  /// that cannot be known.
  bool is_lost() const noexcept;
  /// Copies all elements row-major to `to`, `bytes` long (one byte an element for types below a
  /// byte), and waits. Reports the error of the computation that made the value. The caller keeps
  /// other threads from donating the buffer meanwhile.
  void read(void* to, std::size_t bytes) const;
  /// Gives the memory back now, and keeps the handle: is_deleted becomes true.
  void free_memory();

 private:
  void transfer_to_host(const Dims& shape, void* to, std::size_t bytes) const;
  void destroy() noexcept;
  Client* client_ = nullptr;
  PJRT_Buffer* handle_ = nullptr;
};

/// PJRT's number of an element type, and back. The latter throws BackendError for a type that has
/// no counterpart (i1, tokens, other 8-bit floats).
int pjrt_type_of(DType type) noexcept;
DType dtype_of_pjrt(int type, const char* operation);

}  // namespace nx::xla
