// rename, vectorize and devectorize: other labels on the same values.
#include "nx/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "ops/creation.h"
#include "ops/erase.h"
#include "ops/families.h"
#include "ops/operand.h"

namespace nx {

using ops::Plain;
using ops::plain_operand;

namespace {

void check_unused(std::string_view operation, Name name, const Names& names,
                  const VectorAxes& vector_axes, SourceLocation where) {
  const bool vectorised = std::any_of(vector_axes.begin(), vector_axes.end(),
                                      [&](const VectorAxis& a) { return a.name == name; });
  if (vectorised || std::find(names.begin(), names.end(), name) != names.end())
    throw ShapeError(operation, fmt::format("the name \"{}\" is in use already", name.view()),
                     where);
}

}  // namespace

Tensor rename(const Operand& x, const Names& names) {
  const Plain plain = plain_operand("rename", x);
  ops::check_names("rename", names, at(plain.rank()));
  for (const Name name : names)
    if (!name.empty()) check_unused("rename", name, {}, plain.vector_axes, x.where());
  return ops::with_labels(plain.tensor, names, plain.vector_axes);
}

Tensor vectorize(const Operand& x, const Axes& names) {
  Plain plain = plain_operand("vectorize", x);
  const Dims dims = plain.dims();
  const auto& list = names.list();
  if (list.empty() || list.size() > dims.size())
    throw ShapeError("vectorize", fmt::format("expected one to {} names for {}, got {}",
                                              dims.size(), to_string(dims), list.size()),
                     x.where());
  const Names rest = plain.names.empty()
                         ? Names()
                         : Names(plain.names.begin() + list.size(), plain.names.end());
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].is_named())
      throw ArgumentError("vectorize", "vectorised axes have names; got an index", x.where());
    check_unused("vectorize", list[i].name(), rest, plain.vector_axes, x.where());
    plain.vector_axes.push_back({list[i].name(), dims[i]});
  }
  return ops::with_labels(plain.tensor, rest, plain.vector_axes);
}

Tensor devectorize(const Operand& x, const DevectorizeOptions& options) {
  const Plain plain = plain_operand("devectorize", x);
  if (plain.lead == 0) return ops::with_labels(plain.tensor, plain.names, {});
  Names names;
  for (const VectorAxis& axis : plain.vector_axes)
    names.push_back(options.keep_names ? axis.name : Name());
  for (int i = 0; i < plain.rank(); ++i)
    names.push_back(plain.names.empty() ? Name() : plain.names[at(i)]);
  return ops::with_labels(plain.tensor, names, {});
}

namespace ops {
namespace {

/// Names as one argument or as options. A name may come with the size its axis must have: as an
/// option's value, or in a list of name and size.
Value call_vectorize(std::span<const Value> args, const Options& options) {
  if (args.empty()) return erase<&nx::vectorize>(args, options);
  // A container: each of its tensors.
  const auto inner = [&](const Value& part) {
    std::vector<Value> own(args.begin(), args.end());
    own[0] = part;
    return call_vectorize(own, options);
  };
  if (const auto* const list = args[0].as<Value::List>()) {
    Value::List mapped;
    for (const Value& part : *list) mapped.push_back(inner(part));
    return mapped;
  }
  if (const auto* const map = args[0].as<Value::Map>()) {
    Value::Map mapped;
    for (const auto& [key, part] : *map) mapped[key] = inner(part);
    return mapped;
  }
  const Tensor x = args[0].as<Tensor>() ? *args[0].as<Tensor>() : Tensor();
  const Plain plain = plain_operand("vectorize", x.has_value() ? Operand(x)
                                                               : Operand(number_from(args[0])));
  const Dims dims = plain.dims();
  std::vector<Axis> names;
  const auto add = [&](const std::string& name, const Value& size) {
    if (!size.is_none() && names.size() < dims.size() && dims[names.size()] != integer_from(size))
      throw ShapeError("vectorize", fmt::format("axis {} has another size; expected {}, got {}",
                                                names.size(), integer_from(size),
                                                dims[names.size()]));
    names.emplace_back(name);
  };
  for (const Value& arg : args.subspan(1)) {
    const auto* const list = arg.as<Value::List>();
    const Value::List one = list ? *list : Value::List{arg};
    for (const Value& entry : one) {
      const auto* const pair = entry.as<Value::List>();
      if (pair && pair->size() == 2) add(FromValue<std::string>::get((*pair)[0]), (*pair)[1]);
      else add(FromValue<std::string>::get(entry), Value());
    }
  }
  for (const auto& [name, size] : options) add(name, size);
  const Tensor labelled = with_labels(plain.tensor, plain.names, plain.vector_axes);
  return names.empty() ? labelled : nx::vectorize(labelled, Axes(std::move(names)));
}

Examples rename_examples() {
  const Tensor x = full_dims(Number(1), DType::s32, {2});
  return {{{x, Value::List{"rows"}}, {}, nx::rename(x, {"rows"})}};
}
Examples vectorize_examples() {
  const Tensor x = full_dims(Number(1), DType::s32, {2, 3});
  return {{{x, "batch"}, {}, nx::vectorize(x, "batch")}};
}
Examples devectorize_examples() {
  const Tensor x = full_dims(Number(1), DType::s32, {2, 3});
  return {{{nx::vectorize(x, "batch")}, {}, nx::rename(x, {"batch", Name()})}};
}

constexpr RowMaker label_function{
    .module = "Nx", .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{}};
constexpr FunctionRow kFunctions[] = {
    label_function("rename", "The tensor under other axis names.", erase<&nx::rename>,
                   rename_examples),
    label_function("vectorize", "Leading axes become axes that operations map over.",
                   call_vectorize, vectorize_examples),
    label_function("devectorize", "Vectorised axes become plain leading axes.",
                   erase<&nx::devectorize>, devectorize_examples),
};

}  // namespace

constinit const Family kNamesFamily{"names", {}, kFunctions};

}  // namespace ops
}  // namespace nx
