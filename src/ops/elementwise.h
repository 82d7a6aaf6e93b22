// What all elementwise public functions share: merging of types, names, vectorised axes and shapes,
// and the choice between the eager fast path and the traced one.
#pragma once

#include <initializer_list>
#include <span>

#include "graph/op_row.h"
#include "nx/tensor.h"

namespace nx::ops {

/// How the type an operation computes in, and its result's, follow from the merged type.
enum class TypeRule : std::uint8_t {
  kMerged,     // computes and gives the merged type
  kInexact,    // integers become f32
  kCompare,    // computes in the merged type, gives u8
  kInteger,    // the merged type, which must be an integer
};

/// The merged type of operands: tensors by the promotion rules, plain numbers weakly.
DType merge_operand_types(std::span<const Operand> operands);

/// An elementwise operation of one to three operands of one type.
Tensor elementwise(const graph::OpRow& row, TypeRule rule, std::initializer_list<Operand> operands);

/// The same for two operands; quicker where both are concrete, of one type and shape, and unnamed.
Tensor elementwise(const graph::OpRow& row, TypeRule rule, const Operand& a, const Operand& b);

/// The same with operand types given: operand i is cast to `types[i]`, the result is `out`. Used
/// where types differ between operands (select).
Tensor elementwise_typed(const graph::OpRow& row, std::span<const Operand> operands,
                         std::span<const DType> types, DType out);

/// Writes a number as one element of `type` (it wraps or rounds as a conversion does).
void write_number(const Number& number, DType type, void* to);

}  // namespace nx::ops
