// Small and middle-sized matrix products, where oneDNN's call costs more than the work or its loops
// are no faster (docs/decisions/0012-own-kernel-for-small-products.md). A block of the result stays
// in registers over the whole of k: each element is one chain of multiply-adds, whatever m, n and
// the threads. What is left over at the end of rows and columns is covered by blocks that overlap.
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

#include "kernels/dot_small-inl.h"

#ifndef NX_KERNELS_DOT_SMALL_ONCE
#define NX_KERNELS_DOT_SMALL_ONCE
namespace nx::kernels {
/// What one thread computes: rows and vectors of columns of some products of the batch, over a
/// part of k.
struct SmallPiece {
  std::int64_t batch_begin = 0, batch_end = 0, row_begin = 0, row_end = 0;
  std::int64_t vector_begin = 0, vector_end = 0, k_begin = 0, k_end = 0;
};
/// The kernel of one type on this machine.
struct SmallKernel {
  std::int64_t rows = 0, lanes = 0;            // of the largest block, of a vector
  std::int64_t few_rows = 0;                   // which get many_vectors, others vectors
  std::int64_t vectors = 0, many_vectors = 0;  // side by side
  std::int64_t most_k = 0, most_work = 0;      // up to which it is ahead of oneDNN's
  void (*run)(const MatmulSpec&, const SmallPiece&, const void* a, const void* b, void* c,
              void* scratch) = nullptr;
};
/// The product of the transposed operands, whose result is this one's transposed.
inline MatmulSpec as_turned(const MatmulSpec& s) {
  MatmulSpec turned = s;
  std::swap(turned.m, turned.n);
  std::swap(turned.a_batch, turned.b_batch);
  turned.a_m = s.b_n, turned.a_k = s.b_k, turned.b_k = s.a_k, turned.b_n = s.a_m;
  return turned;
}
}  // namespace nx::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace nx::kernels::HWY_NAMESPACE {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
SmallKernel small_kernel(DType) { return {}; }  // oneDNN has vectors even then
#else
namespace hn = hwy::HWY_NAMESPACE;
namespace {

/// The processor foresees how a row goes on, not where the next block's rows begin: they are
/// fetched along with this block's. Shorter rows are in a cache anyway.
constexpr std::int64_t kLongRow = 256;

/// A panel of some vectors of columns, of all rows and products of the piece.
template <class T>
void run_panel(const MatmulSpec& s, const SmallPiece& piece, std::int64_t column,
               std::int64_t vectors, std::int64_t last, const T* a, const T* b, T* c, T* scratch) {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const std::int64_t width = std::min(kLanes, s.n), rows = piece.row_end - piece.row_begin;
  const bool packed = (s.b_n != 1 && s.n > 1) || (!kMasks && width < kLanes);
  const std::int64_t most = vectors == 1 ? kRowsAlone : kRows;
  const std::int64_t blocks = (rows + most - 1) / most, block_rows = (rows + blocks - 1) / blocks;
  const std::int64_t k = piece.k_end - piece.k_begin;
  const MultiplyBlock<T> multiply = block_for<T>(block_rows, vectors);
  for (std::int64_t i = piece.batch_begin; i < piece.batch_end; ++i) {
    const T* const from = b + i * s.b_batch + piece.k_begin * s.b_k + column * s.b_n;
    if (packed) pack(s, from, k, last + width, scratch, vectors * kLanes);
    Block<T> block{.a = a,
                   .a_m = s.a_m,
                   .a_k = s.a_k,
                   .b = packed ? scratch : from,
                   .b_k = packed ? vectors * kLanes : s.b_k,
                   .c = c,
                   .c_m = s.n,
                   .k = k,
                   .last = last,
                   .width = width};
    for (std::int64_t row = piece.row_begin; row < piece.row_end; row += block_rows) {
      const std::int64_t first = std::min(row, piece.row_end - block_rows);
      block.a = a + i * s.a_batch + first * s.a_m + piece.k_begin * s.a_k;
      block.c = c + (i * s.m + first) * s.n + column;
      const std::int64_t next = first + block_rows;
      const bool fetches = s.a_k == 1 && k >= kLongRow && next + block_rows <= piece.row_end;
      block.ahead = fetches ? block_rows * s.a_m : 0;
      multiply(block);
    }
  }
}

/// Whether the columns that do not fill a vector are computed as rows of the turned product: its
/// vectors run along m and are full, so nothing is computed that nobody wants. For products that
/// need neither operand packed and have a k that pays for turning the result.
template <class T>
bool has_turned_rest(const MatmulSpec& s) {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>()), kLeastK = 64;
  const std::int64_t rest = s.n % kLanes;
  return kMasks && s.a_m == 1 && s.b_n == 1 && s.n > kLanes && rest != 0 &&
         4 * rest <= 3 * kLanes && s.m >= 4 * kLanes && s.k >= kLeastK;
}

