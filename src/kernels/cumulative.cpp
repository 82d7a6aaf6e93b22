// Several lines go side by side, since each step of a line waits for the one before: neighbouring
// columns where the axis is not the last one, else a few rows.
#include "kernels/cumulative.h"

#include <algorithm>
#include <type_traits>

#include "core/at.h"
#include "kernels/axis.h"
#include "kernels/elementwise.h"
#include "kernels/threads.h"
#include "nx/element.h"

namespace nx::kernels {
namespace {

/// What a line carries from element to element.
template <class Op, class T>
using Carried = std::conditional_t<std::is_same_v<T, float> && Op::kRounds, double, T>;

// Integers wrap: they are computed with as unsigned.
template <class T, class F>
T wrapped(T a, T b, F combine) {
  if constexpr (std::is_integral_v<T>) {
    using U = Wrapping<T>;
    return static_cast<T>(combine(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return combine(a, b);
  }
}
struct Sum {
  static constexpr bool kRounds = true;
  template <class T>
  static T one(T a, T b) {
    return wrapped(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Product {
  static constexpr bool kRounds = true;
  template <class T>
  static T one(T a, T b) {
    return wrapped(a, b, [](auto x, auto y) { return x * y; });
  }
};
struct Max {
  static constexpr bool kRounds = false;
  template <class T>
  static T one(T a, T b) {
    return ((a > b) | (a != a)) ? a : b;
  }
};
struct Min {
  static constexpr bool kRounds = false;
  template <class T>
  static T one(T a, T b) {
    return ((a < b) | (a != a)) ? a : b;
  }
};

struct Lines {
  std::int64_t count;  // elements of one
  std::int64_t step;   // from element to element
  std::int64_t apart;  // from one line to the next
};

/// `width` lines side by side, or `kWidth`, where it is known beforehand.
template <class Op, int kWidth, class T>
void run_lines(const T* in, T* out, const Lines& lines, std::int64_t width = kWidth) {
  Carried<Op, T> carried[kWidth];
  for (std::int64_t c = 0; c < width; ++c) {
    out[c * lines.apart] = in[c * lines.apart];
    carried[c] = static_cast<Carried<Op, T>>(out[c * lines.apart]);
  }
  for (std::int64_t i = 1; i < lines.count; ++i) {
    in += lines.step;
    out += lines.step;
    for (std::int64_t c = 0; c < width; ++c) {
      carried[c] = Op::one(carried[c], static_cast<Carried<Op, T>>(in[c * lines.apart]));
      out[c * lines.apart] = static_cast<T>(carried[c]);
    }
  }
}

class Cumulative final : public PreparedKernel {
 public:
  Cumulative(const ArraySpec& in, const CumulativeSpec& spec)
      : type_(in.type),
        reduction_(spec.reduction),
        along_(in.dims, spec.axis),
        begin_(spec.reverse ? (along_.count - 1) * along_.inner : 0),
        step_(spec.reverse ? -along_.inner : along_.inner) {}
  void run(const KernelCall& call) const override {
    if (along_.size() == 0) return;
    switch (reduction_) {
      case Reduction::kSum: run_as<Sum>(call); break;
      case Reduction::kProduct: run_as<Product>(call); break;
      case Reduction::kMax: run_as<Max>(call); break;
      default: run_as<Min>(call);
    }
    if (is_subbyte(type_)) wrap_subbyte(type_, call.out[0], at(along_.size()));
  }
  double cost_us() const override { return static_cast<double>(along_.size()) * 1e-3; }

 private:
  template <class Op>
  void run_as(const KernelCall& call) const {
    visit_element(type_, [&](auto element) {
      using T = decltype(element);
      if constexpr (std::is_arithmetic_v<T>) {
        const auto* const in = static_cast<const T*>(call.in[0]) + begin_;
        auto* const out = static_cast<T*>(call.out[0]) + begin_;
        if (along_.inner == 1) run_rows<Op>(in, out, call.threads);
        else run_columns<Op>(in, out, call.threads);
      }
    });
  }
  template <class Op, class T>
  void run_rows(const T* in, T* out, int threads) const {
    constexpr int kRows = 4;
    const Lines lines{along_.count, step_, along_.count};
    parallel_for((along_.outer + kRows - 1) / kRows, threads,
                 [&](std::int64_t first, std::int64_t last) {
                   std::int64_t row = first * kRows;
                   const std::int64_t end = std::min(last * kRows, along_.outer);
                   for (; row + kRows <= end; row += kRows)
                     run_lines<Op, kRows>(in + row * lines.count, out + row * lines.count, lines);
                   for (; row < end; ++row)
                     run_lines<Op, 1>(in + row * lines.count, out + row * lines.count, lines);
                 });
  }
  template <class Op, class T>
  void run_columns(const T* in, T* out, int threads) const {
    constexpr int kColumns = 64;
    const std::int64_t blocks = (along_.inner + kColumns - 1) / kColumns;
    parallel_for(along_.outer * blocks, threads, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t column = i % blocks * kColumns;
        const std::int64_t from = i / blocks * along_.count * along_.inner + column;
        run_lines<Op, kColumns>(in + from, out + from, {along_.count, step_, 1},
                                std::min<std::int64_t>(kColumns, along_.inner - column));
      }
    });
  }

  DType type_;
  Reduction reduction_;
  AlongAxis along_;
  std::int64_t begin_, step_;  // the place in a line that comes first, and from there to the next
};

}  // namespace

std::unique_ptr<PreparedKernel> prepare_cumulative(const ArraySpec& in,
                                                   const CumulativeSpec& spec) {
  return std::make_unique<Cumulative>(in, spec);
}

}  // namespace nx::kernels
