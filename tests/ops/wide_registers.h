// Whether the halves of vector registers that only wide instructions reach are 0, as every call has
// to leave them: what is not compiled for wide vectors runs several times slower until they are.
#pragma once

#include <algorithm>
#include <array>

namespace nx {

inline bool are_wide_registers_clean() {
  std::array<unsigned char, 16 * 16> upper{};
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx")) return true;
  unsigned char* const to = upper.data();
  asm volatile(
      "vextractf128 $1, %%ymm0, 0x00(%0)\n vextractf128 $1, %%ymm1, 0x10(%0)\n"
      "vextractf128 $1, %%ymm2, 0x20(%0)\n vextractf128 $1, %%ymm3, 0x30(%0)\n"
      "vextractf128 $1, %%ymm4, 0x40(%0)\n vextractf128 $1, %%ymm5, 0x50(%0)\n"
      "vextractf128 $1, %%ymm6, 0x60(%0)\n vextractf128 $1, %%ymm7, 0x70(%0)\n"
      "vextractf128 $1, %%ymm8, 0x80(%0)\n vextractf128 $1, %%ymm9, 0x90(%0)\n"
      "vextractf128 $1, %%ymm10, 0xa0(%0)\n vextractf128 $1, %%ymm11, 0xb0(%0)\n"
      "vextractf128 $1, %%ymm12, 0xc0(%0)\n vextractf128 $1, %%ymm13, 0xd0(%0)\n"
      "vextractf128 $1, %%ymm14, 0xe0(%0)\n vextractf128 $1, %%ymm15, 0xf0(%0)\n" ::"r"(to)
      : "memory");
#endif
  return std::all_of(upper.begin(), upper.end(), [](unsigned char byte) { return byte == 0; });
}

}  // namespace nx