template <class T>
void run_piece(const MatmulSpec& s, const SmallPiece& piece, const void* a, const void* b, void* c,
               void* scratch);

/// Those columns, of the rows of the piece: some rows at a time into a buffer, from there to c.
template <class T>
void run_turned_rest(const MatmulSpec& s, const SmallPiece& piece, const T* a, const T* b, T* c) {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>()), kMost = 3 * kVectors * kLanes;
  HWY_ALIGN T turned[kLanes * kMost];
  MatmulSpec t = as_turned(s);
  t.batch = 1;
  t.m = s.n % kLanes;
  const std::int64_t column = s.n - t.m;
  for (std::int64_t i = piece.batch_begin; i < piece.batch_end; ++i)
    for (std::int64_t row = piece.row_begin; row < piece.row_end; row += kMost) {
      t.n = std::min(kMost, piece.row_end - row);
      const SmallPiece all{.batch_end = 1,
                           .row_end = t.m,
                           .vector_end = (t.n + kLanes - 1) / kLanes,
                           .k_begin = piece.k_begin,
                           .k_end = piece.k_end};
      run_piece<T>(t, all, b + i * s.b_batch + column, a + i * s.a_batch + row, turned, nullptr);
      turn_columns(turned, t.n, t.n, t.m, c + (i * s.m + row) * s.n + column, s.n);
    }
}

template <class T>
void run_piece(const MatmulSpec& s, const SmallPiece& piece, const void* a, const void* b, void* c,
               void* scratch) {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  const std::int64_t last_column = std::max<std::int64_t>(0, s.n - kLanes);
  const bool turns_rest = has_turned_rest<T>(s) && piece.vector_end * kLanes > s.n;
  const std::int64_t vector_end = piece.vector_end - (turns_rest ? 1 : 0);
  for (std::int64_t v = piece.vector_begin; v < vector_end;) {
    const std::int64_t left = vector_end - v, panels = (left + kVectors - 1) / kVectors;
    const std::int64_t vectors =
        s.m <= kFewRows && left >= kManyVectors ? kManyVectors : (left + panels - 1) / panels;
    const std::int64_t column = std::min(v * kLanes, last_column);
    v += vectors;
    const std::int64_t last = std::min((v - 1) * kLanes, last_column) - column;
    run_panel(s, piece, column, vectors, last, static_cast<const T*>(a), static_cast<const T*>(b),
              static_cast<T*>(c), static_cast<T*>(scratch));
  }
  if (turns_rest)
    run_turned_rest(s, piece, static_cast<const T*>(a), static_cast<const T*>(b),
                    static_cast<T*>(c));
}

