// layer: ops
// Assertions on tensors for tests, with or without a test framework: they throw, and say by how
// much and where two tensors differ.
//
//   nx::testing::assert_all_close(nx::sum(x), nx::tensor(6.0), {.rtol = 1e-6});
#pragma once

#include <string>

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx::testing {

struct CloseOptions {
  double rtol = 1e-5;      ///< Allowed difference relative to the expected value,
  double atol = 1e-8;      ///< plus this.
  bool equal_nan = false;  ///< NaN equals NaN.
};

/// What differs between two tensors: type, shape, names, or the first element, the largest absolute
/// difference and the largest one in units in the last place. Empty when nothing does.
NX_API std::string describe_difference(const Tensor& got, const Tensor& expected,
                                       const CloseOptions& options);

/// Throws nx::Error when types, shapes or names differ, or an element by more than allowed.
NX_API void assert_all_close(const Tensor& got, const Tensor& expected,
                             const CloseOptions& options = {});
/// Throws nx::Error unless type, shape, names and every element are equal; NaN equals NaN.
NX_API void assert_equal(const Tensor& got, const Tensor& expected);

}  // namespace nx::testing
