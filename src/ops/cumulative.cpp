// Functions of cumulative reductions.
#include "nx/cumulative.h"

#include "ops/arithmetic.h"
#include "ops/cumulative.h"
#include "ops/families.h"
#include "ops/operand.h"
#include "ops/reduce.h"
#include "ops/row_values.h"

namespace nx {
namespace {

Tensor cumulate(std::string_view name, const graph::OpRow& row, const Operand& operand,
                const CumulativeOptions& options) {
  const ops::Plain x = ops::plain_operand(name, operand);
  if (x.rank() == 0) throw ShapeError(name, "the tensor must have at least one axis", x.where);
  const std::int64_t axis = options.axis.resolve(name, x.rank(), x.names);
  const DType type = x.tensor.type();
  const Tensor made = ops::cumulate_dims(row, as_type(x.tensor, ops::summing_type(type)),
                                         {x.lead + axis, options.reverse}, x.where);
  return ops::with_labels(as_type(made, type), x.names, x.vector_axes);
}

}  // namespace

Tensor cumulative_sum(const Operand& x, const CumulativeOptions& options) {
  return cumulate("cumulative_sum", ops::kCumulativeSum, x, options);
}
Tensor cumulative_product(const Operand& x, const CumulativeOptions& options) {
  return cumulate("cumulative_product", ops::kCumulativeProduct, x, options);
}
Tensor cumulative_max(const Operand& x, const CumulativeOptions& options) {
  return cumulate("cumulative_max", ops::kCumulativeMax, x, options);
}
Tensor cumulative_min(const Operand& x, const CumulativeOptions& options) {
  return cumulate("cumulative_min", ops::kCumulativeMin, x, options);
}

namespace ops {
namespace {

constexpr RowMaker cumulative{
    .module = "Nx", .accepts = Accepts::kAny, .names = NamesRule::kKeep, .accuracy = Accuracy{4}};
constexpr RowMaker cumulative_extreme{.module = "Nx",
                                      .accepts = Accepts::kAnyButComplex,
                                      .names = NamesRule::kKeep,
                                      .accuracy = Accuracy{0}};

const graph::OpRow* const kRows[] = {&kCumulativeSum, &kCumulativeProduct, &kCumulativeMax,
                                     &kCumulativeMin};

// Values from NumPy: cumsum, cumprod, maximum.accumulate, minimum.accumulate.
constexpr FunctionRow kFunctions[] = {
    cumulative(
        "cumulative_sum", "The sum of everything up to each element.", erase<&nx::cumulative_sum>,
        +[]() -> Examples {
          return {{{f({1, 2, 3, 4, 5})}, {}, f({1, 3, 6, 10, 15})},
                  {{f({1, 2, 3})}, {{"reverse", "true"}}, f({6, 5, 3})},
                  {{t({{200, 100}, {3, 4}}, {.type = u8})},
                   {{"axis", 1}},
                   t({{200, 44}, {3, 7}}, {.type = u8})}};
        }),
    cumulative(
        "cumulative_product", "The product of everything up to each element.",
        erase<&nx::cumulative_product>,
        +[]() -> Examples {
          return {{{f({1, 2, 0, 4})}, {}, f({1, 2, 0, 0})},
                  {{f({{1, 2}, {3, 4}})}, {{"axis", 1}}, f({{1, 2}, {3, 12}})}};
        }),
    cumulative_extreme(
        "cumulative_max", "The largest element so far.", erase<&nx::cumulative_max>,
        +[]() -> Examples {
          return {{{f({3, 1, 4, 1, 5})}, {}, f({3, 3, 4, 4, 5})},
                  {{f({3, 1, 4, 1})}, {{"reverse", "true"}}, f({4, 4, 4, 1})}};
        }),
    cumulative_extreme(
        "cumulative_min", "The smallest element so far.", erase<&nx::cumulative_min>,
        +[]() -> Examples {
          return {{{f({3, 1, 4, 1, 5})}, {}, f({3, 1, 1, 1, 1})}};
        }),
};

}  // namespace

constinit const Family kCumulativeFamily{"cumulative", kRows, kFunctions};

}  // namespace ops
}  // namespace nx
