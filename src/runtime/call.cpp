// One call of a compiled function. The order is the contract: check everything, reserve, claim all
// donated buffers at once, and only then consume and run (R7, R13 to R18).
#include <fmt/format.h>

#include <algorithm>

#include "runtime/host_memory.h"
#include "runtime/slot.h"

namespace nx::runtime {
namespace {

using detail::Access;
using detail::Body;
using detail::Content;
using detail::JitSlot;
using detail::Lease;
using detail::Storage;
using graph::InputMode;

/// An input of the call: the argument's buffer, and the one the executable gets (a copy when the
/// argument lies on another device).
struct Input {
  Storage* storage = nullptr;
  Storage* used = nullptr;
  InputMode mode = InputMode::kRead;
  bool donated = false;   // to be consumed by this call
  bool held = false;      // claimed or leased by this call
};

class Call {
 public:
  Call(JitSlot& slot, std::span<const detail::JitLeaf> leaves, std::uint64_t number,
       SourceLocation where)
      : slot_(slot), leaves_(leaves), number_(number), where_(where) {}
  ~Call() {
    for (std::size_t i = 0; i < count_; ++i) {
      if (inputs_[i].held) let_go(inputs_[i]);
      if (inputs_[i].used != inputs_[i].storage && inputs_[i].used) inputs_[i].used->release();
    }
  }

  CallOutcome run(std::span<Tensor* const> results) {
    slot_.compiler->check_usable();
    gather();
    if (any_donated_) {
      sort_inputs();
      check_donated();
    }
    transfer();
    slot_.executable->reserve();
    std::shared_ptr<detail::CallRecord> record;
    if (any_donated_) {
      record = std::make_shared<detail::CallRecord>(slot_.function, number_, where_);
    }
    take_all();
    return execute(results, record);
  }

 private:
  const std::string& name() const { return slot_.function->name; }
  const std::string& path(std::size_t i) const { return slot_.function->paths[i]; }
  [[noreturn]] void refuse(const std::string& what) const {
    throw ArgumentError(name(), what, where_);
  }

  void gather() {
    count_ = leaves_.size() + slot_.captured.size();
    inputs_.assign(count_, Input());
    for (std::size_t i = 0; i < leaves_.size(); ++i) gather_leaf(i);
    for (std::size_t k = 0; k < slot_.captured.size(); ++k) {
      Input& input = inputs_[leaves_.size() + k];
      input.storage = Access::body(slot_.captured[k])->storage;
      input.used = Access::body(slot_.captured_on_device[k])->storage;
      if (input.used != input.storage) input.used->retain();
    }
  }

  void gather_leaf(std::size_t i) {
    const Body& body = *Access::body(*leaves_[i].tensor);
    if (body.content != Content::kBuffer) {
      if (body.content == Content::kTemplate)
        refuse(fmt::format("`{}` is a template; expected a tensor with values", path(i)));
      throw TraceError(name(), fmt::format("`{}` belongs to a trace that has ended", path(i)),
                       where_);
    }
    Input& input = inputs_[i];
    input.storage = body.storage;
    input.used = body.storage;
    switch (slot_.consumes[i]) {
      case Consumes::kNever: return;
      case Consumes::kMarked: input.donated = true; break;
      case Consumes::kWhenMoved:
        // Nobody else can observe it: one handle, one tensor.
        input.donated = leaves_[i].moved && body.refs.load(std::memory_order_acquire) == 1 &&
                        !body.storage->is_shared() && body.storage->foreign_owner() == nullptr;
        if (!input.donated && slot_.paired[i]) {
          input.mode = InputMode::kProtected;
          ++outcome_.protected_;
        }
        break;
    }
    if (input.donated) {
      input.mode = InputMode::kDonated;
      any_donated_ = true;
    }
  }

  void check_donated() {
    check_repeated();
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      Input& input = inputs_[i];
      if (!input.donated) continue;
      if (!input.storage->is_alive()) input.storage->throw_gone(name(), where_);
      if (const char* const owner = input.storage->foreign_owner())
        refuse(fmt::format("`{}` cannot be donated: it is {}", path(i), owner));
      if (input.storage->tensors() > 1) check_shared(i);
    }
  }

