// Rows and functions of element types: convert, bitcast, and the type names as constructors.
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/simd_targets.h"
#include "nx/element.h"
#include "nx/type.h"
#include "ops/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/convert.cpp"
#include <hwy/foreach_target.h>  // IWYU pragma: keep

#include "kernels/elementwise-inl.h"

HWY_BEFORE_NAMESPACE();
namespace nx::ops::HWY_NAMESPACE {
namespace {

template <class From, class To>
void convert_tile(const kernels::TileCall& call) {
  const From* const in = static_cast<const From*>(call.in[0]);
  To* const out = static_cast<To*>(call.out);
  if constexpr (sizeof(From) == sizeof(To)) {
    NX_INDEPENDENT_ITERATIONS
    for (std::size_t i = 0; i < call.count; ++i) out[i] = static_cast<To>(in[i]);
  } else {
    for (std::size_t i = 0; i < call.count; ++i) out[i] = static_cast<To>(in[i]);
  }
}

template <class From>
kernels::TileKernel from(DType to) {
  switch (to) {  // integers of one width have one conversion: modulo 2^n
    case DType::u8: case DType::s8: return &convert_tile<From, std::uint8_t>;
    case DType::u16: case DType::s16: return &convert_tile<From, std::uint16_t>;
    case DType::u32: case DType::s32: return &convert_tile<From, std::uint32_t>;
    case DType::u64: case DType::s64: return &convert_tile<From, std::uint64_t>;
    case DType::f32: return &convert_tile<From, float>;
    case DType::f64: return &convert_tile<From, double>;
    default: return nullptr;
  }
}

}  // namespace

/// Conversions that C++ defines for every value: from integers, and between floats.
kernels::TileKernel plain_convert(DType in, DType out) {
  switch (in) {
    case DType::u8: return from<std::uint8_t>(out);
    case DType::u16: return from<std::uint16_t>(out);
    case DType::u32: return from<std::uint32_t>(out);
    case DType::u64: return from<std::uint64_t>(out);
    case DType::s8: return from<std::int8_t>(out);
    case DType::s16: return from<std::int16_t>(out);
    case DType::s32: return from<std::int32_t>(out);
    case DType::s64: return from<std::int64_t>(out);
    case DType::f32:
      if (out == DType::f64) return &convert_tile<float, double>;
      return out == DType::f32 ? &convert_tile<float, float> : nullptr;
    case DType::f64:
      if (out == DType::f32) return &convert_tile<double, float>;
      return out == DType::f64 ? &convert_tile<double, double> : nullptr;
    default: return nullptr;
  }
}

}  // namespace nx::ops::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <fmt/format.h>

#include <array>

#include "graph/dispatch.h"
#include "graph/match.h"
#include "graph/trace.h"
#include "ops/creation.h"
#include "ops/elementwise.h"
#include "ops/elementwise_functions.h"
#include "ops/elementwise_rows.h"
#include "ops/families.h"
#include "ops/labels.h"
#include "ops/movement.h"

