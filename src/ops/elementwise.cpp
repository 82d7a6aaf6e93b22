// The layer between public elementwise functions and their rows.
#include "ops/elementwise.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "core/at.h"
#include "core/body.h"
#include "graph/dispatch.h"
#include "graph/trace.h"
#include "ops/convert.h"
#include "ops/creation.h"
#include "ops/labels.h"
#include "ops/movement.h"

namespace nx::ops {
namespace {

using detail::Access;
using detail::Body;
using graph::OpRow;

constexpr std::size_t kMost = 3;  // operands

bool broadcast_into(Dims& out, const Dims& dims) {
  if (dims == out) return true;
  if (dims.size() > out.size()) {
    Dims wide(dims.size() - out.size(), 1);
    wide.insert(wide.end(), out.begin(), out.end());
    out = std::move(wide);
  }
  const std::size_t shift = out.size() - dims.size();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t& size = out[shift + i];
    if (size == 1) size = dims[i];
    else if (dims[i] != 1 && dims[i] != size) return false;
  }
  return true;
}

[[noreturn]] void refuse_shapes(const OpRow& row, std::span<const Operand> operands) {
  std::string shapes;
  for (const Operand& operand : operands) {
    if (operand.is_number()) continue;
    if (!shapes.empty()) shapes += " and ";
    shapes += nx::to_string(operand.tensor().type(), operand.tensor().shape());
  }
  throw ShapeError(row.name, fmt::format("shapes do not broadcast; expected equal sizes or 1 on "
                                         "each axis from the right, got {}", shapes),
                   operands[0].where());
}

void check(const OpRow& row, const Operand& operand) {
  if (!operand.is_number()) Access::checked(operand.tensor(), row.name, operand.where());
}

/// Everything plain and unlabelled: the result's dims are broadcast from the operands'.
Tensor run_plain(const OpRow& row, std::span<const Operand> operands, std::span<const DType> types,
                 DType out, detail::Labels* labels) {
  Dims dims;
  for (const Operand& operand : operands)
    if (!operand.is_number() && !broadcast_into(dims, Access::body(operand.tensor())->dims))
      refuse_shapes(row, operands);
  const SourceLocation where = operands[0].where();
  if (graph::current_trace() != nullptr) {
    Tensor in[kMost];
    for (std::size_t i = 0; i < operands.size(); ++i)
      in[i] = operands[i].is_number()
                  ? full_dims(operands[i].number(), types[i], dims)
                  : broadcast_to(convert_to(without_labels(operands[i].tensor()), types[i]), dims);
    return graph::emit(row, std::span<const Tensor>(in, operands.size()), {}, where, labels);
  }
  Tensor converted[kMost];
  graph::EagerOperand in[kMost];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    in[i].type = types[i];
    if (operands[i].is_number()) {
      write_number(operands[i].number(), types[i], in[i].scalar);
      continue;
    }
    const Tensor& tensor = operands[i].tensor();
    const Body& body = *Access::body(tensor);
    if (body.content != detail::Content::kBuffer) {
      converted[i] = graph::emit(row, {tensor}, {}, where);  // throws: traced or a template
    }
    if (body.type == types[i]) {
      in[i].tensor = &tensor;
    } else {
      converted[i] = convert_to(without_labels(tensor), types[i]);
      in[i].tensor = &converted[i];
    }
  }
  return graph::dispatch().eager_elementwise(row, std::span<const graph::EagerOperand>(in, operands.size()),
                                             out, std::move(dims), where, labels);
}

/// Names and vectorised axes first, then the plain operation on aligned operands.
Tensor run_labelled(const OpRow& row, std::span<const Operand> operands,
                    std::span<const DType> types, DType out) {
  const SourceLocation where = operands[0].where();
  graph::Tensors tensors;
  std::size_t rank = 0;
  Names names;
  for (const Operand& operand : operands) {
    if (operand.is_number()) continue;
    const Tensor& t = operand.tensor();
    tensors.push_back(t);
    const auto own = at(t.rank());
    names = merge_names(row.name, names, rank, t.names(), own, where);
    rank = std::max(rank, own);
  }
  VectorAxes axes = merge_vector_axes(row.name, tensors, where);
  if (axes.empty()) {
    const LabelsRef labels(std::move(names), {});
    return run_plain(row, operands, types, out, labels.get());
  }
  Tensor aligned[kMost];
  std::vector<Operand> plain;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i].is_number()) {
      plain.push_back(operands[i]);
      continue;
    }
    aligned[i] = align_vector_axes(operands[i].tensor(), axes, rank, false);
    plain.emplace_back(aligned[i], where);
  }
  const LabelsRef labels(std::move(names), std::move(axes));
  return run_plain(row, plain, types, out, labels.get());
}

}  // namespace

