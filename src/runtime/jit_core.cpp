// The cache of a jitted function: key to slot, made once, bounded, and able to say why it missed.
#include <fmt/format.h>

#include <atomic>
#include <list>
#include <unordered_map>

#include "graph/op_row.h"
#include "graph/trace.h"
#include "runtime/slot.h"

namespace nx {
namespace runtime {

using detail::Access;
using detail::Body;

LeafKey LeafKey::of(const Tensor& tensor) {
  LeafKey key;
  key.mark = Access::mark(tensor);
  if (const Body* const body = Access::body(tensor)) {
    key.type = body->type;
    key.dims = body->dims;
    if (body->labels) {
      key.names = body->labels->names;
      key.vector_axes = body->labels->vector_axes;
    }
  }
  return key;
}

bool LeafKey::matches(const Tensor& tensor) const {
  const Body* const body = Access::body(tensor);
  if (body == nullptr || body->type != type || mark != Access::mark(tensor) ||
      !(body->dims == dims))
    return false;
  if (body->labels == nullptr) return names.empty() && vector_axes.empty();
  return body->labels->names == names && body->labels->vector_axes == vector_axes;
}

std::string LeafKey::to_string() const {
  std::string text(name_of(type));
  for (const VectorAxis& axis : vector_axes)
    text += fmt::format("<{}: {}>", axis.name.view(), axis.size);
  text += '[';
  const std::size_t first = vector_axes.size();
  for (std::size_t i = first; i < dims.size(); ++i) {
    if (i > first) text += ", ";
    if (!names.empty() && !names[i - first].empty())
      text += fmt::format("{}: ", names[i - first].view());
    text += fmt::format("{}", dims[i]);
  }
  return text + (mark ? "] [donatable]" : "]");
}

std::uint64_t hash_key(const detail::KeyVisitor& key) {
  std::uint64_t h = key.leaves.size();
  for (const detail::JitLeaf& leaf : key.leaves) {
    const Body* const body = Access::body(*leaf.tensor);
    if (body == nullptr) continue;
    h = graph::mix_hash(h, (static_cast<std::uint64_t>(body->type) << 1) |
                               static_cast<std::uint64_t>(Access::mark(*leaf.tensor)));
    for (const std::int64_t size : body->dims)
      h = graph::mix_hash(h, static_cast<std::uint64_t>(size));
  }
  for (const std::uint64_t bits : key.statics) h = graph::mix_hash(h, bits);
  return h;
}

namespace {

using detail::JitSlot;
using detail::KeyVisitor;
using detail::TraceClient;
using SlotPtr = std::shared_ptr<JitSlot>;

std::string leaf_path(const std::vector<std::string>& paths, std::size_t i) {
  return i < paths.size() ? paths[i] : fmt::format("leaf {}", i);
}

class Core final : public detail::JitCore {
 public:
  Core(JitOptions options, std::string name)
      : options_(std::move(options)), name_(std::move(name)) {}

  SlotPtr find(const KeyVisitor& key, TraceClient& client, SourceLocation where) override {
    const std::uint64_t hash = hash_key(key);
    SlotPtr slot;
    bool creator = false;
    {
      const std::lock_guard lock(mutex_);
      slot = lookup(key, hash);
      if (slot != nullptr) {
        ++stats_.hits;
      } else {
        slot = insert(key, client, hash);
        creator = true;
      }
      slot->last_use = ++clock_;
      last_ = slot;
    }
    if (creator) {
      create(slot, key, client, where);
    } else {
      await(*slot, where);
    }
    return slot;
  }

  SlotPtr compile(const KeyVisitor& key, TraceClient& client, SourceLocation where) override {
    auto slot = make_slot(key, hash_key(key));
    build_slot(*slot, key, client, options_, name_, where);
    slot->ready = true;
    slot->done = true;
    const std::lock_guard lock(mutex_);
    last_ = slot;
    return slot;
  }