namespace nx::ops {

HWY_EXPORT(plain_convert);

namespace {

using kernels::TileCall;
using kernels::TileKernel;

TileKernel plain(DType in, DType out) { return HWY_DYNAMIC_DISPATCH(plain_convert)(in, out); }

/// Truncates, then wraps modulo 2^64; NaN is 0. Infinities are the caller's.
std::uint64_t wrap_to_integer(double value) {
  if (std::fabs(value) < 0x1p63) return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  if (!std::isfinite(value)) return 0;
  const double rest = std::fmod(value, 0x1p64);  // exact, and whole: so large a float has no fraction
  const auto magnitude = static_cast<std::uint64_t>(std::fabs(rest));
  return rest < 0 ? 0 - magnitude : magnitude;
}

template <class Float, class Int>
void float_to_integer(const TileCall& call) {
  using L = std::numeric_limits<Int>;
  const Float* const in = static_cast<const Float*>(call.in[0]);
  Int* const out = static_cast<Int*>(call.out);
  for (std::size_t i = 0; i < call.count; ++i) {
    const Float x = in[i];
    if (std::isinf(x)) out[i] = x > 0 ? L::max() : L::min();
    else out[i] = static_cast<Int>(wrap_to_integer(static_cast<double>(x)));
  }
}

template <class Float>
TileKernel to_integer(DType out) {
  switch (out) {
    case DType::u8: return &float_to_integer<Float, std::uint8_t>;
    case DType::u16: return &float_to_integer<Float, std::uint16_t>;
    case DType::u32: return &float_to_integer<Float, std::uint32_t>;
    case DType::u64: return &float_to_integer<Float, std::uint64_t>;
    case DType::s8: return &float_to_integer<Float, std::int8_t>;
    case DType::s16: return &float_to_integer<Float, std::int16_t>;
    case DType::s32: return &float_to_integer<Float, std::int32_t>;
    default: return &float_to_integer<Float, std::int64_t>;
  }
}

/// The type of whole bytes, at least f32 among floats, that elements of `type` are computed in.
constexpr DType base_of(DType type) {
  if (is_subbyte(type)) return is_unsigned(type) ? DType::u8 : DType::s8;
  return kernels::is_narrow_float(type) ? DType::f32 : type;
}

TileKernel base_kernel(DType in, DType out) {
  if (is_complex(in) || is_complex(out)) return nullptr;
  if (is_float(in) && is_integer(out))
    return in == DType::f32 ? to_integer<float>(out) : to_integer<double>(out);
  return plain(in, out);
}

/// Through chunks in the base types: narrow float, sub-byte and complex operands or results.
template <DType kIn, DType kOut>
void chunked(const TileCall& call) {
  constexpr std::size_t kChunk = 256;
  constexpr DType kBaseIn = base_of(kIn), kBaseOut = base_of(kOut);
  alignas(64) unsigned char wide_in[kChunk * 8], wide_out[kChunk * 8];
  const TileKernel kernel = base_kernel(kBaseIn, kBaseOut);
  for (std::size_t first = 0; first < call.count; first += kChunk) {
    const std::size_t count = std::min(kChunk, call.count - first);
    const void* in = static_cast<const char*>(call.in[0]) + first * byte_size_of(kIn);
    void* const out = static_cast<char*>(call.out) + first * byte_size_of(kOut);
    if constexpr (kernels::is_narrow_float(kIn)) {
      kernels::widen_floats(kIn, in, reinterpret_cast<float*>(wide_in), count);
      in = wide_in;
    }
    if constexpr (kernels::is_narrow_float(kOut)) {
      kernel({&in, wide_out, count, nullptr});
      kernels::narrow_floats(kOut, reinterpret_cast<const float*>(wide_out), out, count);
    } else {
      kernel({&in, out, count, nullptr});
      if constexpr (is_subbyte(kOut)) kernels::wrap_subbyte(kOut, out, count);
    }
  }
}

/// Infinities become the bounds of the narrow type itself, not of its base.
template <DType kIn, DType kOut>
void float_to_subbyte(const TileCall& call) {
  const int bits = bits_of(kOut);
  const int low = is_unsigned(kOut) ? 0 : -(1 << (bits - 1));
  const int high = is_unsigned(kOut) ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
  auto* const out = static_cast<std::int8_t*>(call.out);
  for (std::size_t i = 0; i < call.count; ++i) {
    double value;
    if constexpr (kIn == DType::f64) {
      value = static_cast<const double*>(call.in[0])[i];
    } else if constexpr (kIn == DType::f32) {
      value = static_cast<const float*>(call.in[0])[i];
    } else {
      float wide;
      kernels::widen_floats(kIn, static_cast<const char*>(call.in[0]) + i * byte_size_of(kIn),
                            &wide, 1);
      value = wide;
    }
    out[i] = static_cast<std::int8_t>(std::isinf(value) ? (value > 0 ? high : low)
                                                        : static_cast<int>(wrap_to_integer(value)));
  }
  kernels::wrap_subbyte(kOut, call.out, call.count);
}

constexpr std::size_t kReal = static_cast<std::size_t>(DType::f64) + 1;

template <std::size_t kIn, std::size_t kOut>
constexpr TileKernel special() {
  constexpr auto in = static_cast<DType>(kIn), out = static_cast<DType>(kOut);
  if constexpr (is_float(in) && is_subbyte(out)) return &float_to_subbyte<in, out>;
  else if constexpr (base_of(in) != in || base_of(out) != out) return &chunked<in, out>;
  else return nullptr;
}

template <std::size_t... kPair>
constexpr std::array<TileKernel, sizeof...(kPair)> special_kernels(std::index_sequence<kPair...>) {
  return {special<kPair / kReal, kPair % kReal>()...};
}
constexpr auto kSpecial = special_kernels(std::make_index_sequence<kReal * kReal>());

TileKernel convert_kernel(std::span<const DType> in, DType out) {
  if (is_complex(in[0]) || is_complex(out)) return nullptr;
  const TileKernel kernel =
      kSpecial[static_cast<std::size_t>(in[0]) * kReal + static_cast<std::size_t>(out)];
  return kernel ? kernel : base_kernel(in[0], out);
}

graph::TensorTypes infer_convert(std::span<const graph::TensorType> in, const graph::Attrs& attrs) {
  return {{attrs.as<ConvertAttrs>().type, in[0].dims}};
}

graph::Tensors convert_gradient(const graph::GradCall& c) {
  // What was computed in f64 keeps its precision all the way back.
  if (c.g[0].type() == DType::f64) return {c.g[0]};
  return {as_type(c.g[0], to_inexact(c.in[0].type()))};
}

graph::Tensors vectorize_convert(const graph::VectorizeCall& call) {
  return {graph::emit(kConvert, call.in, call.attrs, {})};
}

// Backends saturate where we wrap. The value is brought into the range of s64 by an exact
// remainder, and from there narrowed, which wraps everywhere.
std::vector<stablehlo::Value> lower_convert(const graph::LowerCall& call) {
  stablehlo::Writer& w = call.writer;
  const DType in = call.in_types[0].type, out = call.out_types[0].type;
  if ((in == DType::bf16 || in == DType::f16) && is_float(out) && bits_of(out) >= 32) {
    // XLA drops pairs of casts, and with them the rounding of the narrow operation before: say it.
    const auto wide = w.convert(call.in[0], out);
    return {w.op("reduce_precision", {wide}, wide.type,
                 in == DType::bf16 ? "exponent_bits = 8 : i32, mantissa_bits = 7 : i32"
                                   : "exponent_bits = 5 : i32, mantissa_bits = 10 : i32")};
  }
  if (!is_float(in) || !is_integer(out)) return {w.convert(call.in[0], out)};
  const Formula f(call);
  const auto zero = f.number(0.0);
  const auto is_nan = f.test("NE", f.x(), f.x());
  const auto x = f.select(is_nan, zero, f.x());
  const auto rest = f.op("remainder", {x, f.number(0x1p64)});
  const auto above = f.test("GE", rest, f.number(0x1p63));
  const auto below = f.test("LT", rest, f.number(-0x1p63));
  const auto inside = f.select(above, f.sub(rest, f.number(0x1p64)),
                               f.select(below, f.add(rest, f.number(0x1p64)), rest));
  const auto narrow = w.convert(w.convert(inside, DType::s64), out);
  const auto bound = [&](bool high) {
    const int bits = bits_of(out);
    const Number top = is_unsigned(out) ? Number(~std::uint64_t{0} >> (64 - bits))
                                        : Number(static_cast<std::int64_t>(
                                              (std::uint64_t{1} << (bits - 1)) - 1));
    const Number bottom =
        is_unsigned(out) ? Number(0)
                         : Number(static_cast<std::int64_t>(~std::uint64_t{0} << (bits - 1)));
    return w.constant(high ? top : bottom, out, call.out_types[0].dims);
  };
  const auto infinity = f.number(std::numeric_limits<double>::infinity());
  return {w.select(f.test("EQ", x, infinity), bound(true),
                   w.select(f.test("EQ", x, f.neg(infinity)), bound(false), narrow))};
}

/// A cast that keeps every value may be skipped when it is followed by another.
bool keeps_values(DType from, DType to) {
  if (is_float(from) && is_float(to))
    return bits_of(to) > bits_of(from) && bits_of(to) >= 32;
  return is_integer(from) && is_integer(to) && merge_types(from, to) == to &&
         !(is_signed_integer(from) && is_unsigned(to));
}

Tensor simplify_convert(const graph::SimplifyCall& call) {
  const Tensor& x = call.in[0];
  if (x.type() == call.out[0].type) return x;
  if (graph::is_made_by(x, kConvert)) {
    const Tensor origin = graph::operand_of(x, 0);
    if (keeps_values(origin.type(), x.type())) return convert_to(origin, call.out[0].type);
  }
  return {};
}

graph::TensorTypes infer_bitcast(std::span<const graph::TensorType> in, const graph::Attrs& attrs) {
  const DType type = attrs.as<ConvertAttrs>().type;
  if (bits_of(type) != bits_of(in[0].type))
    throw ArgumentError("bitcast", fmt::format("expected a type of {} bits, got {}",
                                               bits_of(in[0].type), name_of(type)));
  return {{type, in[0].dims}};
}
graph::Tensors vectorize_bitcast(const graph::VectorizeCall& call) {
  return {graph::emit(kBitcast, call.in, call.attrs, {})};
}
std::vector<stablehlo::Value> lower_bitcast(const graph::LowerCall& call) {
  return lower_as(call, "bitcast_convert");
}

}  // namespace

constinit const graph::OpRow kConvert{
    .name = "convert",
    .infer = infer_convert,
    .gradient = graph::Gradient(convert_gradient),
    .vectorize = vectorize_convert,
    .lower = lower_convert,
    .host = graph::HostRule(graph::ElementwiseRule{convert_kernel, 0.2f}),
    .simplify = simplify_convert,
};
constinit const graph::OpRow kBitcast{
    .name = "bitcast",
    .infer = infer_bitcast,
    .gradient = graph::Gradient(graph::zero_gradient_rule),
    .vectorize = vectorize_bitcast,
    .lower = lower_bitcast,
    .host = graph::HostRule(graph::RelabelRule{}),
};

Tensor convert_to(const Tensor& x, DType type) {
  if (graph::type_of(x, "as_type").type == type) return x;
  if (graph::current_trace() != nullptr)
    return graph::emit(kConvert, {without_labels(x)}, graph::Attrs::of(ConvertAttrs{type}), {});
  const Operand operand(x);
  const DType from = x.type();
  return elementwise_typed(kConvert, {&operand, 1}, {&from, 1}, type);
}

Tensor as_tensor(const Operand& x) {
  if (x.is_number()) return scalar(x.number(), default_type(x.number()));
  detail::Access::checked(x.tensor(), "as_type", x.where());
  return detail::Access::with_mark(x.tensor(), false);
}

namespace {

const graph::OpRow* const kOps[] = {&kConvert, &kBitcast};
constexpr FunctionRow kFunctions[] = {
    function_row({.name = "as_type",
                  .doc = "The values in another element type.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(Number(-2), -2.75, DType::s32); },
                  .call = erase<&nx::as_type>}),
    function_row({.name = "bitcast",
                  .doc = "The bits read as another type of the same width.",
                  .accepts = Accepts::kAny,
                  .accuracy = Accuracy{0, -10, 10},
                  .examples = +[] { return example(Number(1065353216), 1.0, DType::s32); },
                  .call = erase<&nx::bitcast>,
                  .differentiable = false}),
};

}  // namespace

constinit const Family kConvertFamily{"convert", kOps, kFunctions};

}  // namespace nx::ops

namespace nx {

Tensor as_type(const Operand& x, DType type) {
  if (x.is_number()) return ops::scalar(x.number(), type);
  const detail::Body& body = detail::Access::checked(x.tensor(), "as_type", x.where());
  if (body.type == type) return detail::Access::with_mark(x.tensor(), false);
  if (graph::current_trace() != nullptr)
    return graph::emit(ops::kConvert, {x.tensor()}, graph::Attrs::of(ops::ConvertAttrs{type}),
                       x.where(), body.labels);
  const DType from = body.type;
  return ops::elementwise_typed(ops::kConvert, {&x, 1}, {&from, 1}, type);
}

Tensor bitcast(const Operand& x, DType type) {
  const Tensor tensor = ops::as_tensor(x);
  return graph::emit(ops::kBitcast, {tensor}, graph::Attrs::of(ops::ConvertAttrs{type}), x.where(),
                     ops::labels_of(tensor));
}

}  // namespace nx
#endif
