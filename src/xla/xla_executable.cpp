// One call. What is donated is asked by address before it and after it; nothing is allocated but
// the results' storages.
#include "xla/xla_executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/ledger.h"
#include "nx/error.h"
#include "xla/pjrt.h"
#include "xla/xla_storage.h"

namespace nx::xla {
namespace {

using detail::Storage;
using graph::CallFrame;
using graph::DonationPair;
using graph::InputMode;

// The plugin's own structures and machine code, which it does not report, for each program.
constexpr std::size_t kProgramBytes = std::size_t{48} << 10;

const XlaStorage& storage_at(const CallFrame& frame, std::size_t input) noexcept {
  return static_cast<const XlaStorage&>(*frame.inputs[input]);
}
XlaStorage& mutable_storage_at(const CallFrame& frame, std::size_t input) noexcept {
  return static_cast<XlaStorage&>(*frame.inputs[input]);
}

/// Places for results, on the stack when they are few.
class Results {
 public:
  explicit Results(std::size_t count) : count_(count) {
    if (count > few_.size()) many_.resize(count);
  }
  std::span<Buffer> span() noexcept {
    return {count_ > few_.size() ? many_.data() : few_.data(), count_};
  }

 private:
  std::size_t count_;
  std::array<Buffer, 16> few_;
  std::vector<Buffer> many_;
};

/// The end of a run that was queued, by one of its results (R18).
class QueuedRun final : public detail::RunStatus {
 public:
  QueuedRun(const Client& client, const Buffer& result)
      : client_(client), ended_(result.ready_event()) {}
  ~QueuedRun() override {
    if (client_.is_foreign_process()) return;
    auto args = make_args<PJRT_Event_Destroy_Args>();
    args.event = ended_;
    discard(client_.api(), client_.api().PJRT_Event_Destroy(&args));
  }
  bool has_failed() const noexcept override {
    if (client_.is_foreign_process()) return false;
    auto args = make_args<PJRT_Event_Await_Args>();
    args.event = ended_;
    PJRT_Error* const error = client_.api().PJRT_Event_Await(&args);
    discard(client_.api(), error);
    return error != nullptr;
  }

