// Operands and attributes with which every row can be tried: from the row itself for elementwise ones
// and reductions, from what the examples of functions do for all others, so that a new operation
// needs no line here. Lists by name add what examples leave out.
#pragma once

#include <string>
#include <vector>

#include "graph/op_row.h"

namespace nx::xla::testing {

/// How an operand's elements are drawn.
enum class Draw : std::uint8_t {
  kValues,   // ordinary numbers and, for floats, special ones
  kNumbers,  // small whole numbers: sums and products are exact in every order
  kIndices,  // -1, 0, 1 …: some out of range
  kBits,     // words
  kInside,   // fractions inside (-1, 1)
};

struct Operand {
  graph::TensorType type;
  Draw draw = Draw::kValues;
};

struct RowCase {
  const graph::OpRow* row = nullptr;
  std::vector<Operand> in;
  graph::Attrs attrs;
  std::string to_string() const;
};

/// Cases of a row for operands of that type; none when the row does not take it.
std::vector<RowCase> cases_of(const graph::OpRow& row, DType type);

/// Elements of an operand, one after another; `which` tells operands of one case apart, so that
/// elementwise ones meet in all pairs.
std::vector<unsigned char> draw_elements(const Operand& operand, std::size_t which);

/// How many values an elementwise operand is drawn from; pairs of them fill `count * count`.
std::size_t value_count(DType type);

}  // namespace nx::xla::testing
