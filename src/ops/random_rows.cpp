// The row of threefry2x32: words from keys and counters.
#include <fmt/format.h>

#include "graph/trace.h"
#include "kernels/threefry.h"
#include "ops/movement.h"
#include "ops/random.h"
#include "ops/view_rows.h"

namespace nx::ops {
namespace {

using graph::Attrs;
using graph::LowerCall;
using graph::Tensors;
using graph::TensorType;
using graph::TensorTypes;
using graph::VectorizeCall;
using stablehlo::Type;
using stablehlo::Value;
using stablehlo::Writer;

TensorTypes infer(std::span<const TensorType> in, const Attrs& attrs) {
  const std::int64_t count = attrs.as<ThreefryAttrs>().count;
  const Dims& key = in[0].dims;
  if (in[0].type != DType::u32 || key.empty() || key.back() != 2)
    throw ShapeError("threefry2x32", fmt::format("a key is u32[2], got {}", to_string(in[0])));
  Dims out(key.begin(), key.end() - 1);
  if (count >= 0) {
    out.push_back(count);
    return {{DType::u32, out}};
  }
  out.push_back(in[1].dims.empty() ? 0 : in[1].dims.back());
  if (in[1].type != DType::u32 || !(in[1].dims == out))
    throw ShapeError("threefry2x32", fmt::format("counters; expected {}, got {}",
                                                 nx::to_string(DType::u32, out),
                                                 to_string(in[1])));
  return {in[1]};
}

Tensors vectorize(const VectorizeCall& call) {
  return {graph::emit(kThreefry, call.in, call.attrs, {})};
}

/// Writes u32 arithmetic on arrays of one shape.
struct Words {
  Writer& w;
  Type type;
  Value constant(std::uint32_t value) { return w.constant(Number(value), DType::u32, type.dims); }
  Value op(const char* name, const Value& a, const Value& b) { return w.op(name, {a, b}, type); }
  void mix(Value& x0, Value& x1, std::uint32_t left) {
    x0 = op("add", x0, x1);
    const Value turned = op("or", op("shift_left", x1, constant(left)),
                            op("shift_right_logical", x1, constant(32 - left)));
    x1 = op("xor", turned, x0);
  }
};

std::vector<Value> lower(const LowerCall& call) {
  Writer& w = call.writer;
  const Dims& out = call.out_types[0].dims;
  const std::int64_t count = out.back(), half = (count + 1) / 2;
  Dims block = out;
  block.back() = half;
  Words words{w, {DType::u32, block}};
  const auto last = static_cast<std::int64_t>(block.size()) - 1;
  Value x0, x1;
  if (call.in.size() == 1) {
    x0 = w.op("iota", {}, words.type, fmt::format("iota_dimension = {} : i64", last));
    x1 = words.op("add", x0, words.constant(static_cast<std::uint32_t>(half)));
    if (count % 2 == 1) {
      const Value end = words.constant(static_cast<std::uint32_t>(count));
      x1 = w.select(w.compare("EQ", x1, end), words.constant(0), x1);
    }
  } else {
    Value counters = call.in[1];
    if (count % 2 == 1) {
      Dims low(out.size(), 0), high(out.size(), 0);
      high.back() = 1;
      Type padded = counters.type;
      ++padded.dims.back();
      counters = w.op("pad", {counters, w.constant(Number(0), DType::u32)}, padded,
                      fmt::format("edge_padding_low = {}, edge_padding_high = {}, "
                                  "interior_padding = {}",
                                  Writer::array(low), Writer::array(high), Writer::array(low)));
    }
    x0 = lower_part(w, counters, last, 0, half);
    x1 = lower_part(w, counters, last, half, 2 * half);
  }
  // [batch…, 1] -> [batch…] -> every word.
  const Dims lead(out.begin(), out.end() - 1);
  const auto key_word = [&](std::int64_t i) {
    return w.broadcast(w.reshape(lower_part(w, call.in[0], last, i, i + 1), lead), block,
                       iota_dims(lead.size()));
  };
  const Value k0 = key_word(0), k1 = key_word(1);
  const Value keys[3] = {k0, k1,
                         words.op("xor", words.op("xor", k0, k1), words.constant(0x1bd11bdau))};
  x0 = words.op("add", x0, keys[0]);
  x1 = words.op("add", x1, keys[1]);
  constexpr std::uint32_t kTurns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  for (std::uint32_t round = 0; round < 5; ++round) {
    for (const std::uint32_t turn : kTurns[round % 2]) words.mix(x0, x1, turn);
    x0 = words.op("add", x0, keys[(round + 1) % 3]);
    x1 = words.op("add", x1, words.op("add", keys[(round + 2) % 3], words.constant(round + 1)));
  }
  Type whole = words.type;
  whole.dims.back() = 2 * half;
  const Value all = w.op("concatenate", {x0, x1}, whole, fmt::format("dimension = {} : i64", last));
  return {count % 2 == 1 ? lower_part(w, all, last, 0, count) : all};
}

std::unique_ptr<kernels::PreparedKernel> prepare(const graph::KernelSpec& spec) {
  const std::int64_t count = spec.out[0].dims.back();
  return kernels::prepare_threefry(
      {element_count(spec.in[0].dims) / 2, count, spec.in.size() == 2});
}

}  // namespace

const graph::OpRow kThreefry{
    .name = "threefry2x32",
    .infer = infer,
    .gradient = graph::Gradient(graph::zero_gradient_rule),
    .vectorize = vectorize,
    .lower = lower,
    .host = graph::HostRule(graph::KernelRule{prepare}),
};

}  // namespace nx::ops
