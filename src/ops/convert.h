// The cast between element types.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

struct ConvertAttrs {
  DType type = DType::f32;
  template <class F>
  static void fields(F&& f) {
    f("type", &ConvertAttrs::type);
  }
};
/// kBitcast has the same attributes: the type the bits are read as.
extern const graph::OpRow kConvert, kBitcast;

/// The tensor in another element type (graph level: keeps no labels); itself when it has it.
Tensor convert_to(const Tensor& x, DType type);
/// A number in its own type, or the tensor (unmarked).
Tensor as_tensor(const Operand& x);

}  // namespace nx::ops
