// Function rows of slice, put_slice, concatenate, stack and pad.
#include "ops/families.h"
#include "ops/movement.h"
#include "ops/row_values.h"

namespace nx::ops {
namespace {

Value call_slice(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 3, 3);
  const BoundOperand x(args[0]);
  auto own = options_from<SliceOptions>(options);
  const auto lengths = FromValue<Dims>::get(args[2]);
  const Value* const strides = find_option(options, "strides");
  if (strides != nullptr && strides->as<Value::List>() == nullptr)
    own.strides = Dims(lengths.size(), integer_from(*strides));  // one number for all axes
  return slice(x.get(), FromValue<Starts>::get(args[1]), lengths, own);
}

Value call_pad(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 3, 3);
  if (!options.empty()) throw ArgumentError("call", "pad has no options");
  std::vector<Padding> padding;
  const auto* triples = args[2].as<Value::List>();
  if (triples == nullptr) refuse_value("a list of paddings");
  for (const Value& triple : *triples) {
    const auto sizes = FromValue<Dims>::get(triple);
    if (sizes.size() != 3) refuse_value("low, high and interior");
    padding.push_back({sizes[0], sizes[1], sizes[2]});
  }
  const BoundOperand x(args[0]), value(args[1]);
  return pad(x.get(), value.get(), padding);
}

/// A list of tensors and numbers.
template <class Options_, Tensor (*kFunction)(std::span<const Tensor>, const Options_&)>
Value call_many(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 1, 1);
  const auto* values = args[0].as<Value::List>();
  if (values == nullptr) refuse_value("a list of tensors");
  std::vector<Tensor> tensors;
  for (const Value& v : *values)
    tensors.push_back(v.as<Tensor>() ? *v.as<Tensor>() : tensor(number_from(v)));
  return kFunction(tensors, options_from<Options_>(options));
}

const FunctionRow kFunctions[] = {
    {.name = "slice", .module = "Nx", .doc = "A block; starts are moved back so that it fits.",
     .accepts = Accepts::kAny, .names = NamesRule::kKeep, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2, 3}, {4, 5, 6}}), list(0, 1), list(2, 2)}, {}, f({{2, 3}, {5, 6}})},
               {{t({1, 2, 3, 4, 5}), list(0), list(5)}, {{"strides", list(2)}}, t({1, 3, 5})},
               {{t({1, 2, 3}), list(t(9)), list(2)}, {}, t({2, 3})}};
     },
     .call = call_slice},
    {.name = "slice_along_axis", .module = "Nx", .doc = "A block of one axis, all of the others.",
     .accepts = Accepts::kAny, .names = NamesRule::kKeep, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2, 3}, {4, 5, 6}}), 1, 2}, {{"axis", 1}}, f({{2, 3}, {5, 6}})}};
     },
     .call = erase<&nx::slice_along_axis>},
    {.name = "put_slice", .module = "Nx", .doc = "The tensor with a block replaced.",
     .accepts = Accepts::kAny, .names = NamesRule::kMerge, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2, 3}, {4, 5, 6}}), list(1, 0), f({{8, 9}})}, {},
                f({{1, 2, 3}, {8, 9, 6}})},
               {{t({1, 2, 3}), list(t(5)), t({9})}, {}, t({1, 2, 9})}};
     },
     .call = erase<&nx::put_slice>},
    {.name = "concatenate", .module = "Nx", .doc = "Tensors one after the other along an axis.",
     .accepts = Accepts::kAny, .names = NamesRule::kMerge, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{list(f({1, 2}), f({3}))}, {}, f({1, 2, 3})},
               {{list(f({{1}, {2}}), f({{3}, {4}}))}, {{"axis", 1}}, f({{1, 3}, {2, 4}})}};
     },
     .call = call_many<ConcatenateOptions, &nx::concatenate>},
    {.name = "stack", .module = "Nx", .doc = "Tensors of one shape along a new axis.",
     .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{list(f({1, 2}), f({3, 4}))}, {}, f({{1, 2}, {3, 4}})},
               {{list(t({1, 2}), t({3, 4}))}, {{"axis", -1}}, t({{1, 3}, {2, 4}})}};
     },
     .call = call_many<StackOptions, &nx::stack>},
    {.name = "pad", .module = "Nx",
     .doc = "Padding around and between elements; negative padding cuts off.",
     .accepts = Accepts::kAny, .names = NamesRule::kKeep, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2}), f(9), list(list(1, 0, 1))}, {}, f({9, 1, 9, 2})},
               {{t({1, 2, 3}), 0, list(list(-1, 1, 0))}, {}, t({2, 3, 0})}};
     },
     .call = call_pad},
};

const graph::OpRow* const kRows[] = {&kConcatenate, &kPad, &kDynamicSlice, &kPutSlice};

}  // namespace

const Family kAssemblyFamily{"assembly", kRows, kFunctions};

}  // namespace nx::ops
