// Elements become unsigned keys in the order wanted, with their index behind them, so that sorting
// is stable whatever the algorithm: up to 32 bits key and index are one word for Highway's
// vectorised sort, else a pair.
#include "kernels/sort.h"

#include <hwy/contrib/sort/vqsort.h>

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "kernels/axis.h"
#include "kernels/threads.h"
#include "nx/element.h"

namespace nx::kernels {
namespace {

template <class Key, class Float>
Key key_of_float(Float value) {
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  if (value != value) return static_cast<Key>(~Key{0});
  const auto bits = std::bit_cast<Key>(value == 0 ? Float{0} : value);  // both zeros are equal
  return bits & kSign ? static_cast<Key>(~bits) : static_cast<Key>(bits | kSign);
}

/// An unsigned number that is in the order of the values.
template <class T>
auto key_of(T value) {
  if constexpr (std::is_integral_v<T>) {
    using Key = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    constexpr Key kSign = std::is_signed_v<T> ? Key{1} << (8 * sizeof(Key) - 1) : Key{0};
    return static_cast<Key>(static_cast<Key>(value) ^ kSign);
  } else if constexpr (std::is_same_v<T, double>) {
    return key_of_float<std::uint64_t>(value);
  } else {
    return key_of_float<std::uint32_t>(static_cast<float>(value));
  }
}

/// Key and index of one line in one word.
struct Packed {
  using Entry = std::uint64_t;
  static Entry make(std::uint32_t key, std::int64_t index) {
    return (Entry{key} << 32) | static_cast<std::uint32_t>(index);
  }
  static std::int64_t index(Entry entry) { return static_cast<std::uint32_t>(entry); }
  static void sort(Entry* entries, std::int64_t count) {
    // The vectorised sort takes its own scratch: short lines are faster without.
    if (count < 256) std::sort(entries, entries + count);
    else hwy::Sorter()(entries, static_cast<std::size_t>(count), hwy::SortAscending());
  }
};
struct Paired {
  using Entry = std::pair<std::uint64_t, std::int64_t>;
  static Entry make(std::uint64_t key, std::int64_t index) { return {key, index}; }
  static std::int64_t index(const Entry& entry) { return entry.second; }
  static void sort(Entry* entries, std::int64_t count) { std::sort(entries, entries + count); }
};

class Sort final : public PreparedKernel {
 public:
  Sort(const ArraySpec& in, const SortSpec& spec)
      : type_(in.type), spec_(spec), along_(in.dims, spec.axis) {}
  std::size_t scratch_bytes() const override {
    const std::size_t entry = packed_ ? sizeof(Packed::Entry) : sizeof(Paired::Entry);
    return static_cast<std::size_t>(along_.size()) * entry;
  }
  void run(const KernelCall& call) const override {
    visit_element(type_, [&](auto element) {
      using T = decltype(element);
      if constexpr (requires(T a) { a < a; }) {
        if (packed_) run_lines<T, Packed>(call);
        else run_lines<T, Paired>(call);
      }
    });
  }
  double cost_us() const override {
    return static_cast<double>(along_.size()) * (packed_ ? 1e-2 : 8e-2);
  }

 private:
  template <class T, class Form>
  void run_lines(const KernelCall& call) const {
    using Entry = typename Form::Entry;
    const T* const in = static_cast<const T*>(call.in[0]);
    parallel_for(along_.lines(), call.threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t line = begin; line < end; ++line) {
        const std::int64_t base = along_.begin_of(line);
        Entry* const entries = static_cast<Entry*>(call.scratch) + line * along_.count;
        for (std::int64_t i = 0; i < along_.count; ++i) {
          const auto key = key_of(in[base + i * along_.inner]);
          using Key = std::remove_const_t<decltype(key)>;
          const Key ordered = spec_.descending ? static_cast<Key>(~key) : key;
          if constexpr (std::is_same_v<Form, Paired> || sizeof(Key) <= 4)
            std::construct_at(entries + i, Form::make(ordered, i));
        }
        Form::sort(entries, along_.count);
        if (spec_.indices) store_indices<Form>(entries, base, call.out[0]);
        else store_values<Form>(entries, in + base, static_cast<T*>(call.out[0]) + base);
      }
    });
  }
  template <class Form, class Entry>
  void store_indices(const Entry* entries, std::int64_t base, void* out) const {
    visit_element(spec_.index_type, [&](auto element) {
      using Out = decltype(element);
      if constexpr (std::is_integral_v<Out>)
        for (std::int64_t i = 0; i < along_.count; ++i)
          static_cast<Out*>(out)[base + i * along_.inner] =
              static_cast<Out>(Form::index(entries[i]));
    });
  }
  template <class Form, class Entry, class T>
  void store_values(const Entry* entries, const T* in, T* out) const {
    for (std::int64_t i = 0; i < along_.count; ++i)
      out[i * along_.inner] = in[Form::index(entries[i]) * along_.inner];
  }

  DType type_;
  SortSpec spec_;
  AlongAxis along_;
  bool packed_ = byte_size_of(type_) < 8 && along_.count < std::int64_t{1} << 32;
};

}  // namespace

std::unique_ptr<PreparedKernel> prepare_sort(const ArraySpec& in, const SortSpec& spec) {
  return std::make_unique<Sort>(in, spec);
}

}  // namespace nx::kernels
