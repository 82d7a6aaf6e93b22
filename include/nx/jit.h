// layer: trace
// jit and compile: a C++ function over tensors becomes a compiled program.
//
//   auto f = nx::jit([](nx::Tensor x) { return nx::sum(x * x); });
//   f(a);  f(b);   // traced and compiled once for each set of types, shapes, names and marks
//
// The function runs once for each such set, on traced tensors. Tensors it captures become hidden
// inputs, read when it is traced: changing the captured variable later has no effect. Numbers
// inside containers are part of what is compiled; a number as an argument becomes an s32 or f32
// tensor.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nx/donation.h"

namespace nx {

struct JitOptions {
  std::string name = {};              ///< In messages; default: the place of the jit call.
  std::string compiler = {};          ///< "host" or "xla"; default: default_options, NX_COMPILER.
  std::string plugin = {};            ///< xla: path of a PJRT plugin; default: found by itself.
  DonationPolicy donation = DonationPolicy::strict;
  bool donate_moved = false;          ///< Donate rvalue arguments that nobody else holds (R12).
  bool keep_on_failure = false;       ///< Keep donated leaves alive through a failing call (R18).
  std::size_t cache_entries = 256;    ///< Executables kept, least recently used go first.
  std::size_t cache_bytes = std::size_t{256} << 20;
};

/// The options that functions use whose own leave `compiler` empty; read and set for the process.
NX_API JitOptions default_options();
NX_API void set_default_options(JitOptions options);

struct CacheStats {
  std::uint64_t hits = 0, misses = 0, evictions = 0;
  std::size_t entries = 0, bytes = 0;
};

namespace detail {

struct JitLeaf {
  const Tensor* tensor;
  bool moved;  // passed as an rvalue
};
using JitLeaves = InlineVector<JitLeaf, 16>;
using JitStatics = InlineVector<std::uint64_t, 8>;

/// Collects leaves and everything static of the arguments: the raw material of a cache key.
struct KeyVisitor {
  JitLeaves leaves;
  JitStatics statics;
  bool moved = false;