void write_number(const Number& number, DType type, void* to) {
  visit_element(type, [&](auto element) {
    using T = decltype(element);
    T value;
    if constexpr (std::is_integral_v<T>) {
      if (number.is_integer()) {
        value = static_cast<T>(number.integer());
      } else {
        const double real = number.real();
        using L = std::numeric_limits<T>;
        if (std::isnan(real)) value = 0;
        else if (real >= static_cast<double>(L::max())) value = L::max();
        else if (real <= static_cast<double>(L::min())) value = L::min();
        else value = static_cast<T>(real);
      }
    } else if constexpr (requires(T t) { t.imag(); }) {
      using Part = typename T::value_type;
      value = T(static_cast<Part>(number.real()), static_cast<Part>(number.imag()));
    } else if constexpr (std::is_same_v<T, double>) {
      value = number.real();
    } else {
      value = T(static_cast<float>(number.real()));
    }
    std::memcpy(to, &value, sizeof value);
  });
}

DType merge_operand_types(std::span<const Operand> operands) {
  bool any = false;
  DType type = DType::s32;
  for (const Operand& operand : operands) {
    if (operand.is_number()) continue;
    const DType own = Access::body(operand.tensor())->type;
    type = any ? merge_types(type, own) : own;
    any = true;
  }
  for (const Operand& operand : operands) {
    if (!operand.is_number()) continue;
    type = any ? merge_with_number(type, operand.number()) : default_type(operand.number());
    any = true;
  }
  return type;
}

Tensor elementwise_typed(const OpRow& row, std::span<const Operand> operands,
                         std::span<const DType> types, DType out) {
  bool labelled = false;
  for (const Operand& operand : operands) {
    check(row, operand);
    labelled = labelled || (!operand.is_number() && has_labels(operand.tensor()));
  }
  return labelled ? run_labelled(row, operands, types, out)
                  : run_plain(row, operands, types, out, nullptr);
}

Tensor elementwise(const OpRow& row, TypeRule rule, std::initializer_list<Operand> operands) {
  for (const Operand& operand : operands) check(row, operand);
  const std::span<const Operand> list(operands.begin(), operands.size());
  DType type = merge_operand_types(list);
  DType out = type;
  switch (rule) {
    case TypeRule::kMerged: break;
    case TypeRule::kInexact: type = out = to_inexact(type); break;
    case TypeRule::kCompare: out = DType::u8; break;
    case TypeRule::kInteger:
      if (!is_integer(type))
        throw DTypeError(row.name, fmt::format("expected integers, got {}", name_of(type)),
                         operands.begin()->where());
      break;
  }
  const DType types[kMost] = {type, type, type};
  return elementwise_typed(row, list, {types, list.size()}, out);
}

Tensor elementwise(const OpRow& row, TypeRule rule, const Operand& a, const Operand& b) {
  if (!a.is_number() && !b.is_number() && graph::current_trace() == nullptr) {
    const Body* const x = Access::body(a.tensor());
    const Body* const y = Access::body(b.tensor());
    const auto is_plain = [](const Body* body) {
      return body != nullptr && body->content == detail::Content::kBuffer && !body->labels;
    };
    if (is_plain(x) && is_plain(y) && x->type == y->type && x->dims == y->dims) {
      const bool fits = rule == TypeRule::kInexact   ? is_inexact(x->type)
                        : rule == TypeRule::kInteger ? is_integer(x->type)
                                                     : true;
      if (fits) {
        const graph::EagerOperand in[] = {{&a.tensor(), x->type, {}}, {&b.tensor(), x->type, {}}};
        const DType out = rule == TypeRule::kCompare ? DType::u8 : x->type;
        return graph::dispatch().eager_elementwise(row, in, out, x->dims, a.where(), nullptr);
      }
    }
  }
  return elementwise(row, rule, {a, b});
}

}  // namespace nx::ops
