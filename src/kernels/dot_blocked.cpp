// Our own matrix product, for the types oneDNN has none for: panels of both operands are packed
// into the type of the accumulator, a register block runs over the whole of k.
#include <algorithm>
#include <complex>
#include <memory>
#include <type_traits>

#include "kernels/dot.h"
#include "kernels/threads.h"
#include "nx/element.h"

#if defined(__aarch64__) || defined(__riscv)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dot_blocked.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace nx::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

/// What a type is added up in: narrow integers in 32 bits (they wrap alike), narrow floats in f32.
template <class T>
auto accumulator() {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (sizeof(T) == 8) return std::uint64_t{};
    else return std::uint32_t{};
  } else if constexpr (std::is_class_v<T> && sizeof(T) <= 2) {
    return float{};
  } else {
    return T{};
  }
}
template <class T>
using Accumulator = decltype(accumulator<T>());

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_class_v<From> && !std::is_same_v<From, To>) {
    return static_cast<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

template <class A>
void multiply_add(A& acc, A a, A b) {
  acc += a * b;
}
template <class R>
void multiply_add(std::complex<R>& acc, std::complex<R> a, std::complex<R> b) {
  acc = {acc.real() + (a.real() * b.real() - a.imag() * b.imag()),
         acc.imag() + (a.real() * b.imag() + a.imag() * b.real())};
}

constexpr std::int64_t kRows = 6;
template <class A>
inline constexpr std::int64_t kColumns = 128 / static_cast<std::int64_t>(sizeof(A));
template <class A>
inline constexpr bool kVector =
    std::is_same_v<A, float> || std::is_same_v<A, double> || std::is_same_v<A, std::uint32_t>;

/// `block[kRows][kColumns] = sum over k of a[k][kRows] * b[k][kColumns]`.
template <class A>
void multiply_block(const A* a, const A* b, std::int64_t k, A* block) {
  constexpr std::int64_t kWidth = kColumns<A>;
  if constexpr (kVector<A>) {
    const hn::CappedTag<A, 64 / sizeof(A)> d;
    constexpr std::int64_t kLanes = hn::MaxLanes(hn::CappedTag<A, 64 / sizeof(A)>());
    constexpr std::int64_t kVectors = 64 / static_cast<std::int64_t>(sizeof(A)) / kLanes;
    // Half the block's columns at a time: the accumulators fit the registers of AVX-512 and AVX2.
    for (std::int64_t c = 0; c < kWidth; c += kLanes * kVectors) {
      hn::Vec<decltype(d)> acc[kRows][kVectors];
      for (std::int64_t i = 0; i < kRows; ++i)
        for (std::int64_t v = 0; v < kVectors; ++v) acc[i][v] = hn::Zero(d);
      for (std::int64_t p = 0; p < k; ++p)
        for (std::int64_t v = 0; v < kVectors; ++v) {
          const auto right = hn::LoadU(d, b + p * kWidth + c + v * kLanes);
          for (std::int64_t i = 0; i < kRows; ++i)
            acc[i][v] = hn::Add(acc[i][v], hn::Mul(hn::Set(d, a[p * kRows + i]), right));
        }
      for (std::int64_t i = 0; i < kRows; ++i)
        for (std::int64_t v = 0; v < kVectors; ++v)
          hn::StoreU(acc[i][v], d, block + i * kWidth + c + v * kLanes);
    }
  } else {
    std::fill_n(block, kRows * kWidth, A{});
    for (std::int64_t p = 0; p < k; ++p)
      for (std::int64_t i = 0; i < kRows; ++i)
        for (std::int64_t j = 0; j < kWidth; ++j)
          multiply_add(block[i * kWidth + j], a[p * kRows + i], b[p * kWidth + j]);
  }
}

template <class T>
void run_panel(const MatmulSpec& s, const void* a_address, const void* b_address, void* c_address,
               void* scratch, std::int64_t batch, std::int64_t column, std::int64_t first_row,
               std::int64_t last_row) {
  using A = Accumulator<T>;
  constexpr std::int64_t kWidth = kColumns<A>;
  const T* const a = static_cast<const T*>(a_address) + batch * s.a_batch;
  const T* const b = static_cast<const T*>(b_address) + batch * s.b_batch + column * s.b_n;
  T* const c = static_cast<T*>(c_address) + batch * s.m * s.n + column;
  A* const packed_b = static_cast<A*>(scratch);
  A* const packed_a = packed_b + s.k * kWidth;
  const std::int64_t columns = std::min(kWidth, s.n - column);
  for (std::int64_t p = 0; p < s.k; ++p)
    for (std::int64_t j = 0; j < kWidth; ++j)
      packed_b[p * kWidth + j] = j < columns ? convert<A>(b[p * s.b_k + j * s.b_n]) : A{};
  alignas(64) A block[kRows * kWidth];
  for (std::int64_t row = first_row; row < last_row; row += kRows) {
    const std::int64_t rows = std::min(kRows, last_row - row);
    for (std::int64_t p = 0; p < s.k; ++p)
      for (std::int64_t i = 0; i < kRows; ++i)
        packed_a[p * kRows + i] = i < rows ? convert<A>(a[(row + i) * s.a_m + p * s.a_k]) : A{};
    multiply_block(packed_a, packed_b, s.k, block);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j)
        c[(row + i) * s.n + j] = convert<T>(block[i * kWidth + j]);
  }
}

}  // namespace

