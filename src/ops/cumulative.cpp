// Functions and rows of cumulative reductions. Each step combines every element with the one 1, 2,
// 4, … places before it (W. D. Hillis, G. L. Steele, "Data parallel algorithms", CACM 29, 1986), so
// gradients and lowerings are those of slices, concatenations and the combination itself.
#include "nx/cumulative.h"

#include <fmt/format.h>

#include "core/at.h"
#include "ops/arithmetic.h"
#include "ops/cumulative.h"
#include "ops/families.h"
#include "ops/movement.h"
#include "ops/operand.h"
#include "ops/reduce.h"
#include "ops/row_values.h"

namespace nx {
namespace ops {
namespace {

Tensor cumulate(std::string_view name, Combine combine, const Operand& operand,
                const CumulativeOptions& options) {
  const Plain x = plain_operand(name, operand);
  if (x.rank() == 0) throw ShapeError(name, "the tensor must have at least one axis", x.where);
  const std::int64_t axis = options.axis.resolve(name, x.rank(), x.names);
  const DType type = x.tensor.type();
  const DType wide = summing_type(type);
  const Tensor made =
      cumulate_dims(combine, as_type(x.tensor, wide), x.lead + axis, options.reverse);
  return with_labels(as_type(made, type), x.names, x.vector_axes);
}

}  // namespace

Tensor cumulate_dims(Combine combine, Tensor x, std::int64_t axis, bool reverse) {
  const std::int64_t size = dims_of(x)[at(axis)];
  for (std::int64_t step = 1; step < size; step *= 2) {
    const Tensor near = part_dims(x, axis, 0, size - step), far = part_dims(x, axis, step, size);
    if (reverse) {
      const Tensor parts[] = {combine(near, far), part_dims(x, axis, size - step, size)};
      x = concatenate_dims(parts, axis);
    } else {
      const Tensor parts[] = {part_dims(x, axis, 0, step), combine(near, far)};
      x = concatenate_dims(parts, axis);
    }
  }
  return x;
}

}  // namespace ops

Tensor cumulative_sum(const Operand& x, const CumulativeOptions& options) {
  return ops::cumulate("cumulative_sum", &add, x, options);
}
Tensor cumulative_product(const Operand& x, const CumulativeOptions& options) {
  return ops::cumulate("cumulative_product", &multiply, x, options);
}
Tensor cumulative_max(const Operand& x, const CumulativeOptions& options) {
  return ops::cumulate("cumulative_max", &max, x, options);
}
Tensor cumulative_min(const Operand& x, const CumulativeOptions& options) {
  return ops::cumulate("cumulative_min", &min, x, options);
}

namespace ops {
namespace {

constexpr RowMaker cumulative{
    .module = "Nx", .accepts = Accepts::kAny, .names = NamesRule::kKeep, .accuracy = Accuracy{4}};
constexpr RowMaker cumulative_extreme{.module = "Nx",
                                      .accepts = Accepts::kAnyButComplex,
                                      .names = NamesRule::kKeep,
                                      .accuracy = Accuracy{0}};

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

constinit const Family kCumulativeFamily{"cumulative", {}, kFunctions};

}  // namespace ops
}  // namespace nx
