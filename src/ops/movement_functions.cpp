// Function rows of movement: reshape, transpose, broadcast and their kin.
#include "ops/families.h"
#include "ops/movement.h"
#include "ops/row_values.h"

namespace nx::ops {
namespace {

/// Dims with "auto" for -1; a tensor stands for its shape (and gives its names).
Dims dims_from(const Value& value, Names& names) {
  if (const auto* tensor = value.as<Tensor>()) {
    if (names.empty()) names = tensor->names();
    return tensor->shape();
  }
  const auto* values = value.as<Value::List>();
  if (values == nullptr) return {integer_from(value)};
  Dims dims;
  for (const Value& v : *values) {
    const auto* text = v.as<std::string>();
    dims.push_back(text != nullptr && *text == "auto" ? -1 : integer_from(v));
  }
  return dims;
}

Value call_reshape(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 2, 2);
  auto own = options_from<ReshapeOptions>(options);
  const Dims dims = dims_from(args[1], own.names);
  return reshape(BoundOperand(args[0]).get(), dims, own);
}

Value call_broadcast(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 2, 2);
  auto own = options_from<BroadcastOptions>(options);
  const Dims dims = dims_from(args[1], own.names);
  const BoundOperand x(args[0]);
  return broadcast(x.get(), dims, own);
}

Value call_new_axis(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 2, 3);
  if (!options.empty()) throw ArgumentError("call", "new_axis has no options");
  const BoundOperand x(args[0]);
  return new_axis(x.get(), integer_from(args[1]),
                  args.size() == 3 ? FromValue<Name>::get(args[2]) : Name());
}

const FunctionRow kFunctions[] = {
    {.name = "reshape", .module = "Nx",
     .doc = "The same elements in other dims; one size may be -1: what is left.",
     .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2, 3, 4}), list(2, 2)}, {}, f({{1, 2}, {3, 4}})},
               {{t({{1, 2, 3}, {4, 5, 6}}), list(-1, 2)}, {}, t({{1, 2}, {3, 4}, {5, 6}})}};
     },
     .call = call_reshape},
    {.name = "squeeze", .module = "Nx", .doc = "Drops axes of size 1.", .accepts = Accepts::kAny,
     .names = NamesRule::kDropReduced, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{{1}, {2}}})}, {}, f({1, 2})},
               {{t({{1, 2, 3}}, {.names = {"x", "y"}})}, {{"axes", list("x")}},
                t({1, 2, 3}, {.names = {"y"}})}};
     },
     .call = erase<&nx::squeeze>},
    {.name = "new_axis", .module = "Nx", .doc = "A new axis of size 1.", .accepts = Accepts::kAny,
     .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2}), -1}, {}, f({{1}, {2}})},
               {{t({1, 2}), 0, "n"}, {}, t({{1, 2}}, {.names = {"n", ""}})}};
     },
     .call = call_new_axis},
    {.name = "flatten", .module = "Nx", .doc = "Several neighbouring axes as one.",
     .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2}, {3, 4}})}, {}, f({1, 2, 3, 4})},
               {{t({{{1, 2}, {3, 4}}})}, {{"axes", list(1, 2)}}, t({{1, 2, 3, 4}})}};
     },
     .call = erase<&nx::flatten>},
    {.name = "transpose", .module = "Nx", .doc = "The axes in another order; reversed by default.",
     .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2, 3}, {4, 5, 6}})}, {}, f({{1, 4}, {2, 5}, {3, 6}})},
               {{t({{{1, 2}, {3, 4}}})}, {{"axes", list(1, 0, 2)}}, t({{{1, 2}}, {{3, 4}}})}};
     },
     .call = erase<&nx::transpose>},
    {.name = "broadcast", .module = "Nx",
     .doc = "Repeats axes of size 1 and new axes up to the given dims.", .accepts = Accepts::kAny,
     .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2}), list(2, 2)}, {}, f({{1, 2}, {1, 2}})},
               {{f({1, 2}), list(2, 3)}, {{"axes", list(0)}}, f({{1, 1, 1}, {2, 2, 2}})},
               {{7, list(2)}, {}, t({7, 7})}};
     },
     .call = call_broadcast},
    {.name = "reverse", .module = "Nx", .doc = "The elements in reverse order along axes.",
     .accepts = Accepts::kAny, .names = NamesRule::kKeep, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2, 3}, {4, 5, 6}})}, {}, f({{6, 5, 4}, {3, 2, 1}})},
               {{t({{1, 2, 3}, {4, 5, 6}})}, {{"axes", list(0)}}, t({{4, 5, 6}, {1, 2, 3}})}};
     },
     .call = erase<&nx::reverse>},
    {.name = "tile", .module = "Nx", .doc = "Repeats the whole tensor along each axis.",
     .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2}), list(2, 2)}, {}, f({{1, 2, 1, 2}, {1, 2, 1, 2}})}};
     },
     .call = erase<&nx::tile>},
};

const graph::OpRow* const kRows[] = {&kBroadcast, &kTranspose, &kReshape, &kSlice, &kReverse};

}  // namespace

const Family kMovementFamily{"movement", kRows, kFunctions};

}  // namespace nx::ops
