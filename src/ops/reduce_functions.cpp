// Function rows of the reductions.
#include <cmath>

#include "nx/reduce.h"
#include "ops/families.h"
#include "ops/reduce.h"
#include "ops/row_values.h"

namespace nx::ops {
namespace {

const float kInf = INFINITY, kNan = NAN;

/// The scaling factor may be a number.
Value call_logsumexp(std::span<const Value> args, const Options& options) {
  Options made = options;
  for (auto& [name, value] : made)
    if (name == "exp_scaling_factor" && value.as<Number>()) value = tensor(number_from(value));
  return erase<&nx::logsumexp>(args, made);
}

const FunctionRow kFunctions[] = {
    {.name = "sum", .module = "Nx",
     .doc = "The sum along axes; unsigned integers to 32 bits give u32, signed ones s32.",
     .accepts = Accepts::kAny, .names = NamesRule::kDropReduced, .accuracy = Accuracy{4},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2}, {3, 4}})}, {}, f(10)},
               {{t({{200, 100}, {3, 4}}, {.type = u8})}, {{"axes", list(1)}},
                t({300, 7}, {.type = u32})},
               {{f({{1, 2}, {3, 4}})}, {{"axes", list(0)}, {"keep_axes", "true"}}, f({{4, 6}})}};
     },
     .call = erase<&nx::sum>},
    {.name = "product", .module = "Nx", .doc = "The product along axes.", .accepts = Accepts::kAny,
     .names = NamesRule::kDropReduced, .accuracy = Accuracy{8},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2}, {3, 4}})}, {{"axes", list(0)}}, f({3, 8})},
               {{t({20, 20}, {.type = s8})}, {}, t(400)}};
     },
     .call = erase<&nx::product>},
    {.name = "mean", .module = "Nx", .doc = "The mean along axes; integers give f32.",
     .accepts = Accepts::kAny, .names = NamesRule::kDropReduced, .accuracy = Accuracy{4},
     .examples = +[]() -> Examples {
       return {{{f({{1, 2}, {3, 4}})}, {{"axes", list(1)}}, f({1.5, 3.5})},
               {{t({255, 255, 255}, {.type = u8})}, {}, f(255)}};
     },
     .call = erase<&nx::mean>},
    {.name = "reduce_max", .module = "Nx", .doc = "The largest element; NaN when there is one.",
     .accepts = Accepts::kAnyButComplex, .names = NamesRule::kDropReduced, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 5}, {3, 4}})}, {{"axes", list(1)}}, f({5, 4})},
               {{f({1, kNan, 2})}, {}, f(kNan)}};
     },
     .call = erase<&nx::reduce_max>},
    {.name = "reduce_min", .module = "Nx", .doc = "The smallest element; NaN when there is one.",
     .accepts = Accepts::kAnyButComplex, .names = NamesRule::kDropReduced, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 5}, {3, 4}})}, {{"axes", list(0)}}, f({1, 4})},
               {{f({1, -kInf, 2})}, {}, f(-kInf)}};
     },
     .call = erase<&nx::reduce_min>},
    {.name = "all", .module = "Nx", .doc = "1 where every element is different from 0.",
     .accepts = Accepts::kAny, .names = NamesRule::kDropReduced, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 0}, {2, kNan}})}, {{"axes", list(1)}}, t({0, 1}, {.type = u8})}};
     },
     .call = erase<&nx::all>, .differentiable = false},
    {.name = "any", .module = "Nx", .doc = "1 where some element is different from 0.",
     .accepts = Accepts::kAny, .names = NamesRule::kDropReduced, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{1, 0}, {0, 0}})}, {{"axes", list(1)}}, t({1, 0}, {.type = u8})}};
     },
     .call = erase<&nx::any>, .differentiable = false},
    {.name = "argmax", .module = "Nx", .doc = "The index of the largest element; the first NaN wins.",
     .accepts = Accepts::kAnyButComplex, .names = NamesRule::kDropReduced, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{4, 2, 4}, {1, 3, 3}})}, {{"axis", 1}}, t({0, 1})},
               {{f({{4, 2, 4}, {1, 3, 3}})}, {{"axis", 1}, {"tie_break", "high"}}, t({2, 2})},
               {{f({1, kNan, 3})}, {}, t(1)}};
     },
     .call = erase<&nx::argmax>, .differentiable = false},
    {.name = "argmin", .module = "Nx", .doc = "The index of the smallest element; the first NaN wins.",
     .accepts = Accepts::kAnyButComplex, .names = NamesRule::kDropReduced, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{f({{4, 2, 2}, {1, 3, 3}})}, {{"axis", 1}}, t({1, 0})}};
     },
     .call = erase<&nx::argmin>, .differentiable = false},
    {.name = "logsumexp", .module = "Nx", .doc = "log(sum(exp(x))) without overflow.",
     .accepts = Accepts::kAnyButComplex, .names = NamesRule::kDropReduced, .accuracy = Accuracy{8},
     .examples = +[]() -> Examples {
       return {{{f({1, 2, 3})}, {}, f(3.4076059644443806)},
               {{f({1000, 1000})}, {}, f(1000.6931471805599)},
               {{f({-kInf, -kInf})}, {}, f(-kInf)}};
     },
     .call = call_logsumexp},
    {.name = "variance", .module = "Nx", .doc = "The mean squared distance from the mean.",
     .accepts = Accepts::kReal, .names = NamesRule::kDropReduced, .accuracy = Accuracy{8},
     .examples = +[]() -> Examples {
       return {{{f({1, 2, 3, 4})}, {}, f(1.25)},
               {{f({1, 2, 3, 4})}, {{"ddof", 1}}, f(1.6666666666666667)}};
     },
     .call = erase<&nx::variance>},
    {.name = "standard_deviation", .module = "Nx", .doc = "The square root of the variance.",
     .accepts = Accepts::kReal, .names = NamesRule::kDropReduced, .accuracy = Accuracy{8},
     .examples = +[]() -> Examples {
       return {{{f({1, 2, 3, 4})}, {}, f(1.118033988749895)}};
     },
     .call = erase<&nx::standard_deviation>},
};

const graph::OpRow* const kRows[] = {&kReduceSum, &kReduceProduct, &kReduceMax, &kReduceMin,
                                     &kReduceAll, &kReduceAny,     &kArgmax,    &kArgmin};

}  // namespace

const Family kReduceFamily{"reduce", kRows, kFunctions};

}  // namespace nx::ops
