// The mark, deallocation, copies, and the donation report as a table.
#include "nx/donation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/body.h"
#include "graph/dispatch.h"
#include "graph/match.h"
#include "graph/trace.h"

namespace nx {

using detail::Access;
using detail::Body;
using detail::Content;

namespace detail {

Tensor marked(const Tensor& tensor, bool mark) {
  // On a traced node the mark changes nothing (R1); it is an attribute of parameters there (R3).
  return tensor.is_traced() ? tensor : Access::with_mark(tensor, mark);
}

bool is_marked(const Tensor& tensor) noexcept {
  if (!tensor.is_traced()) return Access::mark(tensor);
  const graph::Node* const node = graph::producer(tensor);
  if (node == nullptr || !node->row->is(graph::kParameter)) return false;
  for (const graph::Parameter& p : graph::current_trace()->graph().parameters)
    if (p.node == Access::body(tensor)->node) return p.donatable;
  return false;
}

}  // namespace detail

Deallocated deallocate(const Tensor& tensor) {
  const Body& body = Access::checked(tensor, "deallocate");
  if (body.content != Content::kBuffer)
    throw ArgumentError("deallocate", "expected a tensor with a buffer, got a template or a "
                                      "traced tensor");
  switch (body.storage->deallocate()) {
    case detail::Storage::Outcome::kDone: return Deallocated::freed;
    case detail::Storage::Outcome::kLeased:
      throw ArgumentError("deallocate", "the buffer is lent out (a host span, an export or a call "
                                        "in flight)");
    default: return Deallocated::already_deallocated;
  }
}

Tensor clone(const Tensor& tensor) {
  const Body& body = Access::checked(tensor, "clone");
  if (body.content != Content::kBuffer) return Access::with_mark(tensor, false);
  const detail::HostRead read(tensor, "clone");
  detail::Storage* const copy = graph::dispatch().allocate(body.storage->bytes());
  if (body.storage->bytes() > 0) std::memcpy(copy->data(), read.data(), body.storage->bytes());
  return Access::make_buffer(body.type, body.dims, copy, body.labels);
}

std::int64_t DonationReport::saved_bytes() const {
  std::int64_t bytes = 0;
  for (const DonationRow& row : rows)
    if (row.partner != "freed") bytes += row.bytes;
  return bytes;
}

std::string DonationReport::to_string() const {
  std::size_t leaf = 4, partner = 7, kind = 4;
  for (const DonationRow& row : rows) {
    leaf = std::max(leaf, row.leaf.size());
    partner = std::max(partner, row.partner.size());
    kind = std::max(kind, row.kind.size());
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>12}  {}\n", "leaf", leaf, "partner",
                                 partner, "kind", kind, "bytes", "reason");
  for (const DonationRow& row : rows)
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>12}  {}\n", row.leaf, leaf, row.partner,
                        partner, row.kind, kind, row.bytes, row.reason);
  return text + fmt::format("arguments {} + results {} - aliased {} + temporaries {} = peak {} "
                            "bytes; saved {}\n",
                            argument_bytes, result_bytes, aliased_bytes, temporary_bytes,
                            argument_bytes + result_bytes - aliased_bytes + temporary_bytes,
                            saved_bytes());
}

std::string CallCounters::to_string() const {
  constexpr const char* kRow = "{:>10}  {:>10}  {:>10}  {:>10}  {:>10}\n";
  return fmt::format(kRow, "calls", "aliased", "freed", "copied", "protected") +
         fmt::format(kRow, calls, aliased, freed, copied, protected_);
}

}  // namespace nx
