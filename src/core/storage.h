// A buffer on some device, and its life: alive, leased, claimed, consumed, released. What donation
// promises (R7, R13 to R18) is built on the one atomic word here. How memory is obtained lies to
// the right of this folder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nx/dtype.h"
#include "nx/error.h"
#include "nx/shape.h"

namespace nx::detail {

/// Where a buffer lies. Platform 0 is host memory; others are numbered by the runtime.
struct DeviceId {
  std::uint16_t platform = 0;
  std::uint16_t ordinal = 0;
  bool is_host() const noexcept { return platform == 0; }
  friend bool operator==(const DeviceId&, const DeviceId&) = default;
};

/// Who may lend a buffer out, as named in messages. A transfer is a device reading the memory where
/// it lies, for a call that has returned: it ends by itself, and a claim waits for it.
enum class Lease : std::uint8_t { kCall, kSpan, kExport, kTransfer };

/// A compiled function as messages name it; shared by all of its calls.
struct CalledFunction {
  std::string name;
  std::vector<std::string> paths;  // by leaf
};

/// One call, as messages name it.
struct CallSite {
  std::shared_ptr<const CalledFunction> function;  // null: no call
  std::uint64_t call = 0;
  SourceLocation where;
  std::string to_string() const;  // call #3 of f (main.cpp:12)
};

/// How a run ends that was still under way when its call returned.
class RunStatus {
 public:
  virtual ~RunStatus() = default;
  /// Waits for the end. False where that cannot be known, as in a forked child.
  virtual bool has_failed() const noexcept = 0;
};

/// What is said of a consumed buffer: the call that took it. One for a call, shared by its leaves.
class CallRecord {
 public:
  CallRecord(std::shared_ptr<const CalledFunction> function, std::uint64_t call,
             SourceLocation where)
      : site_{std::move(function), call, where} {}
  CallRecord(const CallRecord&) = delete;
  CallRecord& operator=(const CallRecord&) = delete;
  ~CallRecord() { delete status_.load(std::memory_order_acquire); }

  const CallSite& site() const noexcept { return site_; }
  void set_failed() noexcept { failed_.store(true, std::memory_order_release); }
  /// The run goes on; `status` knows how it ends. At most once.
  void watch(std::unique_ptr<const RunStatus> status) noexcept {
    status_.store(status.release(), std::memory_order_release);
  }
  /// R18. Waits for a run under way.
  bool has_failed() const noexcept;

 private:
  CallSite site_;
  std::atomic<bool> failed_{false};
  std::atomic<const RunStatus*> status_{nullptr};
};

class Storage {
 public:
  enum class Outcome : std::uint8_t { kDone, kConsumed, kReleased, kLeased };

