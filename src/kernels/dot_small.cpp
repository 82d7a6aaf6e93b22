// Small matrix products, where a call of oneDNN costs more than the work
// (docs/decisions/0012-own-kernel-for-small-products.md). A block of the result stays in registers
// over the whole of k: each element is one chain of multiply-adds, whatever m, n and the threads.
// What is left over at the end of rows and columns is covered by blocks that overlap.
#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/dot.h"
#include "kernels/simd_targets.h"
#include "kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dot_small.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

#ifndef NX_KERNELS_DOT_SMALL_ONCE
#define NX_KERNELS_DOT_SMALL_ONCE
namespace nx::kernels {
/// What one thread computes: rows and vectors of columns of some products of the batch.
struct SmallPiece {
  std::int64_t batch_begin = 0, batch_end = 0, row_begin = 0, row_end = 0;
  std::int64_t vector_begin = 0, vector_end = 0;
};
/// The kernel of one type on this machine.
struct SmallKernel {
  std::int64_t rows = 0, vectors = 0, lanes = 0;  // of the largest block
  std::int64_t most_work = 0;                     // up to which it is ahead of oneDNN's
  void (*run)(const MatmulSpec&, const SmallPiece&, const void* a, const void* b, void* c,
              void* scratch) = nullptr;
};
}  // namespace nx::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace nx::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
SmallKernel small_kernel(DType) { return {}; }  // oneDNN has vectors even then
#else
namespace hn = hwy::HWY_NAMESPACE;
namespace {

// 32 registers hold 8 x 3 vectors of the result, 16 hold 4 x 2.
#if HWY_TARGET == HWY_SSE2 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || \
    HWY_TARGET == HWY_AVX2
constexpr std::int64_t kRows = 4, kVectors = 2, kRowsAlone = 8;
#else
constexpr std::int64_t kRows = 8, kVectors = 3, kRowsAlone = 16;
#endif
#if HWY_MEM_OPS_MIGHT_FAULT
constexpr bool kMasks = false;
#else
constexpr bool kMasks = true;  // masked lanes are not read
#endif

/// A block of the result and what it is made of; strides in elements. The vectors begin at
/// columns 0, lanes, 2 * lanes… but the last one at `last`; `width` of its lanes are there.
template <class T>
struct Block {
  const T* a;
  std::int64_t a_m, a_k;
  const T* b;
  std::int64_t b_k;
  T* c;
  std::int64_t c_m, k, last, width;
};

template <class T, int kR, int kV>
void multiply_block(const Block<T>& s) {
  const hn::ScalableTag<T> d;
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  hn::Vec<decltype(d)> acc[kR][kV], right[kV];
#pragma GCC unroll 16
  for (int i = 0; i < kR; ++i)
#pragma GCC unroll 16
    for (int v = 0; v < kV; ++v) acc[i][v] = hn::Zero(d);
  // Each pointer serves three rows: row + 0, 1, 2 strides are forms of one address.
  constexpr int kPointers = (kR + 2) / 3;
  const T* rows[kPointers];
#pragma GCC unroll 16
  for (int i = 0; i < kPointers; ++i) rows[i] = s.a + 3 * i * s.a_m;
  const std::int64_t a_m = s.a_m, a_k = s.a_k, b_k = s.b_k, last = s.last;
  const T* b = s.b;
  const auto mask = hn::FirstN(d, static_cast<std::size_t>(s.width));
  for (std::int64_t p = s.k; p != 0; --p) {
#pragma GCC unroll 16
    for (int v = 0; v + 1 < kV; ++v) right[v] = hn::LoadU(d, b + v * kLanes);
    if constexpr (kV == 1 && kMasks) right[0] = hn::MaskedLoad(mask, d, b);
    else right[kV - 1] = hn::LoadU(d, b + last);
#pragma GCC unroll 16
    for (int i = 0; i < kR; ++i) {
      const auto left = hn::Set(d, rows[i / 3][i % 3 * a_m]);
#pragma GCC unroll 16
      for (int v = 0; v < kV; ++v) acc[i][v] = hn::MulAdd(left, right[v], acc[i][v]);
    }
    b += b_k;
#pragma GCC unroll 16
    for (int i = 0; i < kPointers; ++i) rows[i] += a_k;
  }
  T* c = s.c;
  if (kV == 1 && s.width < kLanes) {
#pragma GCC unroll 16
    for (int i = 0; i < kR; ++i, c += s.c_m) {
      if constexpr (kMasks) {
        hn::BlendedStore(acc[i][0], mask, d, c);
      } else {
        HWY_ALIGN T rest[kLanes];
        hn::Store(acc[i][0], d, rest);
        std::copy_n(rest, s.width, c);
      }
    }
    return;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kR; ++i, c += s.c_m) {
#pragma GCC unroll 16
    for (int v = 0; v + 1 < kV; ++v) hn::StoreU(acc[i][v], d, c + v * kLanes);
    hn::StoreU(acc[i][kV - 1], d, c + last);
  }
}

template <class T>
using MultiplyBlock = void (*)(const Block<T>&);
template <class T, int kV, int... kR>
MultiplyBlock<T> block_of_rows(std::int64_t rows, std::integer_sequence<int, kR...>) {
  constexpr MultiplyBlock<T> kAll[] = {&multiply_block<T, kR + 1, kV>...};
  return kAll[rows - 1];
}
template <class T>
MultiplyBlock<T> block_for(std::int64_t rows, std::int64_t vectors) {
  if (vectors == 1) return block_of_rows<T, 1>(rows, std::make_integer_sequence<int, kRowsAlone>());
  constexpr std::make_integer_sequence<int, kRows> kUpToRows;
  if constexpr (kVectors > 2)
    if (vectors == 3) return block_of_rows<T, 3>(rows, kUpToRows);
  return block_of_rows<T, 2>(rows, kUpToRows);
}

/// `to[k][width]` from columns that are contiguous.
template <class T>
void turn_columns(const T* b, std::int64_t b_n, std::int64_t k, std::int64_t columns, T* to,
                  std::int64_t width) {
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t p = 0; p < k; ++p) to[p * width + j] = b[j * b_n + p];
}

