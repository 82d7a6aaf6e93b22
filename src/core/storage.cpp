// The life of a buffer: leases, claims and consumption.
#include "core/storage.h"

#include <fmt/format.h>

#include <cstring>
#include <thread>

namespace nx::detail {

std::string CallSite::to_string() const {
  return fmt::format("call #{} of {} ({}:{})", call, function->name, where.file, where.line);
}

bool CallRecord::has_failed() const noexcept {
  if (failed_.load(std::memory_order_acquire)) return true;
  const RunStatus* const status = status_.load(std::memory_order_acquire);
  return status != nullptr && status->has_failed();
}

void Storage::copy_to_host(void* to) const { std::memcpy(to, data_, bytes_); }

Storage::Outcome Storage::take(std::uint64_t add, bool exclusive) noexcept {
  std::uint64_t state = state_.load(std::memory_order_acquire);
  for (;;) {
    if (state & kConsumedBit) return Outcome::kConsumed;
    if (state & kReleasedBit) return Outcome::kReleased;
    if (state & kClaimedBit) {
      // A claim lasts only until its call has claimed the rest of its leaves or given up. All
      // callers take their leaves in one order of addresses, so this wait ends.
      std::this_thread::yield();
      state = state_.load(std::memory_order_acquire);
      continue;
    }
    if (exclusive && (state & kLeases) != 0) {
      if (leases(state, Lease::kTransfer) * one(Lease::kTransfer) != (state & kLeases))
        return Outcome::kLeased;
      std::this_thread::yield();  // the run that reads it is under way and ends
      state = state_.load(std::memory_order_acquire);
      continue;
    }
    if (state_.compare_exchange_weak(state, state + add, std::memory_order_acq_rel))
      return Outcome::kDone;
  }
}

Storage::Outcome Storage::try_lease(Lease kind) noexcept { return take(one(kind), false); }

void Storage::end_lease(Lease kind) noexcept {
  state_.fetch_sub(one(kind), std::memory_order_acq_rel);
}

Storage::Outcome Storage::try_claim() noexcept { return take(kClaimedBit, true); }

void Storage::abandon_claim() noexcept {
  state_.fetch_and(~kClaimedBit, std::memory_order_acq_rel);
}

void Storage::consume(std::shared_ptr<const CallRecord> record, std::uint32_t leaf) noexcept {
  record_ = std::move(record);
  leaf_ = leaf;
  state_.store(kConsumedBit, std::memory_order_release);
}

Storage::Outcome Storage::deallocate() noexcept {
  const Outcome outcome = take(kClaimedBit, true);
  if (outcome != Outcome::kDone) return outcome;
  state_.store(kReleasedBit, std::memory_order_release);
  free_memory();
  return Outcome::kDone;
}

Lease Storage::live_lease() const noexcept {
  const std::uint64_t state = state_.load(std::memory_order_acquire);
  for (const Lease kind : {Lease::kExport, Lease::kSpan})
    if (leases(state, kind) != 0) return kind;
  return Lease::kCall;
}

int Storage::live_leases() const noexcept {
  const std::uint64_t state = state_.load(std::memory_order_acquire);
  std::uint64_t count = 0;
  for (const Lease kind : {Lease::kCall, Lease::kSpan, Lease::kExport, Lease::kTransfer})
    count += leases(state, kind);
  return static_cast<int>(count);
}

void Storage::throw_gone(std::string_view operation, SourceLocation where) const {
  if (!is_consumed())
    throw ArgumentError(operation, "the buffer was deallocated; clone a tensor to keep it", where);
  const CallRecord* const record = record_.get();
  if (record == nullptr) throw DonatedError(operation, "the buffer was donated", where);
  const std::vector<std::string>& paths = record->site().function->paths;
  const std::string path = leaf_ < paths.size() ? paths[leaf_] : std::string("?");
  const std::string call = record->site().to_string();
  const std::string text =
      record->has_failed()
          ? fmt::format("`{}` was lost in failed {}", path, call)
          : fmt::format("`{}` was donated to {}; clone it before that call to keep it", path, call);
  throw DonatedError(operation, text, where);
}

}  // namespace nx::detail