using Panel = void (*)(const MatmulSpec&, const void*, const void*, void*, void*, std::int64_t,
                       std::int64_t, std::int64_t, std::int64_t);
Panel panel_for(DType type) {
  return visit_element(type, [](auto element) -> Panel { return &run_panel<decltype(element)>; });
}

std::int64_t columns_for(DType type) {
  return visit_element(
      type, [](auto element) -> std::int64_t { return kColumns<Accumulator<decltype(element)>>; });
}

}  // namespace nx::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nx::kernels {
namespace {
HWY_EXPORT(panel_for);
HWY_EXPORT(columns_for);

class BlockedMatmul final : public Matmul {
 public:
  explicit BlockedMatmul(const MatmulSpec& spec)
      : spec_(spec),
        panel_(HWY_DYNAMIC_DISPATCH(panel_for)(spec.type)),
        columns_(HWY_DYNAMIC_DISPATCH(columns_for)(spec.type)),
        threads_(most_threads()) {}

  std::size_t scratch_bytes() const override {
    return thread_bytes() * static_cast<std::size_t>(threads_);
  }
  double cost_us() const override { return products_of(spec_) / 5e3; }

  void run(const void* a, const void* b, void* c, void* scratch, int threads) const override {
    constexpr std::int64_t kChunk = 96;  // rows of one task
    const std::int64_t panels = (spec_.n + columns_ - 1) / columns_;
    const std::int64_t chunks = (spec_.m + kChunk - 1) / kChunk;
    const std::int64_t tasks = spec_.batch * panels * chunks;
    const auto task = [&](std::int64_t i, std::int64_t thread) {
      const std::int64_t chunk = i % chunks, panel = i / chunks % panels;
      panel_(spec_, a, b, c,
             static_cast<char*>(scratch) + thread_bytes() * static_cast<std::size_t>(thread),
             i / chunks / panels, panel * columns_, chunk * kChunk,
             std::min(spec_.m, (chunk + 1) * kChunk));
    };
    parallel_for(tasks, std::min(threads, threads_),
                 [&](std::int64_t begin, std::int64_t end, std::int64_t thread) {
                   for (std::int64_t i = begin; i < end; ++i) task(i, thread);
                 });
  }

 private:
  std::size_t thread_bytes() const {
    // 128 bytes of b and at most 6 * 16 of a for each k.
    return padded(static_cast<std::size_t>(spec_.k) * (128 + 6 * 16));
  }

  MatmulSpec spec_;
  using Panel = void (*)(const MatmulSpec&, const void*, const void*, void*, void*, std::int64_t,
                         std::int64_t, std::int64_t, std::int64_t);
  Panel panel_;
  std::int64_t columns_;
  int threads_;
};

}  // namespace

std::shared_ptr<const Matmul> blocked_matmul(const MatmulSpec& spec) {
  return std::make_shared<const BlockedMatmul>(spec);
}

}  // namespace nx::kernels
#endif
