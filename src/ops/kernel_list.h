// What follows from one line for each kernel of a family's file, `NX_KERNELS(X)` with lines
// `X(row, kernel, arity, Functor)`: the kernels of every SIMD target, their choice at run time, and
// the list of rows.
#pragma once

/// In the part that is compiled for each target.
#define NX_DEFINE_KERNEL(row, name, arity, ...) \
  TileKernel name(DType type) { return select_kernel<__VA_ARGS__, arity>(type); }

/// In namespace nx::ops: `name##_kernel(DType)`, and the row's declaration.
#define NX_EXPORT_KERNEL(row, name, arity, ...) \
  extern const graph::OpRow row;                \
  HWY_EXPORT(name);                             \
  static kernels::TileKernel name##_kernel(DType type) { return HWY_DYNAMIC_DISPATCH(name)(type); }

/// Beside the two above, for families whose operations are links of chains (kernels/chain.h).
#define NX_DEFINE_CHAIN(row, name, arity, ...) \
  ChainForm name##_form(DType type) { return select_chain<__VA_ARGS__, arity>(type); }
#define NX_EXPORT_CHAIN(row, name, arity, ...)                          \
  HWY_EXPORT(name##_form);                                              \
  [[maybe_unused]] static kernels::ChainForm name##_chain(DType type) { \
    return HWY_DYNAMIC_DISPATCH(name##_form)(type);                     \
  }

#define NX_ROW_ADDRESS(row, name, arity, ...) &row,