  void leaf(const Tensor& t) { leaves.push_back({&t, moved}); }
  template <class T>
  void number(const T& value) {
    const Number n = [&] {
      if constexpr (std::is_same_v<T, bool>) return Number(static_cast<int>(value));
      else return Number(value);
    }();
    statics.push_back(static_cast<std::uint64_t>(n.kind()));
    statics.push_back(static_cast<std::uint64_t>(n.integer()));
  }
  void structure(std::uint64_t bits) { statics.push_back(bits); }
  void structure(std::string_view text) { statics.push_back(std::hash<std::string_view>{}(text)); }
  void enter(std::string_view) {}
  void enter(std::size_t) {}
  void leave() {}
};

/// The typed half of a jitted function, as the untyped core sees it.
class TraceClient {
 public:
  virtual ~TraceClient() = default;
  virtual std::vector<std::string> paths() = 0;
  /// Runs the function on `leaves`; gives its result's leaves and their paths, and a copy of the
  /// result whose leaves are placeholders.
  virtual std::shared_ptr<const void> trace(std::span<const Tensor> leaves,
                                            std::vector<Tensor>& results,
                                            std::vector<std::string>& result_paths) = 0;
};

class JitSlot;
class NX_API JitCore {
 public:
  static std::shared_ptr<JitCore> make(JitOptions options, SourceLocation where);
  virtual ~JitCore() = default;
  /// The executable for these arguments, compiled when there is none.
  virtual std::shared_ptr<JitSlot> find(const KeyVisitor& key, TraceClient& client,
                                        SourceLocation where) = 0;
  /// As find, for `compile`: the slot is not in the cache and outlives it.
  virtual std::shared_ptr<JitSlot> compile(const KeyVisitor& key, TraceClient& client,
                                           SourceLocation where) = 0;
  /// Throws ArgumentError, ShapeError or DTypeError, leaf by leaf, when arguments differ from
  /// what the slot was compiled for, marks included (R5).
  virtual void check_same(const JitSlot& slot, const KeyVisitor& key, TraceClient& client,
                          SourceLocation where) const = 0;
  virtual void run(JitSlot& slot, std::span<const JitLeaf> leaves, std::span<Tensor* const> results,
                   SourceLocation where) = 0;
  virtual const void* prototype(const JitSlot& slot) const noexcept = 0;
  virtual DonationReport donation_report(const JitSlot& slot) const = 0;
  virtual std::string text(const JitSlot& slot) const = 0;
  virtual std::shared_ptr<JitSlot> last_slot() const = 0;
  virtual CacheStats cache() const = 0;
  virtual void clear_cache() = 0;
  virtual std::string explain_recompile() const = 0;
  virtual CallCounters counters() const = 0;
  virtual CallCounters last_call() const = 0;
};

/// True while a trace is open on this thread: jitted functions are inlined then.
NX_API bool is_tracing() noexcept;
/// A plain (unmarked) handle of an argument of an inlined function.
NX_API Tensor inlined_argument(const Tensor& argument);
NX_API Tensor number_tensor(const Number& number);
/// What stands for a leaf in the kept copy of a result: not empty, so that trees keep their form.
NX_API Tensor placeholder();
NX_API void wait_for(const Tensor& tensor);

template <class A>
using Plain = std::remove_cvref_t<A>;
/// What the function gets for an argument: numbers come as tensors.
template <class A>
using Traced = std::conditional_t<std::is_arithmetic_v<Plain<A>>, Tensor, Plain<A>>;

/// An argument during a call: containers by reference, numbers as a tensor made for the call.
template <class A>
struct Held {
  static constexpr bool kIsNumber = std::is_arithmetic_v<Plain<A>>;
  static_assert(Container<Plain<A>>,
                "an argument of a jitted function must be a tensor, a number or a container");
  static_assert(!std::is_same_v<Plain<A>, bool> && !is_char_v<Plain<A>>,
                "bool and char are not taken for numbers");
  using Type = std::conditional_t<kIsNumber, Tensor, const Plain<A>&>;
  explicit Held(const Plain<A>& argument)
      : value([&]() -> Type {
          if constexpr (kIsNumber) return number_tensor(Number(argument));
          else return argument;
        }()) {}
  Type value;
};

template <class F, class... A>
using ResultOf = std::remove_cvref_t<std::invoke_result_t<const F&, Traced<A>...>>;

template <class F, class R, class... A>
class TypedClient final : public TraceClient {
 public:
  TypedClient(const F& function, const Held<A>&... held) : function_(function), held_(held...) {}

  std::vector<std::string> paths() override {
    std::vector<std::string> list;
    std::size_t index = 0;
    std::apply(
        [&](const auto&... held) {
          (for_each_leaf_with_path(
               std::as_const(held.value), "arg" + std::to_string(index++),
               [&](const std::string& path, const Tensor&) { list.push_back(path); }),
           ...);
        },
        held_);
    return list;
  }

  std::shared_ptr<const void> trace(std::span<const Tensor> leaves, std::vector<Tensor>& results,
                                    std::vector<std::string>& result_paths) override {
    std::size_t next = 0;
    auto arguments = std::apply(
        [&](const auto&... held) {
          return std::tuple<Traced<A>...>{with_leaves<Traced<A>>(held.value, leaves, next)...};
        },
        held_);
    auto result = std::make_shared<R>(std::apply(
        [&](auto&... a) -> R { return std::invoke(function_, std::move(a)...); }, arguments));
    for_each_leaf_with_path(*result, "", [&](const std::string& path, Tensor& t) {
      results.push_back(std::move(t));
      result_paths.push_back(path);
      t = placeholder();
    });
    return result;
  }

