// The ledger's counters and their public face.
#include "core/ledger.h"

#include <fmt/format.h>

#include "nx/error.h"
#include "nx/memory.h"

namespace nx {
namespace detail {

Ledger& ledger_of(std::uint16_t platform) noexcept {
  static Ledger* const ledgers = new Ledger[2];  // never destroyed: tensors may outlive statics
  return ledgers[platform == 0 ? 0 : 1];
}

}  // namespace detail

namespace memory {
namespace {

detail::Ledger& ledger_named(std::string_view device) {
  if (device == "host") return detail::ledger_of(0);
  if (device == "xla") return detail::ledger_of(1);
  throw ArgumentError("memory", fmt::format("unknown device; expected host or xla, got {}", device));
}

}  // namespace

Stats stats(std::string_view device) {
  const detail::Ledger& ledger = ledger_named(device);
  return {ledger.live.load(), ledger.peak.load(), ledger.cached.load(), ledger.allocations.load()};
}

void reset_peak(std::string_view device) {
  detail::Ledger& ledger = ledger_named(device);
  ledger.peak.store(ledger.live.load());
}

}  // namespace memory
}  // namespace nx
