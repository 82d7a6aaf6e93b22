// One operation at once, by the kernels that compiled programs use. Plain addresses: whoever calls
// has checked the operands and made the results.
#pragma once

#include <span>

#include "graph/op_row.h"

namespace nx::host {

struct EagerInput {
  const void* data = nullptr;
  DType type = DType::f32;
  Dims dims;
};
struct EagerOutput {
  void* data = nullptr;
  DType type = DType::f32;
  Dims dims;
};

/// Runs an operation on contiguous arrays. `status` gets the first error of a kernel (division by
/// zero, an index out of range). Throws UnsupportedError when the row has no kernel for the types.
void run_eager(const graph::OpRow& row, std::span<const EagerInput> in, const graph::Attrs& attrs,
               std::span<const EagerOutput> out, kernels::KernelStatus* status);

/// An elementwise operation whose operands repeat to the result's dims as NumPy's do: axes match
/// from the right, missing axes and those of size 1 repeat. The same errors.
void run_eager_elementwise(const graph::OpRow& row, std::span<const EagerInput> in,
                           const EagerOutput& out, kernels::KernelStatus* status);

}  // namespace nx::host
