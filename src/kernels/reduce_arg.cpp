// The index of the largest or smallest element along an axis.
#include <complex>

#include "kernels/axis.h"
#include "kernels/reduce.h"
#include "kernels/threads.h"
#include "nx/element.h"

namespace nx::kernels {
namespace {

template <class T>
std::int64_t find_extreme(const T* in, std::int64_t count, std::int64_t stride,
                          const ArgReduceSpec& spec) {
  std::int64_t best = 0;
  T value = in[0];
  if (value != value) return 0;
  for (std::int64_t i = 1; i < count; ++i) {
    const T next = in[i * stride];
    if (next != next) return i;
    const bool better = spec.largest ? next > value : next < value;
    if (better || (spec.last_of_ties && next == value)) {
      best = i;
      value = next;
    }
  }
  return best;
}

template <class Out>
void store(void* out, std::int64_t at, std::int64_t index) {
  if constexpr (std::is_arithmetic_v<Out>) static_cast<Out*>(out)[at] = static_cast<Out>(index);
  else static_cast<Out*>(out)[at] = Out(static_cast<float>(index));
}

template <class T>
using Find = std::int64_t (*)(const T*, std::int64_t, std::int64_t, const ArgReduceSpec&);

class ArgReduce final : public PreparedKernel {
 public:
  ArgReduce(const ArraySpec& in, const ArgReduceSpec& spec)
      : type_(in.type), spec_(spec), along_(in.dims, spec.axis) {
    store_ = visit_element(spec.index_type, [](auto element) -> Store {
      return &store<decltype(element)>;
    });
  }
  void run(const KernelCall& call) const override {
    visit_element(type_, [&](auto element) {
      using T = decltype(element);
      if constexpr (requires(T a) { a < a; }) {
        const T* const in = static_cast<const T*>(call.in[0]);
        parallel_for(along_.lines(), call.threads, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i)
            store_(call.out[0], i,
                   find_extreme(in + along_.begin_of(i), along_.count, along_.inner, spec_));
        });
      }
    });
  }
  double cost_us() const override { return static_cast<double>(along_.size()) * 1e-3; }

 private:
  using Store = void (*)(void*, std::int64_t, std::int64_t);
  DType type_;
  ArgReduceSpec spec_;
  AlongAxis along_;
  Store store_ = nullptr;
};

}  // namespace

std::unique_ptr<PreparedKernel> prepare_arg_reduce(const ArraySpec& in,
                                                   const ArgReduceSpec& spec) {
  return std::make_unique<ArgReduce>(in, spec);
}

}  // namespace nx::kernels
