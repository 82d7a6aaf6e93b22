// Public random numbers: words from threefry, made into numbers by elementwise operations.
#include "nx/random.h"

#include <fmt/format.h>

#include <cmath>

#include "core/at.h"
#include "graph/trace.h"
#include "nx/constants.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/movement.h"
#include "ops/operand.h"
#include "ops/random.h"
#include "ops/unary.h"

namespace nx::random {
namespace {

using ops::Plain;
using ops::plain_operand;
using ops::with_labels;

Plain plain_key(std::string_view name, const Tensor& key) {
  Plain plain = plain_operand(name, key);
  if (plain.tensor.type() != DType::u32 || !(plain.dims() == Dims{2}))
    throw ShapeError(name, fmt::format("a key is u32[2] (see random::key), got {}",
                                       to_string(plain.tensor.type(), plain.dims())));
  return plain;
}

/// `count` words u32 for each key.
Tensor words(const Tensor& key, std::int64_t count) {
  return graph::emit(ops::kThreefry, {key}, graph::Attrs::of(ops::ThreefryAttrs{count}), {});
}

/// Part `i` of an axis that is the last but `after`, which goes away.
Tensor part(const Tensor& x, std::int64_t i, std::size_t after) {
  const Dims dims = ops::dims_of(x);
  const std::size_t axis = dims.size() - 1 - after;
  Dims starts(dims.size(), 0), limits = dims, out = dims;
  starts[axis] = i;
  limits[axis] = i + 1;
  out.erase(out.begin() + axis);
  return ops::reshape_dims(ops::slice_dims(x, starts, limits, Dims(dims.size(), 1)), out);
}

/// Each integer as the words above and below 2^32, on a new last axis.
Tensor two_words(const Tensor& integers) {
  const Tensor wide = as_type(integers, DType::u64);
  Dims one = ops::dims_of(wide);
  one.push_back(1);
  const Tensor halves[] = {ops::reshape_dims(as_type(right_shift(wide, 32), DType::u32), one),
                           ops::reshape_dims(as_type(wide, DType::u32), one)};
  return ops::concatenate_dims(halves, static_cast<std::int64_t>(one.size()) - 1);
}

Tensor split_plain(const Tensor& key, std::int64_t parts) {
  Dims dims = ops::dims_of(key);
  dims.insert(dims.end() - 1, parts);
  return ops::reshape_dims(words(key, parts * 2), dims);
}

/// `count` random unsigned integers of that many bits for each key.
Tensor random_bits(const Tensor& key, std::int64_t count, int bits) {
  if (bits == 64) {
    const Tensor all = as_type(words(key, 2 * count), DType::u64);
    Dims halves = ops::dims_of(key);
    halves.back() = 2;
    halves.push_back(count);
    const Tensor both = ops::reshape_dims(all, halves);
    return bitwise_or(left_shift(part(both, 0, 1), 32), part(both, 1, 1));
  }
  const Tensor all = words(key, count);
  return bits == 32 ? all : as_type(all, bits == 16 ? DType::u16 : DType::u8);
}

/// Numbers in [0, 1): the bits become the mantissa of a number in [1, 2).
Tensor unit_interval(const Tensor& key, std::int64_t count, DType type) {
  struct Format {
    int bits, mantissa;
    std::uint64_t one;
  };
  const auto format = [&]() -> Format {
    switch (type) {
      case DType::bf16: return {16, 7, 0x3f80};
      case DType::f16: return {16, 10, 0x3c00};
      case DType::f64: return {64, 52, 0x3ff0000000000000u};
      default: return {32, 23, 0x3f800000};
    }
  }();
  const Tensor mantissa =
      right_shift(random_bits(key, count, format.bits), format.bits - format.mantissa);
  return subtract(bitcast(bitwise_or(mantissa, format.one), type), 1);
}

struct Draw {
  Plain key;
  Tensor next, own;  // keys: to go on with, and for this draw
  std::int64_t count;
};

Draw begin(std::string_view name, const Tensor& key, const Dims& shape, const Names& names) {
  ops::check_names(name, names, shape.size());
  Draw draw{plain_key(name, key), {}, {}, element_count(shape)};
  const Tensor both = split_plain(draw.key.tensor, 2);
  draw.next = part(both, 0, 1);
  draw.own = part(both, 1, 1);
  return draw;
}

std::pair<Tensor, Tensor> finish(const Draw& draw, const Tensor& values, const Dims& shape,
                                 const Names& names) {
  return {with_labels(ops::reshape_dims(values, draw.key.with_lead(shape)), names,
                      draw.key.vector_axes),
          with_labels(draw.next, {}, draw.key.vector_axes)};
}

/// Values of a draw in `type`; complex ones are pairs of neighbouring real ones.
template <class F>
Tensor real_or_complex(std::string_view name, const Draw& draw, DType type, const F& real_values) {
  if (!is_inexact(type) || bits_of(type) < 16)
    throw DTypeError(name, fmt::format("expected bf16, f16, f32, f64, c64 or c128, got {}",
                                       name_of(type)));
  if (!is_complex(type)) return real_values(draw.count, type);
  const Tensor flat = real_values(2 * draw.count, type == DType::c64 ? DType::f32 : DType::f64);
  Dims pairs = ops::dims_of(flat);
  pairs.back() = draw.count;
  pairs.push_back(2);
  const Tensor both = ops::reshape_dims(flat, pairs);
  return add(part(both, 0, 0), multiply(part(both, 1, 0), constants::i(type)));
}

/// `from` and `to` as scalars of the type, for arithmetic with flat values.
Tensor bound(std::string_view name, const Operand& operand, DType type) {
  const Plain plain = plain_operand(name, operand);
  if (plain.rank() != 0 || plain.lead > 0)
    throw ShapeError(name, fmt::format("bounds must be scalars, got {}", to_string(plain.dims())),
                     operand.where());
  return operand.is_number() ? ops::scalar(operand.number(), type) : as_type(plain.tensor, type);
}

Tensor uniform_values(const Tensor& key, std::int64_t count, DType type, const Tensor& low,
                      const Tensor& high) {
  const Tensor scaled = add(multiply(unit_interval(key, count, type), subtract(high, low)), low);
  return max(scaled, low);
}

/// The key itself as the source of values.
Draw begin_once(std::string_view name, const Tensor& key, const Dims& shape, const Names& names) {
  ops::check_names(name, names, shape.size());
  Draw draw{plain_key(name, key), {}, {}, element_count(shape)};
  draw.own = draw.next = draw.key.tensor;
  return draw;
}

std::pair<Tensor, Tensor> drawn_uniform(const Draw& draw, const Operand& min, const Operand& max,
                                  const UniformOptions& options) {
  const Tensor values = real_or_complex(
      "uniform", draw, options.type, [&](std::int64_t count, DType type) {
        return uniform_values(draw.own, count, type, bound("uniform", min, type),
                              bound("uniform", max, type));
      });
  return finish(draw, values, options.shape, options.names);
}

std::pair<Tensor, Tensor> drawn_normal(const Draw& draw, const Operand& mean,
                                 const Operand& standard_deviation, const NormalOptions& options) {
  const Tensor values = real_or_complex(
      "normal", draw, options.type, [&](std::int64_t count, DType type) {
        // The open interval (-1, 1): its first number is the one after -1.
        const int mantissa = type == DType::bf16 ? 7 : type == DType::f16 ? 10
                             : type == DType::f32 ? 23 : 52;
        const double first = -1 + std::ldexp(1.0, -mantissa - 1);
        const Tensor even = uniform_values(draw.own, count, type,
                                           ops::scalar(Number(first), type),
                                           ops::scalar(Number(1.0), type));
        // The reference's approximation, so that the same key gives the same numbers.
        return multiply(graph::emit(ops::kErfInvGiles, {even}, {}, {}), std::sqrt(2.0));
      });
  const DType type = options.type;
  const Tensor scaled = multiply(values, bound("normal", standard_deviation, type));
  return finish(draw, add(scaled, bound("normal", mean, type)), options.shape, options.names);
}

/// Throws unless the type and the bounds are integers, and `min` below `max` where both are known.
void check_integers(DType type, const Operand& min, const Operand& max) {
  if (!is_integer(type) || is_subbyte(type))
    throw DTypeError("randint", fmt::format("expected an integer type, got {}", name_of(type)));
  for (const Operand& edge : {min, max})
    if (edge.is_number() ? !edge.number().is_integer() : !is_integer(edge.tensor().type()))
      throw DTypeError("randint", "bounds must be integers", edge.where());
  if (min.is_number() && max.is_number() && min.number().real() >= max.number().real())
    throw ArgumentError("randint", fmt::format("expected min below max, got {} and {}",
                                               min.number().to_string(),
                                               max.number().to_string()), min.where());
}

std::pair<Tensor, Tensor> drawn_integers(const Draw& draw, const Operand& min, const Operand& max,
                                         const RandintOptions& options) {
  const DType type = options.type;
  check_integers(type, min, max);
  const int bits = bits_of(type);
  const Tensor all = as_type(random_bits(draw.own, 2 * draw.count, bits), DType::u64);
  Dims halves = ops::dims_of(draw.own);
  halves.back() = 2;
  halves.push_back(draw.count);
  const Tensor both = ops::reshape_dims(all, halves);
  // (high * 2^bits + low) mod span, without leaving 64 bits.
  const Tensor low = bound("randint", min, DType::s64);
  const Tensor span = as_type(subtract(bound("randint", max, DType::s64), low), DType::u64);
  const Tensor root = remainder(ops::scalar(Number(std::int64_t{1} << (bits / 2)), DType::u64), span);
  const Tensor factor = remainder(multiply(root, root), span);
  const Tensor offset = remainder(
      add(multiply(remainder(part(both, 0, 1), span), factor), remainder(part(both, 1, 1), span)),
      span);
  return finish(draw, as_type(add(as_type(offset, DType::s64), low), type), options.shape,
                options.names);
}


/// -log(-log(u)) of an even number above 0.
std::pair<Tensor, Tensor> drawn_gumbel(const Draw& draw, const GumbelOptions& options) {
  const DType type = options.type;
  if (!is_float(type) || bits_of(type) < 16)
    throw DTypeError("gumbel", fmt::format("expected bf16, f16, f32 or f64, got {}", name_of(type)));
  const Tensor least = constants::smallest_positive_normal(type);
  const Tensor even = uniform_values(draw.own, draw.count, type, least,
                                     ops::scalar(Number(1.0), type));
  // Near 0 the outer logarithm shows every unit of the inner one: f32 goes through f64.
  const DType wide = type == DType::f32 ? DType::f64 : type;
  const auto minus_log = [&](const Tensor& x) {
    return as_type(negate(log(as_type(x, wide))), type);
  };
  return finish(draw, minus_log(minus_log(even)), options.shape, options.names);
}

}  // namespace

Tensor key(const Operand& seed) {
  const Plain plain = plain_operand("key", seed);
  const DType type = plain.tensor.type();
  if (!is_signed_integer(type) && type != DType::u64)
    throw DTypeError("key", fmt::format("a seed is a signed integer, got {}", name_of(type)),
                     seed.where());
  if (plain.rank() != 0)
    throw ShapeError("key", fmt::format("a seed is a scalar, got {}", to_string(plain.dims())),
                     seed.where());
  return with_labels(two_words(plain.tensor), {}, plain.vector_axes);
}

Tensor split(const Tensor& key, const SplitOptions& options) {
  const Plain plain = plain_key("split", key);
  if (options.parts < 1)
    throw ArgumentError("split", fmt::format("parts must be positive, got {}", options.parts));
  return with_labels(split_plain(plain.tensor, options.parts), {}, plain.vector_axes);
}

Tensor fold_in(const Tensor& key_tensor, const Operand& data) {
  const Plain plain = plain_key("fold_in", key_tensor);
  const Plain given = plain_operand("fold_in", data);
  if (!is_integer(given.tensor.type()))
    throw DTypeError("fold_in", fmt::format("the data are integers, got {}",
                                            name_of(given.tensor.type())), data.where());
  if (given.lead > 0)
    throw ShapeError("fold_in", "the data must not be vectorized", data.where());
  // A number counts modulo 2^32. Each element of the data gives a key of its own.
  const Tensor numbers = data.is_number() ? as_type(given.tensor, DType::s32) : given.tensor;
  Dims dims = plain.with_lead(given.dims());
  Dims key_axes = ops::iota_dims(at(plain.lead));
  key_axes.push_back(static_cast<std::int64_t>(dims.size()));
  dims.push_back(2);
  const Tensor spread = ops::broadcast_to(two_words(numbers), dims);
  const Tensor keys = ops::broadcast_dims(plain.tensor, dims, key_axes);
  const Tensor mixed = graph::emit(ops::kThreefry, {keys, spread},
                                   graph::Attrs::of(ops::ThreefryAttrs{}), data.where());
  return with_labels(mixed, {}, plain.vector_axes);
}

std::pair<Tensor, Tensor> uniform(const Tensor& key, const UniformOptions& options) {
  return uniform(key, 0, 1, options);
}

std::pair<Tensor, Tensor> uniform(const Tensor& key, const Operand& min, const Operand& max,
                                  const UniformOptions& options) {
  return drawn_uniform(begin("uniform", key, options.shape, options.names), min, max, options);
}

Tensor uniform_split(const Tensor& key, const Operand& min, const Operand& max,
                     const UniformOptions& options) {
  return drawn_uniform(begin_once("uniform_split", key, options.shape, options.names), min, max,
                       options).first;
}

std::pair<Tensor, Tensor> normal(const Tensor& key, const NormalOptions& options) {
  return normal(key, 0, 1, options);
}

std::pair<Tensor, Tensor> normal(const Tensor& key, const Operand& mean,
                                 const Operand& standard_deviation, const NormalOptions& options) {
  return drawn_normal(begin("normal", key, options.shape, options.names), mean, standard_deviation,
                      options);
}

Tensor normal_split(const Tensor& key, const Operand& mean, const Operand& standard_deviation,
                    const NormalOptions& options) {
  return drawn_normal(begin_once("normal_split", key, options.shape, options.names), mean,
                      standard_deviation, options).first;
}

std::pair<Tensor, Tensor> randint(const Tensor& key, const Operand& min, const Operand& max,
                                  const RandintOptions& options) {
  return drawn_integers(begin("randint", key, options.shape, options.names), min, max, options);
}

Tensor randint_split(const Tensor& key, const Operand& min, const Operand& max,
                     const RandintOptions& options) {
  return drawn_integers(begin_once("randint_split", key, options.shape, options.names), min, max,
                        options).first;
}

std::pair<Tensor, Tensor> gumbel(const Tensor& key, const GumbelOptions& options) {
  return drawn_gumbel(begin("gumbel", key, options.shape, options.names), options);
}

Tensor gumbel_split(const Tensor& key, const GumbelOptions& options) {
  return drawn_gumbel(begin_once("gumbel_split", key, options.shape, options.names), options).first;
}

}  // namespace nx::random