/// A vector of blocks of 4, each from `stride` further on.
template <class D>
hn::Vec<D> load_blocks(D d, const float* from, std::int64_t stride) {
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> half;
    constexpr auto kBlocks = static_cast<std::int64_t>(hn::MaxLanes(half)) / 4;
    return hn::Combine(d, load_blocks(half, from + kBlocks * stride, stride),
                       load_blocks(half, from, stride));
  }
}

/// Blocks of 4 x 4 are turned in registers, as many at a time as a vector holds. Wants at least
/// a vector of columns and a k of 4; what is left over at the ends is turned twice.
template <class D>
void turn_blocks(D d, const float* b, std::int64_t b_n, std::int64_t k, std::int64_t columns,
                 float* to, std::int64_t width) {
  const hn::Repartition<double, D> pairs;
  const auto pair = [&](auto x) HWY_ATTR { return hn::BitCast(pairs, x); };
  const auto store = [&](auto x, float* out) HWY_ATTR { hn::StoreU(hn::BitCast(d, x), d, out); };
  constexpr std::int64_t kLanes = hn::MaxLanes(D());
  for (std::int64_t i = 0; i < columns; i += kLanes) {
    const std::int64_t j = std::min(i, columns - kLanes);
    for (std::int64_t q = 0; q < k; q += 4) {
      const std::int64_t p = std::min(q, k - 4);
      const float* const from = b + j * b_n + p;
      const auto x0 = load_blocks(d, from, 4 * b_n), x1 = load_blocks(d, from + b_n, 4 * b_n),
                 x2 = load_blocks(d, from + 2 * b_n, 4 * b_n),
                 x3 = load_blocks(d, from + 3 * b_n, 4 * b_n);
      const auto low01 = pair(hn::InterleaveLower(d, x0, x1)),
                 low23 = pair(hn::InterleaveLower(d, x2, x3)),
                 high01 = pair(hn::InterleaveUpper(d, x0, x1)),
                 high23 = pair(hn::InterleaveUpper(d, x2, x3));
      float* const out = to + p * width + j;
      store(hn::InterleaveLower(pairs, low01, low23), out);
      store(hn::InterleaveUpper(pairs, low01, low23), out + width);
      store(hn::InterleaveLower(pairs, high01, high23), out + 2 * width);
      store(hn::InterleaveUpper(pairs, high01, high23), out + 3 * width);
    }
  }
}