 private:
  template <class T>
  static T with_leaves(const T& from, std::span<const Tensor> leaves, std::size_t& next) {
    T copy = from;
    for_each_leaf(copy, [&](Tensor& t) { t = leaves[next++]; });
    return copy;
  }
  const F& function_;
  std::tuple<Held<A>...> held_;  // references, and the tensors made of numbers
};

}  // namespace detail

// Calls take up to twelve arguments; the place of the call comes as a defaulted last parameter,
// which a parameter pack in front of it would swallow.
#define NX_CALL_OPERATORS_                                                                  \
  auto operator()(SourceLocation where = SourceLocation::current()) const {                 \
    return call(where);                                                                     \
  }                                                                                         \
  NX_CALL_(1, (class A), (A&& a), (NX_F_(A, a)))                                            \
  NX_CALL_(2, (class A, class B), (A&& a, B&& b), (NX_F_(A, a), NX_F_(B, b)))               \
  NX_CALL_(3, (class A, class B, class C), (A&& a, B&& b, C&& c),                           \
           (NX_F_(A, a), NX_F_(B, b), NX_F_(C, c)))                                         \
  NX_CALL_(4, (class A, class B, class C, class D), (A&& a, B&& b, C&& c, D&& d),           \
           (NX_F_(A, a), NX_F_(B, b), NX_F_(C, c), NX_F_(D, d)))                            \
  NX_CALL_(5, (class A, class B, class C, class D, class E),                                \
           (A&& a, B&& b, C&& c, D&& d, E&& e),                                             \
           (NX_F_(A, a), NX_F_(B, b), NX_F_(C, c), NX_F_(D, d), NX_F_(E, e)))               \
  NX_CALL_(6, (class A, class B, class C, class D, class E, class G),                       \
           (A&& a, B&& b, C&& c, D&& d, E&& e, G&& g),                                      \
           (NX_F_(A, a), NX_F_(B, b), NX_F_(C, c), NX_F_(D, d), NX_F_(E, e), NX_F_(G, g)))  \
  NX_CALL_(7, (class A, class B, class C, class D, class E, class G, class H),              \
           (A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, H&& h),                               \
           (NX_F_(A, a), NX_F_(B, b), NX_F_(C, c), NX_F_(D, d), NX_F_(E, e), NX_F_(G, g),   \
            NX_F_(H, h)))                                                                   \
  NX_CALL_(8, (class A, class B, class C, class D, class E, class G, class H, class I),     \
           (A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, H&& h, I&& i),                        \
           (NX_F_(A, a), NX_F_(B, b), NX_F_(C, c), NX_F_(D, d), NX_F_(E, e), NX_F_(G, g),   \
            NX_F_(H, h), NX_F_(I, i)))                                                      \
  NX_CALL_(9,                                                                               \
           (class A, class B, class C, class D, class E, class G, class H, class I, class J), \
           (A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, H&& h, I&& i, J&& j),                 \
           (NX_F_(A, a), NX_F_(B, b), NX_F_(C, c), NX_F_(D, d), NX_F_(E, e), NX_F_(G, g),   \
            NX_F_(H, h), NX_F_(I, i), NX_F_(J, j)))                                         \
  NX_CALL_(10,                                                                              \
           (class A, class B, class C, class D, class E, class G, class H, class I, class J, \
            class K),                                                                       \
           (A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, H&& h, I&& i, J&& j, K&& k),          \
           (NX_F_(A, a), NX_F_(B, b), NX_F_(C, c), NX_F_(D, d), NX_F_(E, e), NX_F_(G, g),   \
            NX_F_(H, h), NX_F_(I, i), NX_F_(J, j), NX_F_(K, k)))                            \
  NX_CALL_(11,                                                                              \
           (class A, class B, class C, class D, class E, class G, class H, class I, class J, \
            class K, class L),                                                              \
           (A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, H&& h, I&& i, J&& j, K&& k, L&& l),   \
           (NX_F_(A, a), NX_F_(B, b), NX_F_(C, c), NX_F_(D, d), NX_F_(E, e), NX_F_(G, g),   \
            NX_F_(H, h), NX_F_(I, i), NX_F_(J, j), NX_F_(K, k), NX_F_(L, l)))               \
  NX_CALL_(12,                                                                              \
           (class A, class B, class C, class D, class E, class G, class H, class I, class J, \
            class K, class L, class M),                                                     \
           (A&& a, B&& b, C&& c, D&& d, E&& e, G&& g, H&& h, I&& i, J&& j, K&& k, L&& l,    \
            M&& m),                                                                         \
           (NX_F_(A, a), NX_F_(B, b), NX_F_(C, c), NX_F_(D, d), NX_F_(E, e), NX_F_(G, g),   \
            NX_F_(H, h), NX_F_(I, i), NX_F_(J, j), NX_F_(K, k), NX_F_(L, l), NX_F_(M, m)))
#define NX_F_(A, a) std::forward<A>(a)
#define NX_STRIP_(...) __VA_ARGS__
#define NX_CALL_(n, types, parameters, arguments)                                     \
  template <NX_STRIP_ types>                                                          \
  auto operator()(NX_STRIP_ parameters, SourceLocation where = SourceLocation::current()) const { \
    return call(where, NX_STRIP_ arguments);                                          \
  }

/// A function that compiles itself for the arguments it is called with. Copies share the cache.
/// Safe to call from many threads at once.
template <class F>
class Jitted {
 public:
  Jitted(F function, JitOptions options, SourceLocation where)
      : function_(std::move(function)), core_(detail::JitCore::make(std::move(options), where)) {}

