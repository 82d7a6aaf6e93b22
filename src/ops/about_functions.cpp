// Function rows of the questions about tensors.
#include "nx/about.h"
#include "ops/families.h"
#include "ops/row_values.h"

namespace nx::ops {
namespace {

/// A number stands for the scalar it makes; dims stand for a template of them where only the
/// shape counts.
template <auto kFunction, bool kOfShape>
Value about(std::span<const Value> args, const Options& options) {
  std::vector<Value> tensors(args.begin(), args.end());
  if (!tensors.empty() && tensors[0].as<Number>()) tensors[0] = tensor(number_from(tensors[0]));
  if (kOfShape && !tensors.empty() && tensors[0].as<Value::List>())
    tensors[0] = make_template(FromValue<Dims>::get(tensors[0]), DType::f32);
  return erase<kFunction>(tensors, options);
}

/// Containers are compatible when they have the same structure and all their leaves are.
bool compatible(const Value& a, const Value& b) {
  const auto leaf = [](const Value& v) {
    return v.as<Number>() ? tensor(number_from(v)) : *v.as<Tensor>();
  };
  const auto is_leaf = [](const Value& v) { return v.as<Number>() || v.as<Tensor>(); };
  if (is_leaf(a) || is_leaf(b)) return is_leaf(a) && is_leaf(b) && is_compatible(leaf(a), leaf(b));
  if (const auto *x = a.as<Value::List>(), *y = b.as<Value::List>(); x && y) {
    bool same = x->size() == y->size();
    for (std::size_t i = 0; same && i < x->size(); ++i) same = compatible((*x)[i], (*y)[i]);
    return same;
  }
  if (const auto *x = a.as<Value::Map>(), *y = b.as<Value::Map>(); x && y) {
    bool same = x->size() == y->size();
    for (auto i = x->begin(), j = y->begin(); same && i != x->end(); ++i, ++j)
      same = i->first == j->first && compatible(i->second, j->second);
    return same;
  }
  return false;
}

Value call_compatible(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 2, 2);
  if (!options.empty()) throw ArgumentError("call", "compatible? has no options");
  return to_value(compatible(args[0], args[1]));
}

Value named() { return t({{1, 2, 3}}, {.names = {"x", ""}}); }

#define NX_ABOUT_(function, kind, text, ...)                                                   \
  {.name = #function, .module = "Nx", .doc = text, .accepts = Accepts::kAny,                   \
   .names = NamesRule::kDrop, .accuracy = Accuracy{},                                          \
   .examples = +[]() -> Examples { return {__VA_ARGS__}; },                                \
   .call = about<&nx::function, kind>,                                                        \
   .differentiable = false}

const FunctionRow kFunctions[] = {
    NX_ABOUT_(type, false, "The element type.", {{f({1, 2})}, {}, Value(DType::f32)}),
    NX_ABOUT_(shape, true, "Sizes of the axes.", {{named()}, {}, list(1, 3)}),
    NX_ABOUT_(rank, true, "The number of axes.", {{named()}, {}, 2}),
    NX_ABOUT_(size, true, "The number of elements.", {{named()}, {}, 3}),
    NX_ABOUT_(flat_size, true, "The number of elements, vectorised axes included.", {{named()}, {}, 3}),
    NX_ABOUT_(byte_size, false, "Bytes of all elements as packed.", {{named()}, {}, 12}),
    NX_ABOUT_(bit_size, false, "Bits of all elements as packed.", {{named()}, {}, 96}),
    NX_ABOUT_(names, true, "One name for each axis.", {{named()}, {}, list("x", Value())}),
    NX_ABOUT_(axes, true, "0, 1, … rank - 1.", {{named()}, {}, list(0, 1)}),
    NX_ABOUT_(axis_index, true, "The index of an axis.", {{named(), "x"}, {}, 0},
              {{named(), -1}, {}, 1}),
    NX_ABOUT_(axis_size, true, "The size of an axis.", {{named(), "x"}, {}, 1}),
    {.name = "compatible?", .module = "Nx",
     .doc = "Whether type, shape, names and vectorised axes agree.", .accepts = Accepts::kAny,
     .names = NamesRule::kDrop, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{named(), t({{4, 5, 6}})}, {}, "true"}, {{named(), f({1})}, {}, "false"}};
     },
     .call = call_compatible, .differentiable = false},
};

}  // namespace

const Family kAboutFamily{"about", {}, kFunctions};

}  // namespace nx::ops
