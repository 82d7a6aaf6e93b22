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
concept HasMany1 = requires(D d, V v) {
  Op::many(d, v);
};
template <class Op, class D, class V>
concept HasMany2 = requires(D d, V v) {
  Op::many(d, v, v);
};

// Up to one vector. Where there are no masked moves it goes through a buffer.
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
template <class D>
hn::Vec<D> load_some(D d, const hn::TFromD<D>* from, std::size_t count) {
  return hn::MaskedLoad(hn::FirstN(d, count), d, from);
}
template <class D>
void store_some(D d, hn::Vec<D> value, hn::TFromD<D>* to, std::size_t count) {
  hn::BlendedStore(value, hn::FirstN(d, count), d, to);
}
#else
template <class D>
hn::Vec<D> load_some(D d, const hn::TFromD<D>* from, std::size_t count) {
  HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(d)] = {};
  for (std::size_t k = 0; k < count; ++k) buffer[k] = from[k];
  return hn::Load(d, buffer);
}
template <class D>
void store_some(D d, hn::Vec<D> value, hn::TFromD<D>* to, std::size_t count) {
  HWY_ALIGN hn::TFromD<D> buffer[hn::MaxLanes(d)];
  hn::Store(value, d, buffer);
  for (std::size_t k = 0; k < count; ++k) to[k] = buffer[k];
}
#endif
// The same, padded with copies of the first element: no lane holds a value that the run does not
// have, so rare slow paths are not taken for padding.
template <class D>
hn::Vec<D> load_padded(D d, const hn::TFromD<D>* from, std::size_t count) {
  return hn::IfThenElse(hn::FirstN(d, count), load_some(d, from, count), hn::Set(d, *from));
}

template <class Op, class T>
HWY_NOINLINE void vector_tile1(const TileCall& call) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d), count = call.count;
  const T* const a = static_cast<const T*>(call.in[0]);
  T* const out = static_cast<T*>(call.out);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(Op::many(d, hn::LoadU(d, a + i)), d, out + i);
  if (i == count) return;
  store_some(d, Op::many(d, load_padded(d, a + i, count - i)), out + i, count - i);
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
  const auto left = load_padded(d, a + i, count - i), right = load_padded(d, b + i, count - i);
  store_some(d, Op::many(d, left, right), out + i, count - i);
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

/// Whether loops over `one` are to be preferred to `many`: the compiler vectorises them, where
/// Highway has no vectors.
template <class Op, class T, class... Operands>
constexpr bool prefers_one() {
  return HWY_TARGET == HWY_SCALAR && requires(Operands... x) { Op::template one<T>(x...); };
}

template <class Op, int kArity, class T>
TileKernel typed_kernel() {
  using Out = std::conditional_t<Op::kPredicate, std::uint8_t, T>;
  using D = hn::ScalableTag<T>;
  if constexpr (requires(const TileCall& call) { Op::template run<T>(call); }) {
    return &Op::template run<T>;
  } else if constexpr (kArity == 1) {
    if constexpr (std::is_floating_point_v<T> && !Op::kPredicate) {
      if constexpr (HasMany1<Op, D, hn::Vec<D>> && !prefers_one<Op, T, T>())
        return &vector_tile1<Op, T>;
      else return &scalar_tile1<Op, T, Out>;
    } else {
      return &scalar_tile1<Op, T, Out>;
    }
  } else {
    if constexpr (std::is_floating_point_v<T> && !Op::kPredicate) {
      if constexpr (HasMany2<Op, D, hn::Vec<D>> && !prefers_one<Op, T, T, T>())
        return &vector_tile2<Op, T>;
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