  NX_CALL_OPERATORS_

  /// How well the cache of executables did.
  CacheStats cache() const { return core_->cache(); }
  void clear_cache() { core_->clear_cache(); }
  /// Why the last compilation was needed: the first leaf that differs from the nearest entry.
  std::string explain_recompile() const { return core_->explain_recompile(); }
  /// What the executable used last does with donated leaves.
  DonationReport donation_report() const { return core_->donation_report(*core_->last_slot()); }
  /// The executable used last, as text: steps, fusion, memory plan.
  std::string explain() const { return core_->text(*core_->last_slot()); }
  CallCounters counters() const { return core_->counters(); }
  CallCounters last_call() const { return core_->last_call(); }
  const F& function() const noexcept { return function_; }

 private:
  template <class... A>
  detail::ResultOf<F, A...> call(SourceLocation where, A&&... arguments) const {
    using R = detail::ResultOf<F, A...>;
    static_assert(Container<R>, "a traced function must return a tensor or a container of them");
    static_assert(std::copy_constructible<R>, "results of traced functions must be copyable");
    if (detail::is_tracing()) return inlined<R>(std::forward<A>(arguments)...);
    return call_held<R>(where, std::bool_constant<true>{},
                        std::pair<detail::Held<A>, bool>(
                            detail::Held<A>(arguments),
                            std::is_rvalue_reference_v<A&&> && !std::is_const_v<A>)...);
  }
  template <class R, class... A>
  R call_held(SourceLocation where, std::true_type, const std::pair<detail::Held<A>, bool>&... held)
      const {
    detail::KeyVisitor key;
    ((key.moved = held.second, detail::visit(key, std::as_const(held.first.value))), ...);
    detail::TypedClient<F, R, A...> client(function_, held.first...);
    const auto slot = core_->find(key, client, where);
    return run<R>(*core_, *slot, key, where);
  }
  template <class R, class... A>
  R inlined(A&&... arguments) const {
    [[maybe_unused]] const auto plain = [](auto&& argument) {
      using T = detail::Plain<decltype(argument)>;
      detail::Traced<T> copy = detail::Held<T>(argument).value;
      detail::for_each_leaf(copy, [](Tensor& t) { t = detail::inlined_argument(t); });
      return copy;
    };
    return std::invoke(function_, plain(arguments)...);
  }

