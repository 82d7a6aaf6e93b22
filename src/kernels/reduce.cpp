// Row reductions for every SIMD target. A run is spread over a fixed number of lanes, whatever the
// vectors of the machine: the order of combination depends on the count alone, on every machine.
#include "kernels/reduce.h"

#include <cmath>
#include <complex>
#include <limits>

#include "kernels/elementwise.h"
#include "nx/element.h"

#if defined(__aarch64__) || defined(__riscv)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace nx::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

template <class T>
inline constexpr bool kIsWide = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                std::is_same_v<T, std::int32_t> ||
                                std::is_same_v<T, std::uint32_t> ||
                                std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t>;

// Integers wrap: they are computed with as unsigned.
template <class T>
T wrapping(T a, T b, bool product) {
  using U = Wrapping<T>;
  return static_cast<T>(product ? static_cast<U>(a) * static_cast<U>(b)
                                : static_cast<U>(a) + static_cast<U>(b));
}

struct Sum {
  template <class T>
  static T one(T a, T b) {
    if constexpr (std::is_integral_v<T>) return wrapping(a, b, false);
    else return static_cast<T>(a + b);
  }
  template <class V>
  static V many(V a, V b) { return hn::Add(a, b); }
  template <class T> static constexpr bool kVector = kIsWide<T>;
};
struct Product {
  template <class T>
  static T one(T a, T b) {
    if constexpr (std::is_integral_v<T>) return wrapping(a, b, true);
    else return static_cast<T>(a * b);
  }
  template <class V>
  static V many(V a, V b) { return hn::Mul(a, b); }
  template <class T> static constexpr bool kVector = kIsWide<T> && sizeof(T) == 4;
};
// The accumulator stays when it is larger or NaN, else the other comes in: a NaN always stays.
struct Max {
  struct WithoutNan {  // among the elements
    template <class T>
    static T one(T a, T b) { return b > a ? b : a; }
  };
  template <class T>
  static T one(T a, T b) { return a >= b || a != a ? a : b; }
  template <class V>
  static V many(V a, V b) { return hn::IfThenElse(hn::Or(hn::Ge(a, b), hn::IsNaN(a)), a, b); }
  template <class T> static constexpr bool kVector = std::is_floating_point_v<T>;
};
struct Min {
  struct WithoutNan {  // among the elements
    template <class T>
    static T one(T a, T b) { return b < a ? b : a; }
  };
  template <class T>
  static T one(T a, T b) { return a <= b || a != a ? a : b; }
  template <class V>
  static V many(V a, V b) { return hn::IfThenElse(hn::Or(hn::Le(a, b), hn::IsNaN(a)), a, b); }
  template <class T> static constexpr bool kVector = std::is_floating_point_v<T>;
};
struct And {
  template <class T>
  static T one(T a, T b) { return static_cast<T>(a & b); }
  template <class T> static constexpr bool kVector = false;
};
struct Or {
  template <class T>
  static T one(T a, T b) { return static_cast<T>(a | b); }
  template <class T> static constexpr bool kVector = false;
};

/// `lanes[i] = op(lanes[i], in[i + k * kLanes])` over all whole blocks.
template <class Op, class T, std::size_t kLanes>
void fold_blocks(const T* in, std::size_t blocks, T* lanes) {
  if constexpr (Op::template kVector<T>) {
    const hn::CappedTag<T, 64 / sizeof(T)> d;
    constexpr std::size_t kWidth = hn::MaxLanes(hn::CappedTag<T, 64 / sizeof(T)>());
    constexpr std::size_t kVectors = kLanes / kWidth;
    hn::Vec<decltype(d)> acc[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) acc[v] = hn::LoadU(d, lanes + v * kWidth);
    for (std::size_t b = 0; b < blocks; ++b, in += kLanes)
      for (std::size_t v = 0; v < kVectors; ++v)
        acc[v] = Op::many(acc[v], hn::LoadU(d, in + v * kWidth));
    for (std::size_t v = 0; v < kVectors; ++v) hn::StoreU(acc[v], d, lanes + v * kWidth);
  } else {
    for (std::size_t b = 0; b < blocks; ++b, in += kLanes)
      for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = Op::one(lanes[i], in[i]);
  }
}

template <class Op, class T, std::size_t kLanes>
T fold_lanes(const T* in, std::size_t count) {
  alignas(64) T lanes[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) lanes[i] = in[i];
  const std::size_t blocks = count / kLanes;
  fold_blocks<Op, T, kLanes>(in + kLanes, blocks - 1, lanes);
  const std::size_t rest = count - blocks * kLanes;
  for (std::size_t i = 0; i < rest; ++i) lanes[i] = Op::one(lanes[i], in[blocks * kLanes + i]);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lanes[i] = Op::one(lanes[i], lanes[i + half]);
  return lanes[0];
}

/// Rows of a few elements, each from first to last: several rows side by side, since an operation
/// waits for the one before it.
template <class Op, class T>
void reduce_short_rows(const T* in, std::size_t rows, std::size_t columns, T* acc) {
  constexpr std::size_t kRows = 8;
  std::size_t r = 0;
  for (; r + kRows <= rows; r += kRows, in += kRows * columns, acc += kRows) {
    T value[kRows];
    for (std::size_t k = 0; k < kRows; ++k) value[k] = acc[k];
    for (std::size_t c = 0; c < columns; ++c)
      for (std::size_t k = 0; k < kRows; ++k) value[k] = Op::one(value[k], in[k * columns + c]);
    for (std::size_t k = 0; k < kRows; ++k) acc[k] = value[k];
  }
  for (; r < rows; ++r, in += columns, ++acc) {
    T value = *acc;
    for (std::size_t c = 0; c < columns; ++c) value = Op::one(value, in[c]);
    *acc = value;
  }
}

