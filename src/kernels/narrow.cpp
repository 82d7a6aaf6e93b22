// Conversion between f32 and narrower floats, and the chunked wrapper around f32 kernels.
#include <cstring>

#include "kernels/elementwise.h"
#include "nx/element.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/narrow.cpp"
#include "kernels/simd_targets.h"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace nx::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void bf16_to_f32(const void* from, float* to, std::size_t count) {
  const auto* const in = static_cast<const std::uint16_t*>(from);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = static_cast<std::uint32_t>(in[i]) << 16;
    std::memcpy(to + i, &bits, sizeof bits);
  }
}

void f32_to_bf16(const float* from, void* to, std::size_t count) {
  auto* const out = static_cast<std::uint16_t*>(to);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, from + i, sizeof bits);
    const std::uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    const std::uint32_t nan = (bits >> 16) | 0x40u;
    out[i] = static_cast<std::uint16_t>((bits & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
  }
}

// The processor's conversions for whole vectors, the rest by integer arithmetic: normal numbers are
// rebiased, subnormal ones come out of a multiplication by a power of two.
void f16_to_f32(const void* from, float* to, std::size_t count) {
  const auto* const in = static_cast<const std::uint16_t*>(from);
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, hn::ScalableTag<float>> half_tag;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto half = hn::LoadU(half_tag, reinterpret_cast<const hwy::float16_t*>(in + i));
    hn::StoreU(hn::PromoteTo(d, half), d, to + i);
  }
#endif
  for (; i < count; ++i) {
    const std::uint32_t half = in[i];
    const std::uint32_t sign = (half & 0x8000u) << 16, rest = (half & 0x7fffu) << 13;
    const std::uint32_t exponent = rest & 0x0f800000u;
    const std::uint32_t normal = rest + 0x38000000u;
    const std::uint32_t special = rest + 0x70000000u;
    const float small = static_cast<float>(static_cast<std::int32_t>(half & 0x3ffu)) * 0x1p-24f;
    std::uint32_t small_bits;
    std::memcpy(&small_bits, &small, sizeof small);
    std::uint32_t bits = exponent == 0x0f800000u ? special : normal;
    bits = (exponent == 0 ? small_bits : bits) | sign;
    std::memcpy(to + i, &bits, sizeof bits);
  }
}

void f32_to_f16(const float* from, void* to, std::size_t count) {
  auto* const out = static_cast<std::uint16_t*>(to);
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::Rebind<hwy::float16_t, hn::ScalableTag<float>> half_tag;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto half = hn::DemoteTo(half_tag, hn::LoadU(d, from + i));
    hn::StoreU(half, half_tag, reinterpret_cast<hwy::float16_t*>(out + i));
  }
#endif
  for (; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, from + i, sizeof bits);
    const std::uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
    const std::uint32_t normal =
        (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
    // Adding 0.5 leaves the units of the smallest half in the lowest bits, rounded by the adder.
    float value;
    std::memcpy(&value, &magnitude, sizeof value);
    value += 0.5f;
    std::uint32_t shifted;
    std::memcpy(&shifted, &value, sizeof shifted);
    const std::uint32_t small = shifted - 0x3f000000u;
    std::uint32_t half = magnitude < 0x38800000u ? small : normal;
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;
    half = magnitude > 0x7f800000u ? 0x7e00u : half;
    out[i] = static_cast<std::uint16_t>(half | sign);
  }
}

}  // namespace nx::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace nx::kernels {

HWY_EXPORT(bf16_to_f32);
HWY_EXPORT(f32_to_bf16);
HWY_EXPORT(f16_to_f32);
HWY_EXPORT(f32_to_f16);

namespace {

template <class T>
void widen(const void* from, float* to, std::size_t count) {
  const T* const in = static_cast<const T*>(from);
  for (std::size_t i = 0; i < count; ++i) to[i] = in[i];
}
template <class T>
void narrow(const float* from, void* to, std::size_t count) {
  T* const out = static_cast<T*>(to);
  for (std::size_t i = 0; i < count; ++i) out[i] = T(from[i]);
}

}  // namespace

void widen_floats(DType type, const void* from, float* to, std::size_t count) {
  switch (type) {
    case DType::bf16: return HWY_DYNAMIC_DISPATCH(bf16_to_f32)(from, to, count);
    case DType::f16: return HWY_DYNAMIC_DISPATCH(f16_to_f32)(from, to, count);
    case DType::f8: return widen<Float8E5M2>(from, to, count);
    default: return widen<Float8E4M3>(from, to, count);
  }
}

void narrow_floats(DType type, const float* from, void* to, std::size_t count) {
  switch (type) {
    case DType::bf16: return HWY_DYNAMIC_DISPATCH(f32_to_bf16)(from, to, count);
    case DType::f16: return HWY_DYNAMIC_DISPATCH(f32_to_f16)(from, to, count);
    case DType::f8: return narrow<Float8E5M2>(from, to, count);
    default: return narrow<Float8E4M3>(from, to, count);
  }
}

void wrap_subbyte(DType type, void* data, std::size_t count) {
  const int unused = 8 - bits_of(type);
  if (is_unsigned(type)) {
    auto* const values = static_cast<std::uint8_t*>(data);
    const auto mask = static_cast<std::uint8_t>(0xffu >> unused);
    for (std::size_t i = 0; i < count; ++i) values[i] &= mask;
  } else {
    auto* const values = static_cast<std::int8_t*>(data);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = static_cast<std::int8_t>(static_cast<std::int8_t>(values[i] << unused) >> unused);
  }
}

void run_narrow(DType type, TileKernel kernel, int arity, bool predicate, const TileCall& call) {
  constexpr std::size_t kChunk = 256;
  alignas(64) float operands[2][kChunk];
  const std::size_t bytes = byte_size_of(type), out_bytes = predicate ? 1 : bytes;
  for (std::size_t first = 0; first < call.count; first += kChunk) {
    const std::size_t count = call.count - first < kChunk ? call.count - first : kChunk;
    const void* in[2] = {operands[0], operands[1]};
    for (int i = 0; i < arity; ++i)
      widen_floats(type, static_cast<const char*>(call.in[i]) + first * bytes, operands[i], count);
    char* const out = static_cast<char*>(call.out) + first * out_bytes;
    if (predicate) {
      kernel({in, out, count, call.status});
    } else {
      kernel({in, operands[0], count, call.status});
      narrow_floats(type, operands[0], out, count);
    }
  }
}

}  // namespace nx::kernels
#endif