  template <class G, class... A> friend class Compiled;
  template <class R>
  static R run(detail::JitCore& core, detail::JitSlot& slot, const detail::KeyVisitor& key,
               SourceLocation where) {
    R result = *static_cast<const R*>(core.prototype(slot));
    InlineVector<Tensor*, 32> leaves;
    detail::for_each_leaf(result, [&](Tensor& t) { leaves.push_back(&t); });
    core.run(slot, key.leaves, leaves, where);
    return result;
  }

  F function_;
  std::shared_ptr<detail::JitCore> core_;
};

/// A function compiled for the types, shapes, names and marks of given templates (or tensors).
/// Calls with anything else throw, and say leaf by leaf what differs.
template <class F, class... A>
class Compiled {
 public:
  using Result = detail::ResultOf<F, A...>;
  Compiled(F function, JitOptions options, SourceLocation where, const A&... templates)
      : function_(std::move(function)), core_(detail::JitCore::make(std::move(options), where)) {
    detail::KeyVisitor key;
    (detail::visit(key, templates), ...);
    detail::TypedClient<F, Result, A...> client(function_, detail::Held<A>(templates)...);
    slot_ = core_->compile(key, client, where);
  }
  /// Throws ArgumentError when a mark differs from its template's (R5), ShapeError or DTypeError
  /// when something else does.
  Result operator()(const A&... arguments, SourceLocation where = SourceLocation::current()) const {
    detail::KeyVisitor key;
    (detail::visit(key, arguments), ...);
    detail::TypedClient<F, Result, A...> client(function_, detail::Held<A>(arguments)...);
    core_->check_same(*slot_, key, client, where);
    return Jitted<F>::template run<Result>(*core_, *slot_, key, where);
  }
  DonationReport donation_report() const { return core_->donation_report(*slot_); }
  std::string explain() const { return core_->text(*slot_); }
  CallCounters counters() const { return core_->counters(); }
  CallCounters last_call() const { return core_->last_call(); }

 private:
  F function_;
  std::shared_ptr<detail::JitCore> core_;
  std::shared_ptr<detail::JitSlot> slot_;
};

/// A jitted form of `function`, which takes and returns tensors, numbers and containers.
template <class F>
Jitted<std::decay_t<F>> jit(F&& function, JitOptions options = {},
                            SourceLocation where = SourceLocation::current()) {
  return Jitted<std::decay_t<F>>(std::forward<F>(function), std::move(options), where);
}

/// Compiles now, for arguments like `templates` (tensors or templates, marked where they will be
/// donated).
template <class F, class... A>
Compiled<std::decay_t<F>, std::decay_t<A>...> compile(F&& function, JitOptions options,
                                                      const A&... templates) {
  return Compiled<std::decay_t<F>, std::decay_t<A>...>(
      std::forward<F>(function), std::move(options), SourceLocation::current(), templates...);
}
template <class F, class A0, class... A>
  requires Container<A0>
Compiled<std::decay_t<F>, A0, std::decay_t<A>...> compile(F&& function, const A0& first,
                                                          const A&... templates) {
  return Compiled<std::decay_t<F>, A0, std::decay_t<A>...>(
      std::forward<F>(function), JitOptions{}, SourceLocation::current(), first, templates...);
}

/// Returns when the computation of every leaf has ended (a device may compute behind the call's
/// back). Throws BackendError when one failed. Reading values waits by itself.
template <Container T>
const T& wait(const T& container) {
  detail::for_each_leaf(container, [](const Tensor& t) { detail::wait_for(t); });
  return container;
}

#undef NX_CALL_
#undef NX_F_
#undef NX_STRIP_
#undef NX_CALL_OPERATORS_

}  // namespace nx