  /// By the address of their buffers, then by position.
  void sort_inputs() {
    order_.assign(count_, 0);
    for (std::uint32_t i = 0; i < count_; ++i) order_[i] = i;
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
      const Storage *const first = inputs_[a].storage, *const second = inputs_[b].storage;
      return first == second ? a < b : std::less<>()(first, second);
    });
  }

  /// R13, R16: one buffer twice, at least once donated.
  void check_repeated() const {
    for (std::size_t k = 1; k < count_; ++k) {
      std::size_t i = order_[k - 1], j = order_[k];
      if (inputs_[i].storage != inputs_[j].storage) continue;
      if (!inputs_[i].donated) std::swap(i, j);
      if (inputs_[i].donated)
        refuse(fmt::format("`{}` is donated and is the same buffer as `{}`; clone one of them",
                           path(i), path(j)));
    }
  }

  /// R15: another tensor shares the memory.
  void check_shared(std::size_t i) {
    Input& input = inputs_[i];
    if (slot_.policy == DonationPolicy::strict)
      refuse(fmt::format("`{}` ({}) cannot be donated: it shares its memory with {} other "
                         "tensor(s), such as one made by reshape or rename; clone it first",
                         path(i), leaf_text(i), input.storage->tensors() - 1));
    input.donated = false;
    input.mode = slot_.paired[i] ? InputMode::kProtected : InputMode::kRead;
    if (!slot_.paired[i]) ++outcome_.copied;  // the executable counts those it would have aliased
  }

  std::string leaf_text(std::size_t i) const {
    const Body& body = *Access::body(*leaves_[i].tensor);
    return nx::to_string(body.type, body.dims);
  }

  /// Memory that the caller made and gave us, such as a data set, may be read where it lies. Our
  /// own is copied: lent, the batches of all queued runs would stay alive beside each other. So is
  /// borrowed memory: its owner may write to it as soon as the call has returned.
  static bool may_lend(const Input& input) {
    return !input.donated && input.storage->device().is_host() &&
           static_cast<const HostStorage&>(*input.storage).is_adopted();
  }

  /// Arguments on another device are copied to the executable's.
  void transfer() {
    const detail::DeviceId device = slot_.compiler->device();
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      Input& input = inputs_[i];
      if (input.storage->device() == device) continue;
      const Body& body = *Access::body(*leaves_[i].tensor);
      const graph::TensorType type{body.type, body.dims};
      if (may_lend(input)) {
        const detail::ScopedLease lease(*input.storage, Lease::kCall, name());
        input.used = slot_.compiler->from_storage(*input.storage, type);
        continue;
      }
      const detail::HostRead read(Access::with_mark(*leaves_[i].tensor, false), "jit");
      input.used = slot_.compiler->from_host(read.data(), type);
    }
  }

  /// Claims and leases in the order of addresses, so that two calls never wait for each other.
  void take_all() {
    if (!any_donated_) {
      for (std::size_t i = 0; i < count_; ++i) take(i);
      return;
    }
    for (const std::uint32_t i : order_) take(i);
  }

  void take(std::size_t i) {
    Input& input = inputs_[i];
    const Storage::Outcome outcome =
        input.donated ? input.storage->try_claim() : input.storage->try_lease(Lease::kCall);
    switch (outcome) {
      case Storage::Outcome::kDone: input.held = true; return;
      case Storage::Outcome::kLeased: refuse_leased(i);
      default: input.storage->throw_gone(fmt::format("{}: `{}`", name(), path(i)), where_);
    }
  }

  [[noreturn]] void refuse_leased(std::size_t i) const {
    const char* who = "";
    switch (inputs_[i].storage->live_lease()) {
      case Lease::kCall: who = "a call in flight on another thread reads it"; break;
      case Lease::kSpan: who = "a host span of it is held"; break;
      case Lease::kTransfer: break;  // a claim waits for it
      case Lease::kExport: who = "it is exported (to_pointer or DLPack)"; break;
    }
    refuse(fmt::format("`{}` cannot be donated: {}", path(i), who));
  }

  static void let_go(Input& input) {
    if (input.donated) input.storage->abandon_claim();
    else input.storage->end_lease(Lease::kCall);
    input.held = false;
  }

  CallOutcome execute(std::span<Tensor* const> results,
                      const std::shared_ptr<detail::CallRecord>& record) {
    InlineVector<Storage*, 32> used(count_), made(slot_.results.size());
    InlineVector<InputMode, 32> modes(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      used[i] = inputs_[i].used;
      modes[i] = inputs_[i].mode;
      if (inputs_[i].donated && slot_.keep_on_failure)
        modes[i] = slot_.paired[i] ? InputMode::kProtected : InputMode::kRead;
    }
    const Addresses addresses = addresses_of(modes);
    if (!slot_.keep_on_failure) consume(record);
    graph::CallFrame frame{used, modes, {made.data(), made.size()}};
    frame.function = &slot_.function;
    frame.call = number_;
    frame.where = where_;
    frame.record = record.get();
    try {
      slot_.executable->run(frame);
      check_aliased(frame, addresses);
    } catch (...) {
      if (record) record->set_failed();
      for (std::size_t i = 0; i < count_; ++i)
        if (inputs_[i].donated && !inputs_[i].held) inputs_[i].storage->free_memory();
      for (Storage* const result : made)
        if (result != nullptr) result->release();
      throw;
    }
    if (slot_.keep_on_failure) consume(record);
    for (std::size_t i = 0; i < count_; ++i)
      if (inputs_[i].donated) inputs_[i].storage->free_memory();
    for (std::size_t k = 0; k < results.size(); ++k) {
      const JitSlot::Result& r = slot_.results[k];
      *results[k] = Access::make_buffer(r.type, r.dims, made[k],
                                        r.labels.has_value() ? Access::body(r.labels)->labels
                                                             : nullptr);
    }
    outcome_.aliased = frame.aliased;
    outcome_.freed = frame.freed;
    outcome_.copied += frame.copied;
    return outcome_;
  }

  /// Where the leaves lie that this call hands over, by pair; null for others.
  using Addresses = InlineVector<const void*, 32>;
  Addresses addresses_of(std::span<const InputMode> modes) const {
    Addresses addresses;
    if (!any_donated_) return addresses;
    for (const graph::DonationPair& pair : slot_.pairs)
      addresses.push_back(modes[pair.parameter] == InputMode::kDonated
                              ? inputs_[pair.parameter].used->identity()
                              : nullptr);
    return addresses;
  }

  /// R21: what the executable says of the leaves, against the addresses of the results.
  void check_aliased(const graph::CallFrame& frame, const Addresses& addresses) const {
    std::uint32_t handed_over = 0, met = 0;
    for (std::size_t k = 0; k < addresses.size(); ++k) {
      if (addresses[k] == nullptr) continue;
      ++handed_over;
      met += frame.outputs[slot_.pairs[k].output]->identity() == addresses[k];
    }
    if (addresses.empty() || (met == frame.aliased && handed_over <= met + frame.copied)) return;
    throw InternalError(name(), fmt::format("the executable reports {} aliased and {} copied of {} "
                                            "donated leaves with a partner; by their addresses {} "
                                            "results lie where their leaves lay",
                                            frame.aliased, frame.copied, handed_over, met));
  }

  /// From here on the donated buffers are gone for everyone (R7).
  void consume(const std::shared_ptr<detail::CallRecord>& record) {
    if (!any_donated_) return;
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      if (!inputs_[i].donated) continue;
      inputs_[i].storage->consume(record, static_cast<std::uint32_t>(i));
      inputs_[i].held = false;
    }
  }

  JitSlot& slot_;
  std::span<const detail::JitLeaf> leaves_;
  std::uint64_t number_;
  SourceLocation where_;
  InlineVector<Input, 32> inputs_;
  InlineVector<std::uint32_t, 32> order_;  // when something is donated
  std::size_t count_ = 0;
  bool any_donated_ = false;
  CallOutcome outcome_;
};

}  // namespace

CallOutcome call_slot(JitSlot& slot, std::span<const detail::JitLeaf> leaves,
                      std::span<Tensor* const> results, std::uint64_t call, SourceLocation where) {
  return Call(slot, leaves, call, where).run(results);
}

}  // namespace nx::runtime