  void check_same(const JitSlot& slot, const KeyVisitor& key, TraceClient& client,
                  SourceLocation where) const override {
    if (slot.matches(key)) return;
    const std::vector<std::string> paths = client.paths();
    if (key.leaves.size() != slot.leaves.size())
      throw ArgumentError(name_, fmt::format("compiled for {} leaves, called with {}",
                                             slot.leaves.size(), key.leaves.size()), where);
    std::string problems;
    bool shapes = false, types = false, others = false;
    for (std::size_t i = 0; i < key.leaves.size(); ++i) {
      const Tensor& tensor = *key.leaves[i].tensor;
      if (slot.leaves[i].matches(tensor)) continue;
      const LeafKey got = LeafKey::of(tensor);
      if (!tensor.has_value()) {
        problems += fmt::format("\n  `{}`: expected {}, got an empty tensor", paths[i],
                                slot.leaves[i].to_string());
        others = true;
      } else if (got.mark != slot.leaves[i].mark) {
        problems += fmt::format("\n  `{}`: compiled {}donatable, called {}", paths[i],
                                slot.leaves[i].mark ? "as " : "as not ",
                                got.mark ? "as donatable" : "without");
        others = true;
      } else {
        problems += fmt::format("\n  `{}`: expected {}, got {}", paths[i],
                                slot.leaves[i].to_string(), got.to_string());
        (got.type != slot.leaves[i].type ? types : shapes) = true;
      }
    }
    if (problems.empty())
      throw ArgumentError(name_, "a static part of an argument (a number, a size, a key) differs "
                                 "from what the function was compiled for", where);
    const std::string text = "the arguments do not fit the compiled function:" + problems;
    if (others) throw ArgumentError(name_, text, where);
    if (types) throw DTypeError(name_, text, where);
    throw ShapeError(name_, text, where);
  }

  void run(JitSlot& slot, std::span<const detail::JitLeaf> leaves,
           std::span<Tensor* const> results, SourceLocation where) override {
    const std::uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
    const CallOutcome outcome = call_slot(slot, leaves, results, call, where);
    if (slot.any_consumed) count(outcome);
  }

  const void* prototype(const JitSlot& slot) const noexcept override {
    return slot.prototype.get();
  }
  DonationReport donation_report(const JitSlot& slot) const override { return slot.report; }
  std::string text(const JitSlot& slot) const override { return slot.executable->to_string(); }

  SlotPtr last_slot() const override {
    const std::lock_guard lock(mutex_);
    if (last_ == nullptr || !last_->ready)
      throw ArgumentError(name_, "not called yet: there is no executable to report on");
    return last_;
  }
  CacheStats cache() const override {
    const std::lock_guard lock(mutex_);
    CacheStats stats = stats_;
    stats.entries = slots_.size();
    stats.bytes = bytes();
    return stats;
  }
  void clear_cache() override {
    const std::lock_guard lock(mutex_);
    slots_.clear();
    last_.reset();
  }
  std::string explain_recompile() const override {
    const std::lock_guard lock(mutex_);
    return explanation_;
  }
  CallCounters counters() const override {
    const std::lock_guard lock(mutex_);
    CallCounters all = counters_;
    all.calls = calls_.load();
    return all;
  }
  CallCounters last_call() const override {
    const std::lock_guard lock(mutex_);
    return last_call_;
  }

 private:
  static SlotPtr make_slot(const KeyVisitor& key, std::uint64_t hash) {
    auto slot = std::make_shared<JitSlot>();
    for (const detail::JitLeaf& leaf : key.leaves)
      slot->leaves.push_back(LeafKey::of(*leaf.tensor));
    slot->statics = key.statics;
    slot->hash = hash;
    slot->creator = std::this_thread::get_id();
    return slot;
  }

  SlotPtr lookup(const KeyVisitor& key, std::uint64_t hash) const {
    const auto [first, end] = slots_.equal_range(hash);
    for (auto at = first; at != end; ++at)
      if (at->second->matches(key)) return at->second;
    return nullptr;
  }

  SlotPtr insert(const KeyVisitor& key, TraceClient& client, std::uint64_t hash) {
    ++stats_.misses;
    SlotPtr slot = make_slot(key, hash);
    if (last_ != nullptr) explanation_ = explain(*last_, *slot, client.paths());
    slots_.emplace(hash, slot);
    return slot;
  }

  static std::string explain(const JitSlot& old, const JitSlot& now,
                             const std::vector<std::string>& paths) {
    if (old.leaves.size() != now.leaves.size())
      return fmt::format("expected {} leaves, got {}", old.leaves.size(), now.leaves.size());
    for (std::size_t i = 0; i < now.leaves.size(); ++i) {
      const std::string before = old.leaves[i].to_string(), after = now.leaves[i].to_string();
      if (before != after)
        return fmt::format("`{}` was {}, is now {}", leaf_path(paths, i), before, after);
    }
    return "a static part of an argument (a number, a size, a key) differs";
  }

