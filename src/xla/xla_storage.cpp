// Counting, freeing, and the address by which memory is recognised.
#include "xla/xla_storage.h"

#include <fmt/format.h>

#include "core/ledger.h"
#include "nx/error.h"

namespace nx::xla {

XlaStorage::XlaStorage(detail::DeviceId device, std::size_t bytes, Buffer buffer,
                       const void* address, detail::CallSite made_by) noexcept
    : Storage(device, bytes, nullptr),
      buffer_(std::move(buffer)),
      made_by_(std::move(made_by)),
      address_(address) {
  detail::ledger_of(kPlatform).add(bytes);
}

bool XlaStorage::uncount() noexcept {
  if (!counted_.load(std::memory_order_relaxed) || !counted_.exchange(false)) return false;
  detail::ledger_of(kPlatform).remove(bytes());
  return true;
}

void XlaStorage::copy_to_host(void* to) const {
  try {
    buffer_.read(to, bytes());
  } catch (const BackendError& error) {
    throw_lost(error);
  }
}

void XlaStorage::wait() const {
  try {
    buffer_.wait();
  } catch (const BackendError& error) {
    throw_lost(error);
  }
}

void XlaStorage::throw_lost(const BackendError& error) const {
  if (made_by_.function == nullptr || !buffer_.is_lost()) throw;
  throw BackendError("transfer", fmt::format("the result was lost in failed {}: {}",
                                             made_by_.to_string(), error.what()));
}

const void* XlaStorage::identity() const noexcept {
  const void* address = address_.load(std::memory_order_relaxed);
  if (address != nullptr) return address;
  try {
    if (bytes() != 0) address = buffer_.device_pointer();
  } catch (const Error&) {
    // Gone, or in a forked child: nothing can share its memory any more.
  }
  if (address == nullptr) address = this;
  address_.store(address, std::memory_order_relaxed);
  return address;
}

void XlaStorage::free_memory() noexcept {
  if (!uncount()) return;  // taken over or freed already
  try {
    buffer_.free_memory();
  } catch (const Error&) {
    // Destroying the buffer gives the memory back.
  }
}

}  // namespace nx::xla
