// What elementwise kernels share outside the per-target code: domains, and the wrappers that make
// kernels for narrow types out of kernels for f32, u8 and s8.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/tile.h"
#include "nx/dtype.h"

namespace nx::kernels {

/// Which element types an operation is written for.
enum class Domain : std::uint8_t { kReal, kInteger, kFloat };

/// Chooses the kernel for a type of whole bytes, at least f32 among floats.
using SelectKernel = TileKernel (*)(DType type);

/// Integers wrap: unsigned, wide enough that products do not overflow a promoted int.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 8), std::uint32_t, std::uint64_t>;

/// f8, f8_e4m3fn, bf16 and f16 from and to f32; rounds to nearest even.
void widen_floats(DType type, const void* from, float* to, std::size_t count);
void narrow_floats(DType type, const float* from, void* to, std::size_t count);
constexpr bool is_narrow_float(DType type) { return type >= DType::f8 && type <= DType::f16; }

/// Keeps the low bits of a type below a byte, sign-extended for signed ones.
void wrap_subbyte(DType type, void* data, std::size_t count);

/// `kernel` is for f32: runs it on chunks of operands of `type`. The result is of `type` too, or
/// u8 for predicates.
void run_narrow(DType type, TileKernel kernel, int arity, bool predicate, const TileCall& call);

template <SelectKernel kSelect, int kArity, bool kPredicate, DType kType>
void narrow_tile(const TileCall& call) {
  run_narrow(kType, kSelect(DType::f32), kArity, kPredicate, call);
}
template <SelectKernel kSelect, bool kPredicate, DType kType>
void subbyte_tile(const TileCall& call) {
  kSelect(is_unsigned(kType) ? DType::u8 : DType::s8)(call);
  if constexpr (!kPredicate) wrap_subbyte(kType, call.out, call.count);
}

/// The kernel for any type, or null.
template <SelectKernel kSelect, int kArity, bool kPredicate>
TileKernel any_kernel(DType type) {
  const auto if_has = [](DType base, TileKernel kernel) {
    return kSelect(base) == nullptr ? nullptr : kernel;
  };
  switch (type) {
    case DType::u2: return if_has(DType::u8, &subbyte_tile<kSelect, kPredicate, DType::u2>);
    case DType::u4: return if_has(DType::u8, &subbyte_tile<kSelect, kPredicate, DType::u4>);
    case DType::s2: return if_has(DType::s8, &subbyte_tile<kSelect, kPredicate, DType::s2>);
    case DType::s4: return if_has(DType::s8, &subbyte_tile<kSelect, kPredicate, DType::s4>);
    case DType::f8: return if_has(DType::f32, &narrow_tile<kSelect, kArity, kPredicate, DType::f8>);
    case DType::f8_e4m3fn:
      return if_has(DType::f32, &narrow_tile<kSelect, kArity, kPredicate, DType::f8_e4m3fn>);
    case DType::bf16:
      return if_has(DType::f32, &narrow_tile<kSelect, kArity, kPredicate, DType::bf16>);
    case DType::f16: return if_has(DType::f32, &narrow_tile<kSelect, kArity, kPredicate, DType::f16>);
    default: return kSelect(type);
  }
}

}  // namespace nx::kernels