  Storage(DeviceId device, std::size_t bytes, void* host_data) noexcept
      : device_(device), bytes_(bytes), data_(host_data) {}
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;
  virtual ~Storage() = default;

  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  // The only holder needs no locked instruction here, nor in the next two: nobody is left who could
  // come by another reference.
  void release() noexcept {
    if (!is_shared() || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  bool is_shared() const noexcept { return refs_.load(std::memory_order_acquire) > 1; }
  std::uint32_t references() const noexcept { return refs_.load(std::memory_order_acquire); }

  DeviceId device() const noexcept { return device_; }
  std::size_t bytes() const noexcept { return bytes_; }
  /// The address of host memory; null for a device whose memory the host cannot read.
  void* data() const noexcept { return data_; }
  /// Copies all bytes to host memory, after work queued on the buffer has ended.
  virtual void copy_to_host(void* to) const;
  /// Returns when work queued on the buffer has ended; throws what it failed with.
  virtual void wait() const {}
  /// Something that is equal for two storages exactly when they use the same device memory.
  virtual const void* identity() const noexcept { return data_; }
  /// Empty for memory we own; else what makes it not ours ("borrowed memory", "a memory map").
  virtual const char* foreign_owner() const noexcept { return nullptr; }
  /// Gives the memory back now (deallocate); handles stay, reading them throws.
  virtual void free_memory() noexcept = 0;

  // A lease keeps the memory from being claimed; a claim is exclusive and precedes consumption.
  Outcome try_lease(Lease kind) noexcept;
  void end_lease(Lease kind) noexcept;
  Outcome try_claim() noexcept;
  void abandon_claim() noexcept;
  /// Ends a claim: the buffer is consumed by leaf `leaf` of the call. Every handle is then dead.
  void consume(std::shared_ptr<const CallRecord> record, std::uint32_t leaf) noexcept;
  /// `deallocate`: kDone when this call freed it; kReleased or kConsumed when it was gone already.
  Outcome deallocate() noexcept;

  bool is_alive() const noexcept { return (state_.load(std::memory_order_acquire) & kGone) == 0; }
  bool is_consumed() const noexcept {
    return (state_.load(std::memory_order_acquire) & kConsumedBit) != 0;
  }
  /// The kind of a live lease, for messages; meaningful after kLeased.
  Lease live_lease() const noexcept;
  int live_leases() const noexcept;
  /// Throws DonatedError (who took it, R7; lost in a failed call, R18) or ArgumentError
  /// (deallocated) for a buffer that is gone.
  [[noreturn]] void throw_gone(std::string_view operation, SourceLocation where = {}) const;
  const CallRecord* record() const noexcept { return record_.get(); }

  // How many tensors (not handles) share this memory: R15.
  void add_tensor() noexcept {
    if (is_shared()) tensors_.fetch_add(1, std::memory_order_relaxed);
    else tensors_.store(tensors() + 1, std::memory_order_relaxed);
  }
  void drop_tensor() noexcept {
    if (is_shared()) tensors_.fetch_sub(1, std::memory_order_relaxed);
    else tensors_.store(tensors() - 1, std::memory_order_relaxed);
  }
  std::uint32_t tensors() const noexcept { return tensors_.load(std::memory_order_acquire); }

 protected:
  virtual void destroy() noexcept { delete this; }
  void* data_mutable() noexcept { return data_; }
  void set_data(void* data) noexcept { data_ = data; }

 private:
  static constexpr std::uint64_t kClaimedBit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kConsumedBit = std::uint64_t{1} << 62;
  static constexpr std::uint64_t kReleasedBit = std::uint64_t{1} << 61;
  static constexpr std::uint64_t kGone = kConsumedBit | kReleasedBit;
  static constexpr std::uint64_t kLeases = (std::uint64_t{1} << 60) - 1;
  static constexpr int kLeaseBits = 15;
  static constexpr std::uint64_t one(Lease kind) noexcept {
    return std::uint64_t{1} << (kLeaseBits * static_cast<int>(kind));
  }
  static constexpr std::uint64_t leases(std::uint64_t state, Lease kind) noexcept {
    return state >> (kLeaseBits * static_cast<int>(kind)) & ((1u << kLeaseBits) - 1);
  }
  Outcome take(std::uint64_t add, bool exclusive) noexcept;

  std::atomic<std::uint32_t> refs_{1};
  std::atomic<std::uint32_t> tensors_{0};
  std::atomic<std::uint64_t> state_{0};
  DeviceId device_;
  std::uint32_t leaf_ = 0;
  std::size_t bytes_;
  void* data_;
  std::shared_ptr<const CallRecord> record_;
};

/// A lease for the length of a scope. Throws like throw_gone when the buffer is gone.
class ScopedLease {
 public:
  ScopedLease() = default;
  ScopedLease(Storage& storage, Lease kind, std::string_view operation)
      : storage_(&storage), kind_(kind) {
    if (storage.try_lease(kind) != Storage::Outcome::kDone) storage.throw_gone(operation);
    storage.retain();
  }
  ScopedLease(ScopedLease&& other) noexcept : storage_(other.storage_), kind_(other.kind_) {
    other.storage_ = nullptr;
  }
  ScopedLease& operator=(ScopedLease&& other) noexcept {
    std::swap(storage_, other.storage_);
    std::swap(kind_, other.kind_);
    return *this;
  }
  ~ScopedLease() {
    if (storage_ == nullptr) return;
    storage_->end_lease(kind_);
    storage_->release();
  }
  Storage* storage() const noexcept { return storage_; }

 private:
  Storage* storage_ = nullptr;
  Lease kind_ = Lease::kSpan;
};

}  // namespace nx::detail