void turn_columns(const float* b, std::int64_t b_n, std::int64_t k, std::int64_t columns, float* to,
                  std::int64_t width) {
  const hn::ScalableTag<float> d;
  const hn::FixedTag<float, 4> four;
  if (k >= 4 && columns >= hn::MaxLanes(d)) turn_blocks(d, b, b_n, k, columns, to, width);
  else if (k >= 4 && columns >= 4) turn_blocks(four, b, b_n, k, columns, to, width);
  else turn_columns<float>(b, b_n, k, columns, to, width);
}

/// Puts the columns of b that a panel has side by side, zeros where a lone vector is wider.
template <class T>
void pack(const MatmulSpec& s, const T* b, std::int64_t columns, T* to, std::int64_t width) {
  if (s.b_n == 1) {
    for (std::int64_t p = 0; p < s.k; ++p) std::copy_n(b + p * s.b_k, columns, to + p * width);
  } else {
    turn_columns(b, s.b_n, s.k, columns, to, width);
  }
  if (kMasks || columns >= static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()))) return;
  for (std::int64_t p = 0; p < s.k; ++p)
    std::fill_n(to + p * width + columns, width - columns, T{});
}

/// A panel of at most kVectors vectors of columns, of all rows and products of the piece.
template <class T>
void run_panel(const MatmulSpec& s, const SmallPiece& piece, std::int64_t column,
               std::int64_t vectors, std::int64_t last, const T* a, const T* b, T* c, T* scratch) {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const std::int64_t width = std::min(kLanes, s.n), rows = piece.row_end - piece.row_begin;
  const bool packed = (s.b_n != 1 && s.n > 1) || (!kMasks && width < kLanes);
  const std::int64_t most = vectors == 1 ? kRowsAlone : kRows;
  const std::int64_t blocks = (rows + most - 1) / most, block_rows = (rows + blocks - 1) / blocks;
  const MultiplyBlock<T> multiply = block_for<T>(block_rows, vectors);
  for (std::int64_t i = piece.batch_begin; i < piece.batch_end; ++i) {
    const T* const from = b + i * s.b_batch + column * s.b_n;
    if (packed) pack(s, from, last + width, scratch, vectors * kLanes);
    Block<T> block{.a = a,
                   .a_m = s.a_m,
                   .a_k = s.a_k,
                   .b = packed ? scratch : from,
                   .b_k = packed ? vectors * kLanes : s.b_k,
                   .c = c,
                   .c_m = s.n,
                   .k = s.k,
                   .last = last,
                   .width = width};
    for (std::int64_t row = piece.row_begin; row < piece.row_end; row += block_rows) {
      const std::int64_t first = std::min(row, piece.row_end - block_rows);
      block.a = a + i * s.a_batch + first * s.a_m;
      block.c = c + (i * s.m + first) * s.n + column;
      multiply(block);
    }
  }
}

template <class T>
void run_piece(const MatmulSpec& s, const SmallPiece& piece, const void* a, const void* b, void* c,
               void* scratch) {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const std::int64_t last_column = std::max<std::int64_t>(0, s.n - kLanes);
  std::int64_t v = piece.vector_begin;
  for (std::int64_t panels = (piece.vector_end - v + kVectors - 1) / kVectors; panels > 0;
       --panels) {
    const std::int64_t vectors = (piece.vector_end - v + panels - 1) / panels;
    const std::int64_t column = std::min(v * kLanes, last_column);
    v += vectors;
    const std::int64_t last = std::min((v - 1) * kLanes, last_column) - column;
    run_panel(s, piece, column, vectors, last, static_cast<const T*>(a), static_cast<const T*>(b),
              static_cast<T*>(c), static_cast<T*>(scratch));
  }
}

template <class T>
SmallKernel small_kernel_for() {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  return {.rows = kRows,
          .vectors = kVectors,
          .lanes = kLanes,
          .most_work = kRows == 8 ? 1 << 20 : 1 << 15,
          .run = &run_piece<T>};
}

}  // namespace

