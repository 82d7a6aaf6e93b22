// Public contractions.
#include "nx/contract.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "ops/arithmetic.h"
#include "ops/contract.h"
#include "ops/elementwise.h"
#include "ops/labels.h"
#include "ops/movement.h"
#include "ops/operand.h"

namespace nx {

using ops::DotAttrs;
using ops::Plain;
using ops::plain_operand;
using ops::with_labels;

namespace {

/// Nx's rule: batch axes are the first ones, in order.
void check_batch(const char* side, const Dims& batch, SourceLocation where) {
  for (std::size_t i = 0; i < batch.size(); ++i)
    if (batch[i] != static_cast<std::int64_t>(i))
      throw ArgumentError("dot", fmt::format("batch axes of {} must be the leading ones in order, "
                                             "got {}", side, to_string(batch)), where);
}

void append_names(Names& names, const Plain& x, const Dims& axes) {
  for (const auto axis : axes) names.push_back(x.names.empty() ? Name() : x.names[at(axis)]);
}

Dims shifted(const Dims& axes, int by) {
  Dims out = axes;
  for (auto& axis : out) axis += by;
  return out;
}

/// Axes do not count the vectorised ones here.
Tensor contract(Plain a, Plain b, DType type, const DotAttrs& own) {
  const Dims free_a = ops::free_axes(a.rank(), own.contract_a, own.batch_a);
  const Dims free_b = ops::free_axes(b.rank(), own.contract_b, own.batch_b);
  Names names;
  if (!a.names.empty() || !b.names.empty()) {
    append_names(names, a, own.batch_a);
    append_names(names, a, free_a);
    append_names(names, b, free_b);
    for (std::size_t i = 0; i < names.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (!names[i].empty() && names[i] == names[j])
          throw ShapeError("dot", fmt::format("two axes of the result would have the name \"{}\"; "
                                              "rename one", names[i].view()), a.where);
  }
  const Tensor labelled[] = {with_labels(a.tensor, {}, a.vector_axes),
                             with_labels(b.tensor, {}, b.vector_axes)};
  const VectorAxes axes = ops::merge_vector_axes("dot", labelled, a.where);
  DotAttrs attrs = own;
  if (b.lead == 0 && own.batch_a.empty()) {
    // Only a has lanes: they are free axes of a like any other, and come out in front.
    attrs.contract_a = shifted(own.contract_a, a.lead);
  } else if (a.lead > 0 || b.lead > 0) {
    const int lead = static_cast<int>(axes.size());
    a.tensor = ops::align_vector_axes(labelled[0], axes, 0, true);
    b.tensor = ops::align_vector_axes(labelled[1], axes, 0, true);
    attrs = {shifted(own.contract_a, lead), ops::shift_axes(own.batch_a, lead),
             shifted(own.contract_b, lead), ops::shift_axes(own.batch_b, lead)};
  }
  // Types below a byte are computed in a whole byte; going back wraps.
  const DType wide = !is_subbyte(type) ? type : is_unsigned(type) ? DType::u8 : DType::s8;
  const Tensor out = ops::dot_dims(as_type(a.tensor, wide), as_type(b.tensor, wide), attrs);
  return with_labels(as_type(out, type), names, axes);
}

DType merged_type(const Operand& a, const Operand& b) {
  const Operand both[] = {a, b};
  return ops::merge_operand_types(both);
}

}  // namespace

Tensor dot(const Operand& left, const Operand& right) {
  const Plain a = plain_operand("dot", left), b = plain_operand("dot", right);
  if (a.rank() == 0 || b.rank() == 0) return multiply(left, right);
  const std::int64_t last = a.rank() - 1, before_last = b.rank() == 1 ? 0 : b.rank() - 2;
  const std::int64_t size_a = a.dims()[at(last)], size_b = b.dims()[at(before_last)];
  if (size_a != size_b)
    throw ShapeError("dot", fmt::format("last axis of {} and axis {} of {} differ; expected {}, "
                                        "got {}", to_string(a.dims()), before_last,
                                        to_string(b.dims()), size_a, size_b), a.where);
  return contract(a, b, merged_type(left, right), {{last}, {}, {before_last}, {}});
}

Tensor dot(const Operand& left, const Operand& right, const DotOptions& options) {
  const Plain a = plain_operand("dot", left), b = plain_operand("dot", right);
  const DotAttrs attrs{options.contract_a.resolve("dot", a.rank(), a.names),
                       options.batch_a.resolve("dot", a.rank(), a.names),
                       options.contract_b.resolve("dot", b.rank(), b.names),
                       options.batch_b.resolve("dot", b.rank(), b.names)};
  check_batch("a", attrs.batch_a, a.where);
  check_batch("b", attrs.batch_b, b.where);
  return contract(a, b, merged_type(left, right), attrs);
}

Tensor outer(const Operand& left, const Operand& right) {
  const auto flat = [](const Operand& x, bool column) {
    const Plain plain = plain_operand("outer", x);
    const std::int64_t count = element_count(plain.dims());
    const Dims dims = column ? Dims{count, 1} : Dims{1, count};
    // A vector keeps its name.
    Names names;
    if (plain.rank() == 1 && !plain.names.empty())
      names = column ? Names{plain.names[0], Name()} : Names{Name(), plain.names[0]};
    return with_labels(ops::reshape_dims(plain.tensor, plain.with_lead(dims)), names,
                       plain.vector_axes);
  };
  return multiply(flat(left, true), flat(right, false));
}

}  // namespace nx
