// Tile kernels out of per-element functions, for the SIMD target being compiled. Included by the
// family files of ops/ inside Highway's foreach_target; has no include guard of the usual kind.
//
// An operation is a struct Op with
//   kDomain                      which element types it takes
//   one(a, b…)                   one element, as `template <class T>`; loops over it vectorise
//   many(d, a, b…)               optional: floats, on Highway vectors
//   template <class T> run(call) optional: the whole run, for kernels that report errors
#if defined(NX_ELEMENTWISE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef NX_ELEMENTWISE_INL_H_
#undef NX_ELEMENTWISE_INL_H_
#else
#define NX_ELEMENTWISE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>
#include <type_traits>

#include "kernels/elementwise.h"

HWY_BEFORE_NAMESPACE();
namespace nx::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Op, class D, class V>
concept HasMany1 = requires(D d, V v) { Op::many(d, v); };
template <class Op, class D, class V>
concept HasMany2 = requires(D d, V v) { Op::many(d, v, v); };

// Tails go through a buffer padded with copies of the first element: no lane holds a value that
// the run does not have, so rare slow paths are not taken for padding.
template <class Op, class T>
HWY_NOINLINE void vector_tile1(const TileCall& call) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), count = call.count;
  const T* const a = static_cast<const T*>(call.in[0]);
  T* const out = static_cast<T*>(call.out);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(Op::many(d, hn::LoadU(d, a + i)), d, out + i);
  if (i == count) return;
  HWY_ALIGN T rest[hn::MaxLanes(d)];
  hn::Store(hn::Set(d, a[i]), d, rest);
  for (std::size_t k = 0; k < count - i; ++k) rest[k] = a[i + k];
  hn::Store(Op::many(d, hn::Load(d, rest)), d, rest);
  for (std::size_t k = 0; k < count - i; ++k) out[i + k] = rest[k];
}

template <class Op, class T>
HWY_NOINLINE void vector_tile2(const TileCall& call) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), count = call.count;
  const T* const a = static_cast<const T*>(call.in[0]);
  const T* const b = static_cast<const T*>(call.in[1]);
  T* const out = static_cast<T*>(call.out);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    hn::StoreU(Op::many(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  if (i == count) return;
  HWY_ALIGN T left[hn::MaxLanes(d)];
  HWY_ALIGN T right[hn::MaxLanes(d)];
  hn::Store(hn::Set(d, a[i]), d, left);
  hn::Store(hn::Set(d, b[i]), d, right);
  for (std::size_t k = 0; k < count - i; ++k) left[k] = a[i + k], right[k] = b[i + k];
  hn::Store(Op::many(d, hn::Load(d, left), hn::Load(d, right)), d, left);
  for (std::size_t k = 0; k < count - i; ++k) out[i + k] = left[k];
}

template <class Op, class T, class Out>
HWY_NOINLINE void scalar_tile1(const TileCall& call) {
  const T* const a = static_cast<const T*>(call.in[0]);
  Out* const out = static_cast<Out*>(call.out);
  const std::size_t count = call.count;
  NX_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) out[i] = Op::template one<T>(a[i]);
}

template <class Op, class T, class Out>
HWY_NOINLINE void scalar_tile2(const TileCall& call) {
  const T* const a = static_cast<const T*>(call.in[0]);
  const T* const b = static_cast<const T*>(call.in[1]);
  Out* const out = static_cast<Out*>(call.out);
  const std::size_t count = call.count;
  NX_INDEPENDENT_ITERATIONS
  for (std::size_t i = 0; i < count; ++i) out[i] = Op::template one<T>(a[i], b[i]);
}

template <class Op, int kArity, class T>
TileKernel typed_kernel() {
  using Out = std::conditional_t<Op::kPredicate, std::uint8_t, T>;
  using D = hn::ScalableTag<T>;
  if constexpr (requires(const TileCall& call) { Op::template run<T>(call); }) {
    return &Op::template run<T>;
  } else if constexpr (kArity == 1) {
    if constexpr (std::is_floating_point_v<T> && !Op::kPredicate) {
      if constexpr (HasMany1<Op, D, hn::Vec<D>>) return &vector_tile1<Op, T>;
      else return &scalar_tile1<Op, T, Out>;
    } else {
      return &scalar_tile1<Op, T, Out>;
    }
  } else {
    if constexpr (std::is_floating_point_v<T> && !Op::kPredicate) {
      if constexpr (HasMany2<Op, D, hn::Vec<D>>) return &vector_tile2<Op, T>;
      else return &scalar_tile2<Op, T, Out>;
    } else {
      return &scalar_tile2<Op, T, Out>;
    }
  }
}

/// The kernel of an operation for one of the types that loops are written for: whole bytes, no
/// floats below f32 (ops/elementwise_rows.h wraps those). Null when it does not take the type.
template <class Op, int kArity>
TileKernel select_kernel(DType type) {
  if constexpr (Op::kDomain != Domain::kFloat) {
    switch (type) {
      case DType::u8: return typed_kernel<Op, kArity, std::uint8_t>();
      case DType::u16: return typed_kernel<Op, kArity, std::uint16_t>();
      case DType::u32: return typed_kernel<Op, kArity, std::uint32_t>();
      case DType::u64: return typed_kernel<Op, kArity, std::uint64_t>();
      case DType::s8: return typed_kernel<Op, kArity, std::int8_t>();
      case DType::s16: return typed_kernel<Op, kArity, std::int16_t>();
      case DType::s32: return typed_kernel<Op, kArity, std::int32_t>();
      case DType::s64: return typed_kernel<Op, kArity, std::int64_t>();
      default: break;
    }
  }
  if constexpr (Op::kDomain != Domain::kInteger) {
    if (type == DType::f32) return typed_kernel<Op, kArity, float>();
    if (type == DType::f64) return typed_kernel<Op, kArity, double>();
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace nx::kernels
HWY_AFTER_NAMESPACE();

#endif
