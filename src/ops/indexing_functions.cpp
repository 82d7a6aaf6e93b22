// Function rows of indexing.
#include "nx/indexing.h"
#include "ops/families.h"
#include "ops/indexing.h"
#include "ops/row_values.h"

namespace nx::ops {
namespace {

const FunctionRow kFunctions[] = {
    {.name = "take", .module = "Nx", .doc = "The slices at indices along an axis.",
     .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2}, {3, 4}}), t({1, 0, 1})}, {}, f({{3, 4}, {1, 2}, {3, 4}})},
               {{f({{1, 2}, {3, 4}}), t({{1}, {0}})}, {{"axis", 1}},
                f({{{2}, {1}}, {{4}, {3}}})}};
     },
     .call = erase<&nx::take>},
    {.name = "take_along_axis", .module = "Nx",
     .doc = "One element for each index, at the index' own place on the other axes.",
     .accepts = Accepts::kAny, .names = NamesRule::kKeep, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2, 3}, {4, 5, 6}}), t({{2, 0}, {1, 1}})}, {{"axis", 1}},
                f({{3, 1}, {5, 5}})}};
     },
     .call = erase<&nx::take_along_axis>},
    {.name = "gather", .module = "Nx", .doc = "The slice at each row of indices.",
     .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2}, {3, 4}}), t({{1, 1}, {0, 1}})}, {}, f({4, 2})},
               {{f({{1, 2}, {3, 4}}), t({{1}, {0}})}, {{"axes", list(1)}}, f({{2, 4}, {1, 3}})}};
     },
     .call = erase<&nx::gather>},
    {.name = "indexed_add", .module = "Nx", .doc = "The tensor with updates added at indices.",
     .accepts = Accepts::kAny, .names = NamesRule::kKeep, .accuracy = Accuracy{4},
     .examples = +[]() -> Examples {
       return {{{f({1, 2, 3}), t({{0}, {2}, {0}}), f({10, 20, 30})}, {}, f({41, 2, 23})}};
     },
     .call = erase<&nx::indexed_add>},
    {.name = "indexed_put", .module = "Nx", .doc = "The tensor with the slices at indices replaced.",
     .accepts = Accepts::kAny, .names = NamesRule::kKeep, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2}, {3, 4}}), t({{1}}), f({{8, 9}})}, {}, f({{1, 2}, {8, 9}})}};
     },
     .call = erase<&nx::indexed_put>},
};

const graph::OpRow* const kRows[] = {&kGather, &kIndexedAdd, &kIndexedPut};

}  // namespace

const Family kIndexingFamily{"indexing", kRows, kFunctions};

}  // namespace nx::ops
