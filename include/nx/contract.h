// layer: ops
// Contraction: matrix products and their generalisation.
#pragma once

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

struct DotOptions {
  Axes contract_a = {}, batch_a = {}, contract_b = {}, batch_b = {};
  template <class F>
  static void fields(F&& f) {
    f("contract_a", &DotOptions::contract_a);
    f("batch_a", &DotOptions::batch_a);
    f("contract_b", &DotOptions::contract_b);
    f("batch_b", &DotOptions::batch_b);
  }
};
/// The last axis of `a` against the last but one of `b` (the only one of a vector); a scalar
/// multiplies. Integers keep the merged type and wrap.
NX_API Tensor dot(const Operand& a, const Operand& b);
/// Multiplies and adds up along pairs of axes. Batch axes are the leading ones of both. The result
/// has the batch axes, the other axes of `a`, the other axes of `b`.
NX_API Tensor dot(const Operand& a, const Operand& b, const DotOptions& options);

/// Every product of an element of `a` with one of `b`: both flattened, [size of a, size of b].
NX_API Tensor outer(const Operand& a, const Operand& b);

}  // namespace nx