SmallKernel small_kernel(DType type) {
  if (type == DType::f32) return small_kernel_for<float>();
#if HWY_HAVE_FLOAT64
  if (type == DType::f64) return small_kernel_for<double>();
#endif
  return {};
}
#endif

}  // namespace nx::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nx::kernels {
namespace {
HWY_EXPORT(small_kernel);

/// A column as the result is a row of the product of the transposed operands.
MatmulSpec as_row(const MatmulSpec& s) {
  MatmulSpec row = s;
  std::swap(row.m, row.n);
  std::swap(row.a_batch, row.b_batch);
  row.a_m = s.b_n, row.a_k = s.b_k, row.b_k = s.a_k, row.b_n = s.a_m;
  return row;
}

/// Whether a product, or each of a batch, is of those where the kernel was measured to be ahead.
/// Columns that have to be packed want rows to pay for it.
bool is_small(const MatmulSpec& s, const SmallKernel& kernel) {
  constexpr std::int64_t kMostResults = 1 << 16, kMostK = 256;
  if (s.k > kMostK || s.m > kMostResults || s.n > kMostResults) return false;
  if (s.m * s.n > kMostResults || s.m * s.n * s.k > kernel.most_work) return false;
  const bool packed = s.b_n != 1 && s.n > 1;
  return !packed || s.k <= kMostK / 2 || s.m >= 16;
}

/// What a thread should have to do at least, in multiplications: about 1 us.
constexpr double kLeastWork = 1e5;

class SmallMatmul final : public Matmul {
 public:
  SmallMatmul(const MatmulSpec& spec, bool is_turned, const SmallKernel& kernel)
      : spec_(spec), is_turned_(is_turned), kernel_(kernel), threads_(most_threads()) {}

  std::size_t scratch_bytes() const override {
    return thread_bytes() * static_cast<std::size_t>(threads_);
  }
  // Two thirds of the speed with operands from the nearest cache: they come from others' as well.
  double cost_us() const override { return products_of(spec_) / 9e4; }

  void run(const void* a, const void* b, void* c, void* scratch, int threads) const override {
    if (is_turned_) std::swap(a, b);
    const double most = std::min<double>(threads, products_of(spec_) / kLeastWork);
    threads = std::clamp(static_cast<int>(most), 1, threads_);
    const std::int64_t blocks = (spec_.m + kernel_.rows - 1) / kernel_.rows;
    const std::int64_t vectors = (spec_.n + kernel_.lanes - 1) / kernel_.lanes;
    if (threads == 1) {
      kernel_.run(spec_, {0, spec_.batch, 0, spec_.m, 0, vectors}, a, b, c, scratch);
      return;
    }
    const std::int64_t groups = std::min<std::int64_t>(threads, spec_.batch);
    const std::int64_t across = std::min(threads / groups, blocks);
    const std::int64_t along = std::min(threads / groups / across, vectors);
    const auto run_one = [&](std::int64_t i, std::int64_t thread) {
      const std::int64_t group = i / along / across, y = i / along % across, x = i % along;
      const SmallPiece piece{.batch_begin = spec_.batch * group / groups,
                             .batch_end = spec_.batch * (group + 1) / groups,
                             .row_begin = blocks * y / across * kernel_.rows,
                             .row_end = std::min(blocks * (y + 1) / across * kernel_.rows, spec_.m),
                             .vector_begin = vectors * x / along,
                             .vector_end = vectors * (x + 1) / along};
      kernel_.run(spec_, piece, a, b, c,
                  static_cast<char*>(scratch) + thread_bytes() * static_cast<std::size_t>(thread));
    };
    parallel_for(groups * across * along, threads,
                 [&](std::int64_t begin, std::int64_t end, std::int64_t thread) {
                   for (std::int64_t i = begin; i < end; ++i) run_one(i, thread);
                 });
  }

 private:
  std::size_t thread_bytes() const {
    if (spec_.b_n == 1 && spec_.n >= kernel_.lanes) return 0;
    const std::int64_t vectors =
        std::min(kernel_.vectors, (spec_.n + kernel_.lanes - 1) / kernel_.lanes);
    const auto elements = static_cast<std::size_t>(spec_.k * vectors * kernel_.lanes);
    return (elements * byte_size_of(spec_.type) + 63) / 64 * 64;
  }

  MatmulSpec spec_;
  bool is_turned_;
  SmallKernel kernel_;
  int threads_;
};

}  // namespace

std::shared_ptr<const Matmul> small_matmul(const MatmulSpec& spec) {
  const SmallKernel kernel = HWY_DYNAMIC_DISPATCH(small_kernel)(spec.type);
  const bool is_turned = spec.n == 1;
  const MatmulSpec turned = is_turned ? as_row(spec) : spec;
  if (kernel.run == nullptr || !is_small(turned, kernel)) return nullptr;
  return std::make_shared<const SmallMatmul>(turned, is_turned, kernel);
}

}  // namespace nx::kernels
#endif
