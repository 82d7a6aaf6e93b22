// The builder of FunctionRows of elementwise functions.
#pragma once

#include "ops/erase.h"
#include "ops/function_row.h"

namespace nx::ops {

struct ElementwiseFunction {
  graph::Required<const char*> name;
  graph::Required<const char*> doc;
  graph::Required<Accepts> accepts;
  graph::Required<Accuracy> accuracy;
  graph::Required<Examples (*)()> examples;
  graph::Required<ErasedCall> call;
  bool differentiable = true;
};

constexpr FunctionRow function_row(const ElementwiseFunction& def) {
  return FunctionRow{
      .name = std::string_view(*def.name),
      .module = std::string_view("Nx"),
      .doc = std::string_view(*def.doc),
      .accepts = *def.accepts,
      .names = NamesRule::kMerge,
      .accuracy = *def.accuracy,
      .examples = *def.examples,
      .call = *def.call,
      .differentiable = def.differentiable,
      .elementwise = true,
  };
}

/// One example: arguments and the result.
template <class R, class... A>
Examples example(R result, A... args) {
  return {{{Value(args)...}, {}, Value(result)}};
}

}  // namespace nx::ops
