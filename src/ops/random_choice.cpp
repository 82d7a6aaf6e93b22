// Public random orders and choices: indices from random keys, and what is taken at them.
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "core/at.h"
#include "graph/trace.h"
#include "nx/cumulative.h"
#include "nx/indexing.h"
#include "nx/movement.h"
#include "nx/order.h"
#include "nx/random.h"
#include "nx/reduce.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/movement.h"
#include "ops/operand.h"
#include "ops/random.h"

namespace nx::random {
namespace {

using ops::Plain;
using ops::plain_operand;
using ops::with_labels;

/// Row `i` of split keys.
Tensor key_at(const Tensor& keys, std::int64_t i) {
  return reshape(slice_along_axis(keys, Start(i), 1), {2});
}

/// u32 words of that shape, drawn from the key itself.
Tensor words_of_shape(const Tensor& key, const Dims& shape) {
  const Plain plain = plain_operand("shuffle", key);
  const Tensor words = graph::emit(ops::kThreefry, {plain.tensor},
                                   graph::Attrs::of(ops::ThreefryAttrs{element_count(shape)}), {});
  return with_labels(ops::reshape_dims(words, plain.with_lead(shape)), {}, plain.vector_axes);
}

/// Sorting by random keys, as often as it takes to make equal keys unlikely to matter
/// (as JAX does it: 3 log(n) / log(2^32 - 1) times).
std::pair<Tensor, Tensor> shuffled(Tensor key, Tensor x, const Axis& axis) {
  const Dims shape = plain_operand("shuffle", x).dims();
  const auto count = static_cast<double>(element_count(shape));
  const double most = std::log(std::numeric_limits<std::uint32_t>::max());
  const auto rounds = static_cast<int>(std::ceil(3 * std::log(std::max(count, 1.0)) / most));
  for (int i = 0; i < rounds; ++i) {
    const Tensor keys = split(key);
    const Tensor order = argsort(words_of_shape(key_at(keys, 1), shape), {.axis = axis});
    x = take_along_axis(x, order, {.axis = axis});
    key = key_at(keys, 0);
  }
  return {x, key};
}

struct Source {
  Tensor tensor;  // what is chosen from
  int axis = 0;
  std::int64_t size = 0;
};
Source find_source(const Operand& operand, const ChoiceOptions& options) {
  Plain x = plain_operand("choice", operand);
  if (options.samples < 1)
    throw ArgumentError(
        "choice", fmt::format("samples; expected 1 or more, got {}", options.samples), x.where);
  Source source;
  if (options.axis) {
    source.axis = options.axis->resolve("choice", x.rank(), x.names);
    source.tensor = with_labels(x.tensor, x.names, x.vector_axes);
    source.size = x.dims()[at(source.axis)];
  } else {
    source.size = element_count(x.dims());
    source.tensor =
        with_labels(ops::reshape_dims(x.tensor, x.with_lead({source.size})), {}, x.vector_axes);
  }
  if (source.size == 0) throw ShapeError("choice", "there is nothing to choose from", x.where);
  if (!options.replace && options.samples > source.size)
    throw ArgumentError("choice",
                        fmt::format("samples without replacement; expected at most {}, "
                                    "got {}",
                                    source.size, options.samples),
                        x.where);
  return source;
}

std::pair<Tensor, Tensor> taken(const Source& source, const Tensor& indices, const Tensor& next) {
  return {take(source.tensor, indices, {.axis = source.axis}), next};
}

Tensor first_of(const Tensor& x, std::int64_t count) {
  return slice_along_axis(x, Start(0), count);
}

}  // namespace

std::pair<Tensor, Tensor> shuffle(const Tensor& key, const Operand& operand,
                                  const ShuffleOptions& options) {
  const Plain x = plain_operand("shuffle", operand);
  if (x.rank() == 0) throw ShapeError("shuffle", "the tensor must have an axis", x.where);
  const int axis = options.axis.resolve("shuffle", x.rank(), x.names);
  const Tensor tensor = with_labels(x.tensor, x.names, x.vector_axes);
  if (options.independent) return shuffled(key, tensor, axis);
  const std::int64_t size = x.dims()[at(axis)];
  const auto [order, next] = shuffled(key, ops::iota_along(DType::s32, {size}, 0), 0);
  return {take(tensor, order, {.axis = axis}), next};
}

std::pair<Tensor, Tensor> choice(const Tensor& key, const Operand& x,
                                 const ChoiceOptions& options) {
  const Source source = find_source(x, options);
  if (options.replace) {
    const auto [indices, next] = randint(key, 0, source.size, {.shape = {options.samples}});
    return taken(source, indices, next);
  }
  const auto [order, next] = shuffled(key, ops::iota_along(DType::s32, {source.size}, 0), 0);
  return taken(source, first_of(order, options.samples), next);
}

std::pair<Tensor, Tensor> choice(const Tensor& key, const Operand& x, const Operand& p,
                                 const ChoiceOptions& options) {
  const Source source = find_source(x, options);
  const Plain given = plain_operand("choice", p);
  if (!(given.dims() == Dims{source.size}) || !is_float(given.tensor.type()))
    throw ShapeError("choice",
                     fmt::format("a probability for each; expected floats [{}], got {}",
                                 source.size, to_string(given.tensor.type(), given.dims())),
                     given.where);
  const Tensor weights = with_labels(given.tensor, {}, given.vector_axes);
  if (!options.replace) {
    // The largest of log(p) + Gumbel numbers: T. Vieira, "Gumbel-max trick and weighted reservoir
    // sampling" (2014).
    const auto [noise, next] = gumbel(key, {.shape = {source.size}});
    const Tensor order = argsort(add(noise, log(weights)), {.direction = "desc"});
    return taken(source, first_of(order, options.samples), next);
  }
  // The first place where the summed probabilities reach an even number in (0, 1].
  const auto [even, next] = uniform(key, {.shape = {options.samples}});
  const Tensor sums = cumulative_sum(weights);
  const Tensor last = slice_along_axis(sums, Start(source.size - 1), 1);
  const Tensor wanted = reshape(multiply(subtract(1, even), last), {options.samples, 1});
  const Tensor before = sum(as_type(less(sums, wanted), DType::s32), {.axes = {1}});
  return taken(source, min(before, source.size - 1), next);
}

}  // namespace nx::random