 private:
  const Client& client_;
  PJRT_Event* ended_;
};

/// The answer to a question that plugins need not answer.
template <class Ask>
std::optional<std::invoke_result_t<Ask>> told(Ask&& ask) {
  try {
    return ask();
  } catch (const BackendError&) {
    return std::nullopt;
  }
}

std::string text_of(std::span<const DonationPair> pairs) {
  std::string text;
  for (const DonationPair& pair : pairs)
    text += fmt::format("{}{} -> {}", text.empty() ? "" : ", ", pair.parameter, pair.output);
  return text.empty() ? "none" : text;
}

}  // namespace

XlaExecutable::XlaExecutable(Parts parts) : parts_(std::move(parts)) {
  check_alias_table();
  paired_.resize(parts_.parameters);
  for (const DonationPair& pair : parts_.pairs) paired_[pair.parameter] = true;
  MemoryStats known;  // without the plugin's own figures
  for (const std::size_t bytes : parts_.output_bytes) known.results += bytes;
  for (const DonationPair& pair : parts_.pairs) known.aliased += parts_.output_bytes[pair.output];
  const MemoryStats stats = told([&] { return parts_.program.memory(); }).value_or(known);
  memory_ = {stats.arguments, stats.results, stats.aliased, stats.temporaries};
  own_bytes_ = sizeof *this + parts_.stablehlo.size() + stats.code + kProgramBytes;
}

void XlaExecutable::check_alias_table() const {
  const auto table = told([&] { return parts_.program.alias_table(); });
  if (!table) return;  // every call asks the leaves anyway
  std::vector<DonationPair> made;
  for (const Alias& alias : *table)
    made.push_back({alias.parameter, alias.output});
  std::vector<DonationPair> asked = parts_.pairs;
  const auto by_output = [](const DonationPair& a, const DonationPair& b) {
    return a.output < b.output;
  };
  std::sort(asked.begin(), asked.end(), by_output);
  const bool same = std::equal(asked.begin(), asked.end(), made.begin(), made.end(),
                               [](const DonationPair& a, const DonationPair& b) {
                                 return a.parameter == b.parameter && a.output == b.output;
                               });
  if (!same)
    throw InternalError(parts_.function,
                        fmt::format("the plugin aliases other leaves than it was asked to; "
                                    "expected {}, got {} (leaf -> result)",
                                    text_of(asked), text_of(made)));
}

void XlaExecutable::refuse_foreign(std::size_t input) const {
  throw InternalError(parts_.function,
                      fmt::format("argument {} lies on another device than the program", input));
}

void XlaExecutable::run(CallFrame& frame) const {
  const std::size_t count = frame.inputs.size();
  InlineVector<PJRT_Buffer*, 32> arguments(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (frame.inputs[i]->device() != parts_.device) [[unlikely]]
      refuse_foreign(i);
    arguments[i] = storage_at(frame, i).buffer().handle();
  }
  InlineVector<std::int64_t, 32> protected_inputs;
  Addresses addresses;  // of donated leaves with a partner, in order of pairs
  for (const DonationPair& pair : parts_.pairs) {
    const bool donated = frame.modes[pair.parameter] == InputMode::kDonated;
    if (!donated) protected_inputs.push_back(pair.parameter);
    addresses.push_back(donated ? storage_at(frame, pair.parameter).identity() : nullptr);
  }
  Results results(parts_.output_bytes.size());
  const std::span<Buffer> made = results.span();
  const bool watched = frame.record != nullptr && parts_.completion == Completion::kAsync;
  try {
    // Without a result nobody could tell how the run ended.
    xla::run(parts_.program, arguments, made,
             {.protected_inputs = protected_inputs,
              .completion = watched && made.empty() ? Completion::kWait : parts_.completion});
    // A result's event costs a fifth of the run's own.
    if (watched && !made.empty())
      frame.record->watch(std::make_unique<QueuedRun>(parts_.program.client(), made[0]));
    account_leaves(frame, made, addresses, !protected_inputs.empty());
  } catch (const BackendError& error) {
    throw BackendError(parts_.function, error.what());
  }

  make_storages(frame, made, addresses);
  // Temporaries are the plugin's; the ledger sees them as a workspace that is gone again.
  if (memory_.temporaries != 0) {
    detail::Ledger& ledger = detail::ledger_of(kPlatform);
    ledger.add(memory_.temporaries);
    ledger.remove(memory_.temporaries);
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (frame.modes[i] != InputMode::kDonated || paired_[i]) continue;
    mutable_storage_at(frame, i).free_memory();
    ++frame.freed;
  }
}

/// Every leaf that was to be taken over is asked whether it is gone, and its partner whether it
/// lies where the leaf lay. The address of one that does not is forgotten.
void XlaExecutable::account_leaves(CallFrame& frame, std::span<const Buffer> results,
                                   Addresses& addresses, bool any_protected) const {
  for (std::size_t k = 0; k < parts_.pairs.size(); ++k) {
    const DonationPair& pair = parts_.pairs[k];
    if (addresses[k] == nullptr) {
      ++frame.copied;
      continue;
    }
    XlaStorage& leaf = mutable_storage_at(frame, pair.parameter);
    bool taken_over = leaf.buffer().is_deleted();
    if (taken_over) {
      leaf.give_up();
      // Where the plugin tells no address nothing is proven, and it counts as a copy.
      const auto address = told([&] { return results[pair.output].device_pointer(); });
      taken_over = address && *address == addresses[k];
    } else if (!any_protected) {
      // A plugin may only be able to protect all leaves or none; the runtime then frees the rest.
      throw InternalError(parts_.function,
                          fmt::format("the plugin copied donated argument {} instead of writing "
                                      "over it: somebody else holds a reference to its buffer",
                                      pair.parameter));
    }
    if (!taken_over) addresses[k] = nullptr;
    ++(taken_over ? frame.aliased : frame.copied);
  }
}

void XlaExecutable::make_storages(CallFrame& frame, std::span<Buffer> made,
                                  const Addresses& addresses) const {
  detail::CallSite site = frame.function == nullptr
                                    ? detail::CallSite()
                                    : detail::CallSite{*frame.function, frame.call, frame.where};
  InlineVector<const void*, 16> at(made.size(), nullptr);
  for (std::size_t k = 0; k < parts_.pairs.size(); ++k) at[parts_.pairs[k].output] = addresses[k];
  std::size_t o = 0;
  try {
    for (; o < made.size(); ++o)
      frame.outputs[o] = new XlaStorage(parts_.device, parts_.output_bytes[o], std::move(made[o]),
                                        at[o], o + 1 < made.size() ? site : std::move(site));
  } catch (...) {
    while (o-- > 0) std::exchange(frame.outputs[o], nullptr)->release();
    throw;
  }
}

std::string XlaExecutable::to_string() const {
  return fmt::format(
      "{}// bytes: arguments {}, results {}, aliased {}, temporaries {}\n"
      "// aliased (leaf -> result): {}\n",
      parts_.stablehlo, memory_.arguments, memory_.results, memory_.aliased, memory_.temporaries,
      text_of(parts_.pairs));
}

}  // namespace nx::xla
