// The inner loops of dot_small.cpp, for the SIMD target being compiled: a block of the result in
// registers, and columns turned into rows. Has no include guard of the usual
// kind; empty where there are no vectors.
#if defined(NX_DOT_SMALL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NX_DOT_SMALL_INL_H_
#undef NX_DOT_SMALL_INL_H_
#else
#define NX_DOT_SMALL_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "kernels/dot.h"

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
HWY_BEFORE_NAMESPACE();
namespace nx::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

// The largest blocks: 32 registers hold 8 x 3 vectors of the result, 16 hold 4 x 3. Few rows are
// given more vectors, a lone vector more rows, so that there are enough chains at a time.
#if HWY_TARGET == HWY_SSE2 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || \
    HWY_TARGET == HWY_AVX2
constexpr std::int64_t kRows = 4, kRowsAlone = 12, kFewRows = 2;
#else
constexpr std::int64_t kRows = 8, kRowsAlone = 16, kFewRows = 4;
#endif
constexpr std::int64_t kVectors = 3, kManyVectors = 6;
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
  std::int64_t ahead = 0;  // from each row to the one that is fetched meanwhile; 0: none
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
  const std::int64_t ahead = s.ahead;
  for (std::int64_t rest = s.k; rest > 0;) {
    const std::int64_t some = ahead == 0 ? rest : std::min<std::int64_t>(rest, 64 / sizeof(T));
    rest -= some;
    if (ahead != 0) {
#pragma GCC unroll 16
      for (int i = 0; i < kR; ++i) hwy::Prefetch(rows[i / 3] + i % 3 * a_m + ahead);
    }
    for (std::int64_t p = some; p != 0; --p) {
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
  if (vectors > kVectors)
    return block_of_rows<T, kManyVectors>(rows, std::make_integer_sequence<int, kFewRows>());
  constexpr std::make_integer_sequence<int, kRows> kUpToRows;
  return vectors == 2 ? block_of_rows<T, 2>(rows, kUpToRows) : block_of_rows<T, 3>(rows, kUpToRows);
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
void pack(const MatmulSpec& s, const T* b, std::int64_t k, std::int64_t columns, T* to,
          std::int64_t width) {
  if (s.b_n == 1) {
    for (std::int64_t p = 0; p < k; ++p) std::copy_n(b + p * s.b_k, columns, to + p * width);
  } else {
    turn_columns(b, s.b_n, k, columns, to, width);
  }
  if (kMasks || columns >= static_cast<std::int64_t>(hn::MaxLanes(hn::ScalableTag<T>()))) return;
  for (std::int64_t p = 0; p < k; ++p) std::fill_n(to + p * width + columns, width - columns, T{});
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace nx::kernels
HWY_AFTER_NAMESPACE();
#endif

#endif
