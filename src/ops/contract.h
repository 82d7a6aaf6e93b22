// The row of dot, as stablehlo.dot_general: the result's axes are the batch axes, the free axes of
// a, the free axes of b, each in ascending order (batch in the order given).
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

/// `contract_a[i]` meets `contract_b[i]`, `batch_a[i]` meets `batch_b[i]`.
struct DotAttrs {
  Dims contract_a, batch_a, contract_b, batch_b;
  template <class F>
  static void fields(F&& f) {
    f("contract_a", &DotAttrs::contract_a);
    f("batch_a", &DotAttrs::batch_a);
    f("contract_b", &DotAttrs::contract_b);
    f("batch_b", &DotAttrs::batch_b);
  }
};

/// Both operands and the result have one element type; integers wrap.
extern const graph::OpRow kDot;

/// The axes of an operand of that rank in neither list, ascending.
Dims free_axes(int rank, const Dims& contract, const Dims& batch);
Tensor dot_dims(const Tensor& a, const Tensor& b, DotAttrs attrs);

}  // namespace nx::ops
