// Which SIMD targets kernels are compiled for. Included before Highway's foreach_target.h: fewer
// targets keep compile time and code size down (what is older than AVX2 runs plain SSE2 loops).
#pragma once

#if defined(__x86_64__) || defined(__i386__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
#elif defined(__aarch64__) || defined(__riscv)
// Kernels pass vectors through functions and arrays, which sizeless vectors do not allow.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif

/// Before a loop whose iterations are independent although its output may be one of its inputs.
#if defined(__clang__)
#define NX_INDEPENDENT_ITERATIONS _Pragma("clang loop vectorize(assume_safety)")
#else
#define NX_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif
