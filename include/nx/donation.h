// layer: trace
// Donation: a caller promises "I am done with this buffer", and a compiled function writes a
// result on top of it. The promise is about that one buffer and that one call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nx/container.h"

namespace nx {

/// What a call does with a donated leaf that no output can take over.
enum class DonationPolicy : std::uint8_t {
  strict,   ///< ArgumentError when the function is compiled
  lenient,  ///< the leaf is consumed, and freed as soon as its last reader has run
};

namespace detail {
NX_API Tensor marked(const Tensor& tensor, bool mark);
NX_API bool is_marked(const Tensor& tensor) noexcept;
}  // namespace detail

/// Handles to the same buffers, every tensor leaf marked for donation; the argument stays as it
/// is. The mark is used up by the call of a jitted or compiled function that gets the handle.
///
///   s = step(nx::donatable(s), x, y);
template <Container T>
T donatable(T container) {
  detail::for_each_leaf(container, [](Tensor& t) { t = detail::marked(t, true); });
  return container;
}

/// True when there is a leaf and every leaf is marked. In a traced function a parameter keeps the
/// mark of its argument; no other traced tensor has one.
template <Container T>
bool is_donatable(const T& container) noexcept {
  bool any = false, all = true;
  detail::for_each_leaf(container, [&](const Tensor& t) {
    any = true;
    all = all && detail::is_marked(t);
  });
  return any && all;
}

/// What deallocating did.
enum class Deallocated : std::uint8_t { freed, already_deallocated };

/// Frees the buffer now; every handle to it is then dead. A consumed or deallocated tensor stays
/// as it is and the result says so. Throws ArgumentError while the buffer is lent out.
NX_API Deallocated deallocate(const Tensor& tensor);

/// A copy in a buffer of its own, unmarked.
NX_API Tensor clone(const Tensor& tensor);
template <Container T>
  requires(!std::same_as<T, Tensor>)
T clone(T container) {
  detail::for_each_leaf(container, [](Tensor& t) { t = clone(std::as_const(t)); });
  return container;
}

/// What became of one donated leaf when its function was compiled.
struct DonationRow {
  std::string leaf;       ///< path of the leaf in the arguments
  std::string partner;    ///< path of the output that takes over its memory, or "freed"
  std::string kind;       ///< "same", "in place, same path", … or "" when freed
  std::int64_t bytes = 0;
  std::string reason;     ///< why this partner, or why none
};

/// The static part: what the executable does with its donated leaves.
struct NX_API DonationReport {
  std::vector<DonationRow> rows;
  std::int64_t argument_bytes = 0, result_bytes = 0, aliased_bytes = 0, temporary_bytes = 0;
  /// Bytes that donation saves in one call: results that need no memory of their own, and leaves
  /// freed early.
  std::int64_t saved_bytes() const;
  /// The report as a table.
  std::string to_string() const;
};

/// The dynamic part: what one call, or all of them, did. `aliased` leaves gave their memory to a
/// result (proven by comparing addresses), `freed` ones had no partner, `copied` ones shared their
/// memory with a tensor that stays alive, `protected_` ones were left alone by policy.
struct NX_API CallCounters {
  std::uint64_t calls = 0, aliased = 0, freed = 0, copied = 0, protected_ = 0;
  /// The counters as a table of one row.
  std::string to_string() const;
};

}  // namespace nx