  void create(const SlotPtr& slot, const KeyVisitor& key, TraceClient& client,
              SourceLocation where) {
    std::exception_ptr failure;
    try {
      build_slot(*slot, key, client, options_, name_, where);
    } catch (...) {
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex_);
      if (failure) {
        remove(slot);
      } else {
        evict(slot->executable->own_bytes());
      }
    }
    {
      const std::lock_guard lock(slot->mutex);
      slot->failure = failure;
      slot->ready = !failure;
      slot->done.store(true, std::memory_order_release);
    }
    slot->changed.notify_all();
    if (failure) std::rethrow_exception(failure);
  }

  /// Waits until another thread has made the slot.
  void await(JitSlot& slot, SourceLocation where) const {
    if (slot.done.load(std::memory_order_acquire) && slot.ready) return;
    if (slot.creator == std::this_thread::get_id() && !slot.done.load())
      throw TraceError(name_, "the function calls itself with the arguments it is being traced "
                              "for", where);
    std::unique_lock lock(slot.mutex);
    slot.changed.wait(lock, [&] { return slot.done.load(); });
    if (slot.failure) std::rethrow_exception(slot.failure);
  }

  void remove(const SlotPtr& slot) {
    const auto [first, end] = slots_.equal_range(slot->hash);
    for (auto at = first; at != end; ++at)
      if (at->second == slot) {
        slots_.erase(at);
        break;
      }
    if (last_ == slot) last_.reset();
  }

  std::size_t bytes() const {
    std::size_t total = 0;
    for (const auto& [hash, slot] : slots_)
      if (slot->done.load(std::memory_order_acquire) && slot->executable)
        total += slot->executable->own_bytes();
    return total;
  }

  /// Drops the least recently used entries while there are too many, never the newest, which is
  /// not done yet and of `newest` bytes.
  void evict(std::size_t newest) {
    while (slots_.size() > 1 && (slots_.size() > options_.cache_entries ||
                                 bytes() + newest > options_.cache_bytes)) {
      auto oldest = slots_.end();
      for (auto at = slots_.begin(); at != slots_.end(); ++at) {
        if (!at->second->done.load() || at->second == last_) continue;
        if (oldest == slots_.end() || at->second->last_use < oldest->second->last_use) oldest = at;
      }
      if (oldest == slots_.end()) return;
      slots_.erase(oldest);
      ++stats_.evictions;
    }
  }

  void count(const CallOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    last_call_ = {1, outcome.aliased, outcome.freed, outcome.copied, outcome.protected_};
    counters_.aliased += outcome.aliased;
    counters_.freed += outcome.freed;
    counters_.copied += outcome.copied;
    counters_.protected_ += outcome.protected_;
  }

  const JitOptions options_;
  const std::string name_;
  mutable std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, SlotPtr> slots_;
  SlotPtr last_;
  std::uint64_t clock_ = 0;
  CacheStats stats_;
  std::string explanation_ = "nothing was recompiled";
  CallCounters counters_, last_call_;
  std::atomic<std::uint64_t> calls_{0};
};

std::string default_name(SourceLocation where) {
  const std::string_view file = where.file;
  return fmt::format("jit at {}:{}", file.substr(file.rfind('/') + 1), where.line);
}

JitOptions& process_options() {
  static auto* const options = new JitOptions;
  return *options;
}
std::mutex& process_options_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

}  // namespace
}  // namespace runtime

JitOptions default_options() {
  const std::lock_guard lock(runtime::process_options_mutex());
  return runtime::process_options();
}

void set_default_options(JitOptions options) {
  const std::lock_guard lock(runtime::process_options_mutex());
  runtime::process_options() = std::move(options);
}

namespace detail {

bool JitSlot::matches(const KeyVisitor& key) const {
  if (key.leaves.size() != leaves.size() || !(key.statics == statics)) return false;
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!leaves[i].matches(*key.leaves[i].tensor)) return false;
  return true;
}

std::shared_ptr<JitCore> JitCore::make(JitOptions options, SourceLocation where) {
  std::string name = options.name.empty() ? runtime::default_name(where) : options.name;
  return std::make_shared<runtime::Core>(std::move(options), std::move(name));
}

Tensor placeholder() {
  static const Tensor* const held = new Tensor(Access::make_template(DType::f32, {}));
  return *held;
}

void wait_for(const Tensor& tensor) {
  const Body* const body = Access::body(tensor);
  if (body != nullptr && body->content == Content::kBuffer && body->storage->is_alive())
    body->storage->wait();
}

bool is_tracing() noexcept { return graph::current_trace() != nullptr; }

Tensor inlined_argument(const Tensor& argument) {
  return graph::emit(graph::kAlias, {Access::with_mark(argument, false)}, {}, {},
                     Access::body(argument) ? Access::body(argument)->labels : nullptr);
}

}  // namespace detail
}  // namespace nx