template <class T>
bool has_nan(const T* in, std::size_t count) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  auto nans = hn::IsNaN(hn::Zero(d));
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) nans = hn::Or(nans, hn::IsNaN(hn::LoadU(d, in + i)));
  bool any = !hn::AllFalse(d, nans);
  for (; i < count; ++i) any = any || in[i] != in[i];
  return any;
}

template <class Op, class T>
void reduce_rows(const void* in_address, std::size_t rows, std::size_t columns,
                 void* acc_address) {
  const T* in = static_cast<const T*>(in_address);
  T* const acc = static_cast<T*>(acc_address);
  constexpr std::size_t kFew = 64 / sizeof(T) < 8 ? 8 : 64 / sizeof(T);
  if (columns < 2 * kFew) {
    if constexpr (std::is_floating_point_v<T> && requires { typename Op::WithoutNan; })
      if (!has_nan(in, rows * columns))
        return reduce_short_rows<typename Op::WithoutNan>(in, rows, columns, acc);
    return reduce_short_rows<Op>(in, rows, columns, acc);
  }
  for (std::size_t r = 0; r < rows; ++r, in += columns)
    acc[r] = Op::one(acc[r], columns >= 8 * kFew ? fold_lanes<Op, T, 4 * kFew>(in, columns)
                                                 : fold_lanes<Op, T, kFew>(in, columns));
}

template <class Op, class T>
void combine(const TileCall& call) {
  const T* const a = static_cast<const T*>(call.in[0]);
  const T* const b = static_cast<const T*>(call.in[1]);
  T* const out = static_cast<T*>(call.out);
  std::size_t i = 0;
  if constexpr (Op::template kVector<T>) {
    const hn::ScalableTag<T> d;
    const std::size_t width = hn::Lanes(d);
    for (; i + width <= call.count; i += width)
      hn::StoreU(Op::many(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  for (; i < call.count; ++i) out[i] = Op::one(a[i], b[i]);
}

struct Kernels {
  TileKernel combine = nullptr;
  RowReduceKernel row = nullptr;
};

template <class Op>
Kernels kernels_of(DType type) {
  return visit_element(type, [](auto element) -> Kernels {
    using T = decltype(element);
    if constexpr (requires(T a) { a >= a; } || std::is_same_v<Op, Sum> ||
                  std::is_same_v<Op, Product>)
      return {&combine<Op, T>, &reduce_rows<Op, T>};
    return {};
  });
}

}  // namespace

Kernels kernels_for(Reduction reduction, DType type);
TileKernel combine_for(Reduction reduction, DType type) {
  return kernels_for(reduction, type).combine;
}
RowReduceKernel row_for(Reduction reduction, DType type) {
  return kernels_for(reduction, type).row;
}
Kernels kernels_for(Reduction reduction, DType type) {
  switch (reduction) {
    case Reduction::kSum: return kernels_of<Sum>(type);
    case Reduction::kProduct: return kernels_of<Product>(type);
    case Reduction::kMax: return kernels_of<Max>(type);
    case Reduction::kMin: return kernels_of<Min>(type);
    case Reduction::kAll: return {&combine<And, std::uint8_t>, &reduce_rows<And, std::uint8_t>};
    case Reduction::kAny: break;
  }
  return {&combine<Or, std::uint8_t>, &reduce_rows<Or, std::uint8_t>};
}

}  // namespace nx::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nx::kernels {
namespace {
HWY_EXPORT(combine_for);
HWY_EXPORT(row_for);

bool has_kernel(Reduction reduction, DType type) {
  const bool adds = reduction == Reduction::kSum || reduction == Reduction::kProduct;
  if (reduction == Reduction::kAll || reduction == Reduction::kAny) return type == DType::u8;
  return adds ? !is_subbyte(type) : !is_complex(type);
}
}  // namespace

TileKernel combine_kernel(Reduction reduction, DType type) {
  if (!has_kernel(reduction, type)) return nullptr;
  return HWY_DYNAMIC_DISPATCH(combine_for)(reduction, type);
}

RowReduceKernel row_reduce_kernel(Reduction reduction, DType type) {
  if (!has_kernel(reduction, type)) return nullptr;
  return HWY_DYNAMIC_DISPATCH(row_for)(reduction, type);
}

Number reduction_identity(Reduction reduction, DType type) {
  const bool largest = reduction == Reduction::kMin;  // of the type
  switch (reduction) {
    case Reduction::kSum: case Reduction::kAny:
      return is_inexact(type) ? Number(0.0) : Number(0);
    case Reduction::kProduct: case Reduction::kAll:
      return is_inexact(type) ? Number(1.0) : Number(1);
    case Reduction::kMax: case Reduction::kMin: break;
  }
  if (is_inexact(type)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Number(largest ? infinity : -infinity);
  }
  const int bits = bits_of(type);
  if (is_unsigned(type)) {
    const std::uint64_t most = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    return Number(largest ? most : std::uint64_t{0});
  }
  const auto most = static_cast<std::int64_t>((std::uint64_t{1} << (bits - 1)) - 1);
  return Number(largest ? most : -most - 1);
}

}  // namespace nx::kernels
#endif