template <class T>
SmallKernel small_kernel_for() {
  constexpr std::int64_t kLanes = hn::MaxLanes(hn::ScalableTag<T>());
  constexpr bool kIsWide = kRows == 8;
  return {.rows = kRows,
          .lanes = kLanes,
          .few_rows = kFewRows,
          .vectors = kVectors,
          .many_vectors = kManyVectors,
          .most_k = kIsWide ? 1024 : 256,
          .most_work = kIsWide ? 1 << 24 : 1 << 20,
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

/// Whether a product, or each of a batch, is of those where the kernel was measured to be ahead.
/// Columns that have to be packed want rows to pay for it.
bool is_taken(const MatmulSpec& s, const SmallKernel& kernel) {
  constexpr std::int64_t kMostResults = 1 << 18;
  if (s.k > kernel.most_k || s.m > kMostResults || s.n > kMostResults) return false;
  if (s.m * s.n > kMostResults || s.m * s.n * s.k > kernel.most_work) return false;
  const bool packed = s.b_n != 1 && s.n > 1;
  return !packed || s.k <= 128 || s.m >= 16;
}

/// What a thread should have to do at least, in multiplications: about 1 us.
constexpr double kLeastWork = 1e5;

class SmallMatmul final : public Matmul {
 public:
  SmallMatmul(const MatmulSpec& spec, bool is_turned, const SmallKernel& kernel)
      : spec_(spec),
        is_turned_(is_turned),
        kernel_(kernel),
        threads_(most_threads()),
        runs_(runs_of(spec)) {}

  std::size_t scratch_bytes() const override {
    return thread_bytes() * static_cast<std::size_t>(threads_) +
           partial_bytes() * static_cast<std::size_t>(runs_ - 1);
  }
  // Two thirds of the speed with operands from the nearest cache: they come from others' as well.
  double cost_us() const override { return products_of(spec_) / 9e4; }

  void run(const void* a, const void* b, void* c, void* scratch, int threads) const override {
    if (is_turned_) std::swap(a, b);
    const double most = std::min<double>(threads, products_of(spec_) / kLeastWork);
    threads = std::clamp(static_cast<int>(most), 1, threads_);
    const std::int64_t blocks = (spec_.m + kernel_.rows - 1) / kernel_.rows;
    const std::int64_t vectors = (spec_.n + kernel_.lanes - 1) / kernel_.lanes;
    if (threads == 1 && runs_ == 1) {
      kernel_.run(spec_, {0, spec_.batch, 0, spec_.m, 0, vectors, 0, spec_.k}, a, b, c, scratch);
      return;
    }
    const std::int64_t each = std::max<std::int64_t>(1, threads / runs_);
    const std::int64_t groups = std::min(each, spec_.batch);
    const auto [across, along] = cut(each / groups, blocks, vectors);
    char* const partials =
        static_cast<char*>(scratch) + thread_bytes() * static_cast<std::size_t>(threads_);
    const auto run_one = [&, across = across, along = along](std::int64_t i, std::int64_t thread) {
      const std::int64_t run = i / along / across / groups, group = i / along / across % groups,
                         y = i / along % across, x = i % along;
      const SmallPiece piece{.batch_begin = spec_.batch * group / groups,
                             .batch_end = spec_.batch * (group + 1) / groups,
                             .row_begin = blocks * y / across * kernel_.rows,
                             .row_end = std::min(blocks * (y + 1) / across * kernel_.rows, spec_.m),
                             .vector_begin = vectors * x / along,
                             .vector_end = vectors * (x + 1) / along,
                             .k_begin = spec_.k * run / runs_,
                             .k_end = spec_.k * (run + 1) / runs_};
      void* const to =
          run == 0 ? c : partials + partial_bytes() * static_cast<std::size_t>(run - 1);
      kernel_.run(spec_, piece, a, b, to,
                  static_cast<char*>(scratch) + thread_bytes() * static_cast<std::size_t>(thread));
    };
    parallel_for(runs_ * groups * across * along, threads,
                 [&](std::int64_t begin, std::int64_t end, std::int64_t thread) {
                   for (std::int64_t i = begin; i < end; ++i) run_one(i, thread);
                 });
    if (runs_ > 1)
      add_runs(spec_, static_cast<float*>(c), partials, partial_bytes(), runs_, threads);
  }

 private:
  /// Into how many pieces rows and columns are cut for some threads: that which leaves the least to
  /// one of them, rows first.
  static std::pair<std::int64_t, std::int64_t> cut(std::int64_t threads, std::int64_t blocks,
                                                   std::int64_t vectors) {
    const auto most = [&](std::int64_t across, std::int64_t along) {
      return ((blocks + across - 1) / across) * ((vectors + along - 1) / along);
    };
    const std::int64_t across = std::min(threads, blocks), along = std::min(threads, vectors);
    const std::int64_t rest_along = std::min(threads / across, vectors);
    const std::int64_t rest_across = std::min(threads / along, blocks);
    if (most(across, rest_along) <= most(rest_across, along)) return {across, rest_along};
    return {rest_across, along};
  }
  std::size_t thread_bytes() const {
    if (spec_.b_n == 1 && spec_.n >= kernel_.lanes) return 0;
    const std::int64_t vectors =
        std::min(spec_.m <= kernel_.few_rows ? kernel_.many_vectors : kernel_.vectors,
                 (spec_.n + kernel_.lanes - 1) / kernel_.lanes);
    const auto elements = static_cast<std::size_t>(spec_.k * vectors * kernel_.lanes);
    return padded(elements * byte_size_of(spec_.type));
  }

  std::size_t partial_bytes() const {
    return padded(static_cast<std::size_t>(spec_.m * spec_.n) * byte_size_of(spec_.type));
  }

  MatmulSpec spec_;
  bool is_turned_;
  SmallKernel kernel_;
  int threads_;
  std::int64_t runs_;  // along k
};

}  // namespace

std::shared_ptr<const Matmul> small_matmul(const MatmulSpec& spec) {
  const SmallKernel kernel = HWY_DYNAMIC_DISPATCH(small_kernel)(spec.type);
  const bool is_turned = spec.n == 1;  // a column as the result is a row of the turned product
  const MatmulSpec turned = is_turned ? as_turned(spec) : spec;
  if (kernel.run == nullptr || !is_taken(turned, kernel)) return nullptr;
  return std::make_shared<const SmallMatmul>(turned, is_turned, kernel);
}

}  // namespace nx::kernels
#endif
