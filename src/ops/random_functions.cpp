// Function rows of random numbers. The values are the reference's for the same keys.
#include "nx/random.h"
#include "ops/families.h"
#include "ops/random.h"
#include "ops/row_values.h"

namespace nx::ops {
namespace {

Value key_of(std::uint32_t high, std::uint32_t low) { return t({high, low}, {.type = u32}); }

/// (key) or (key, low, high).
Value call_uniform(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 1, 3);
  const auto key = FromValue<Tensor>::get(args[0]);
  const auto own = options_from<random::UniformOptions>(options);
  if (args.size() == 1) return to_value(random::uniform(key, own));
  expect_arguments(args, 3, 3);
  const BoundOperand low(args[1]), high(args[2]);
  return to_value(random::uniform(key, low.get(), high.get(), own));
}

Value call_normal(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 1, 3);
  const auto key = FromValue<Tensor>::get(args[0]);
  const auto own = options_from<random::NormalOptions>(options);
  if (args.size() == 1) return to_value(random::normal(key, own));
  expect_arguments(args, 3, 3);
  const BoundOperand mean(args[1]), deviation(args[2]);
  return to_value(random::normal(key, mean.get(), deviation.get(), own));
}

/// (key, x) or (key, x, p).
Value call_choice(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 2, 3);
  const auto key = FromValue<Tensor>::get(args[0]);
  const BoundOperand x(args[1]);
  const auto own = options_from<random::ChoiceOptions>(options);
  if (args.size() == 2) return to_value(random::choice(key, x.get(), own));
  const BoundOperand p(args[2]);
  return to_value(random::choice(key, x.get(), p.get(), own));
}

constexpr RowMaker on_keys{.module = "Nx.Random",
                           .accepts = Accepts::kInteger,
                           .names = NamesRule::kDrop,
                           .accuracy = Accuracy{},
                           .differentiable = false};
constexpr RowMaker draw{.module = "Nx.Random",
                        .accepts = Accepts::kSpecial,
                        .names = NamesRule::kSpecial,
                        .accuracy = Accuracy{1},
                        .differentiable = false};

const FunctionRow kFunctions[] = {
    on_keys("key", "The key of a seed.", erase<&random::key>,
            +[]() -> Examples {
              return {{{12}, {}, key_of(0, 12)}, {{std::int64_t{1} << 32}, {}, key_of(1, 0)}};
            }),
    on_keys("split", "Independent keys from one.", erase<&random::split>,
            +[]() -> Examples {
              return {{{key_of(0, 1701)}, {},
                       t({{56197195u, 1801093307u}, {961309823u, 1704866707u}}, {.type = u32})}};
            }),
    on_keys("fold_in", "A key mixed with a number.", erase<&random::fold_in>,
            +[]() -> Examples {
              return {{{key_of(0, 42), 1234}, {}, key_of(1356445167u, 2917756949u)}};
            }),
    draw("uniform", "Evenly distributed numbers in [0, 1) or [min, max), and the next key.",
         call_uniform,
         +[]() -> Examples {
           return {{{key_of(0, 42)}, {{"shape", list(3)}},
                    list(f({0.28517019748687744, 0.6119449138641357, 0.17565250396728516}),
                         key_of(2465931498u, 3679230171u))}};
         }),
    draw("normal",
         "Normally distributed numbers of a mean and a standard deviation, and the next key.",
         call_normal,
         +[]() -> Examples {
           return {{{key_of(0, 42)}, {},
                    list(f(1.3694695234298706), key_of(2465931498u, 3679230171u))}};
         }),
    {.name = "randint", .module = "Nx.Random",
     .doc = "Evenly distributed integers in [min, max), and the next key.",
     .accepts = Accepts::kSpecial, .names = NamesRule::kSpecial, .accuracy = Accuracy{},
     .examples = +[]() -> Examples {
       return {{{key_of(0, 1701), 0, 10}, {{"shape", list(5)}},
                list(t({7, 8, 2, 6, 7}), key_of(56197195u, 1801093307u))}};
     },
     .call = erase<&random::randint>, .differentiable = false},
    draw("uniform_split", "Evenly distributed numbers in [min, max), drawn from the key itself.",
         erase<&random::uniform_split>,
         +[]() -> Examples {
           return {{{key_of(0, 0), 0, 10}, {{"shape", list(3)}},
                    f({9.653214454650879, 3.1468164920806885, 6.330299377441406})}};
         }),
    draw("normal_split", "Normally distributed numbers, drawn from the key itself.",
         erase<&random::normal_split>,
         +[]() -> Examples {
           return {{{key_of(0, 0), 0, 1}, {{"shape", list(3)}},
                    f({1.8160864114761353, -0.4826231598854065, 0.3398891091346741})}};
         }),
    draw("randint_split", "Evenly distributed integers in [min, max), drawn from the key itself.",
         erase<&random::randint_split>,
         +[]() -> Examples {
           return {{{key_of(0, 0), 0, 10}, {{"shape", list(3)}}, t({6, 1, 1})}};
         }),
    draw("gumbel", "Numbers of the standard Gumbel distribution, and the next key.",
         erase<&random::gumbel>,
         +[]() -> Examples {
           return {{{key_of(0, 1)}, {},
                    list(f(-0.7294610142707825), key_of(2441914641u, 1384938218u))}};
         }),
    draw("gumbel_split", "Numbers of the standard Gumbel distribution, drawn from the key itself.",
         erase<&random::gumbel_split>,
         +[]() -> Examples {
           return {{{key_of(0, 1701)}, {}, f(-0.5636864900588989)}};
         }),
    draw("shuffle", "The slices along an axis in random order, and the next key.",
         erase<&random::shuffle>,
         +[]() -> Examples {
           return {{{key_of(0, 42), t({0, 1, 2, 3, 4, 5})}, {},
                    list(t({3, 0, 2, 1, 5, 4}), key_of(2465931498u, 3679230171u))}};
         }),
    draw("choice", "Random slices along an axis, and the next key.", call_choice,
         +[]() -> Examples {
           return {{{key_of(0, 2), t({{0, 1}, {2, 3}, {4, 5}})},
                    {{"samples", 6}, {"replace", "false"}},
                    list(t({2, 0, 4, 5, 1, 3}), key_of(2859854988u, 796765312u))},
                   {{key_of(0, 42), t({0, 1, 2, 3}), f({0.1, 0.2, 0.3, 0.4})},
                    {{"samples", 3}},
                    list(t({3, 2, 3}), key_of(2465931498u, 3679230171u))}};
         }),
};

const graph::OpRow* const kRows[] = {&kThreefry};

}  // namespace

const Family kRandomFamily{"random", kRows, kFunctions};

}  // namespace nx::ops
