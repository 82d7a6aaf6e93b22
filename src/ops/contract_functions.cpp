// Function rows of the contractions.
#include "nx/contract.h"
#include "ops/contract.h"
#include "ops/families.h"
#include "ops/row_values.h"

namespace nx::ops {
namespace {

/// (a, b), (a, axes, b, axes), (a, axes, batch, b, axes, batch), or (a, b) with options.
Value call_dot(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 2, 6);
  const BoundOperand a(args[0]), b(args[args.size() / 2]);
  if (args.size() == 2 && options.empty()) return dot(a.get(), b.get());
  auto own = options_from<DotOptions>(options);
  const auto axes = [&](std::size_t i) { return FromValue<Axes>::get(args[i]); };
  if (args.size() == 4) {
    own.contract_a = axes(1);
    own.contract_b = axes(3);
  } else if (args.size() == 6) {
    own = {axes(1), axes(2), axes(4), axes(5)};
  }
  return dot(a.get(), b.get(), own);
}

const FunctionRow kFunctions[] = {
    {.name = "dot", .module = "Nx",
     .doc = "Products of elements added up along pairs of axes; a matrix product by default.",
     .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{16},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2}, {3, 4}}), f({{10, 20}, {30, 40}})}, {}, f({{70, 100}, {150, 220}})},
               {{f({1, 2, 3}), f({4, 5, 6})}, {}, f(32)},
               {{f({{1, 2}, {3, 4}}), list(0), f({{10, 20}, {30, 40}}), list(0)}, {},
                f({{100, 140}, {140, 200}})},
               {{f({{{1, 2}}, {{3, 4}}}), list(2), list(0), f({{{5}, {6}}, {{7}, {8}}}), list(1),
                 list(0)}, {}, f({{{17}}, {{53}}})},
               {{t({100, 2}, {.type = s8}), t({2, 3}, {.type = s8})}, {},
                t(-50, {.type = s8})}};
     },
     .call = call_dot},
    {.name = "outer", .module = "Nx", .doc = "Every product of an element of a with one of b.",
     .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({1, 2}), f({3, 4, 5})}, {}, f({{3, 4, 5}, {6, 8, 10}})}};
     },
     .call = erase<&nx::outer>},
};

const graph::OpRow* const kRows[] = {&kDot};

}  // namespace

const Family kContractFamily{"contract", kRows, kFunctions};

}  // namespace nx::ops
