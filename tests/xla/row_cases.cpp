// Cases by row.
#include "xla/row_cases.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "graph/trace.h"
#include "nx/element.h"
#include "ops/contract.h"
#include "ops/convert.h"
#include "ops/creation.h"
#include "ops/indexing.h"
#include "ops/movement.h"
#include "ops/order.h"
#include "ops/random.h"
#include "ops/reduce.h"
#include "ops/rows.h"
#include "ops/unary.h"

namespace nx::xla::testing {
namespace {

using graph::Attrs;
using graph::OpRow;
using graph::TensorType;

const std::vector<double>& float_values() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  static const std::vector<double> values = {0.0,  -0.0, 1.0,  -1.0,  0.5,          -0.5,  0.25,
                                             1.5,  -2.5, 2.0,  -3.0,  3.5,          7.0,   -8.0,
                                             10.0, 0.75, kInf, -kInf, std::nan(""), -0.875};
  return values;
}

double value_at(DType type, std::size_t i) {
  if (is_inexact(type)) return float_values()[i % float_values().size()];
  // All that the type holds around 0, and its ends.
  const int bits = std::min(bits_of(type), 31);
  const double low = is_unsigned(type) ? 0 : -std::ldexp(1, bits - 1);
  const double high = is_unsigned(type) ? std::ldexp(1, bits) - 1 : std::ldexp(1, bits - 1) - 1;
  const double some[] = {0, 1, 2, 3, low, high, 5, 7, low + 1, high - 1, -1, -2, -3, 12, -7};
  const double value = some[i % std::size(some)];
  return value < low || value > high ? static_cast<double>(i % 2) : value;
}

void write(DType type, double value, double imaginary, unsigned char* to) {
  visit_element(type, [&](auto element) {
    using T = decltype(element);
    T stored{};
    if constexpr (std::is_integral_v<T>) stored = static_cast<T>(static_cast<std::int64_t>(value));
    else if constexpr (std::is_same_v<T, std::complex<float>>)
      stored = T(static_cast<float>(value), static_cast<float>(imaginary));
    else if constexpr (sizeof(T) == 16) stored = T(value, imaginary);
    else if constexpr (std::is_same_v<T, double>) stored = value;
    else stored = T(static_cast<float>(value));
    std::memcpy(to, &stored, sizeof stored);
    return 0;
  });
}

/// How many operands a row takes that checks their number, or 0.
int arity_of(const OpRow& row, DType type, std::int64_t count) {
  for (const int arity : {1, 2, 3}) {
    const std::vector<TensorType> types(static_cast<std::size_t>(arity), {type, {count}});
    try {
      (*row.infer)(types, {});
      return arity;
    } catch (const InternalError&) {
    } catch (const Error&) {
      return 0;
    }
  }
  return 0;
}

std::vector<RowCase> elementwise_cases(const OpRow& row, DType type) {
  const auto count = static_cast<std::int64_t>(value_count(type));
  if (row.name == "select")
    return {{&row,
             {{{DType::u8, {count * count}}}, {{type, {count * count}}}, {{type, {count * count}}}},
             {}}};
  if (row.name == "convert") {
    std::vector<RowCase> cases;
    for (int t = 0; t < kDTypeCount; ++t)
      cases.push_back(
          {&row, {{{type, {2, count}}}}, Attrs::of(ops::ConvertAttrs{static_cast<DType>(t)})});
    return cases;
  }
  // 2, the number of bits that are none, does not fit s2.
  const bool counts = row.is(ops::kCountLeadingZeros) || row.is(ops::kPopulationCount);
  if (counts && type == DType::s2) return {};
  const int arity = arity_of(row, type, count);
  if (arity == 0) return {};
  // Defined inside (-1, 1) alone: random::normal, which it stands behind, draws nothing else.
  if (row.is(ops::kErfInvGiles)) return {{&row, {{{type, {count}}, Draw::kInside}}, {}}};
  const Dims dims = arity == 1 ? Dims{count} : Dims{count * count};
  return {{&row, std::vector<Operand>(static_cast<std::size_t>(arity), {{type, dims}}), {}}};
}

using Cases = std::vector<RowCase>;
using Make = Cases (*)(const OpRow& row, DType type);

/// The graph of a call with the tensors of an example.
graph::Graph traced(const ops::FunctionRow& function, ops::Example example) {
  graph::OpenTrace open("example");
  const auto parameter = [&](Tensor& t) { t = open.trace().parameter(t, "", false); };
  for (ops::Value& arg : example.args) ops::for_each_tensor(arg, parameter);
  for (auto& [name, value] : example.options) ops::for_each_tensor(value, parameter);
  (*function.call)(example.args, example.options);
  return open.trace().graph();
}

/// Some of what the examples of all functions do with each row.
const std::map<const OpRow*, Cases>& recorded() {
  constexpr std::size_t kMost = 8;
  static const std::map<const OpRow*, Cases> all = [] {
    std::map<const OpRow*, Cases> made;
    std::set<std::string> seen;
    for (const ops::FunctionRow* const function : ops::all_rows()) {
      if (ops::reads_values(*function)) continue;
      for (const ops::Example& example : (*function->examples)()) {
        const graph::Graph graph = traced(*function, example);
        for (const graph::Node& node : graph.nodes) {
          RowCase c{node.row, {}, node.attrs};
          for (const graph::Edge edge : node.inputs)
            c.in.push_back({graph.nodes[edge.node].type(edge.output), Draw::kNumbers});
          if (made[node.row].size() < kMost && seen.insert(c.to_string()).second)
            made[node.row].push_back(std::move(c));
        }
      }
    }
    return made;
  }();
  return all;
}

/// Those, with operands of that type.
Cases recorded_cases(const OpRow& row, DType type) {
  const auto found = recorded().find(&row);
  if (found == recorded().end()) return {};
  Cases cases = found->second;
  for (RowCase& c : cases) {
    const DType first = c.in.empty() ? type : c.in[0].type.type;
    for (Operand& operand : c.in)
      if (operand.type.type == first) operand.type.type = type;
  }
  return cases;
}

// -- what examples leave out ------------------------------------------------------------------

Cases reduce_cases(const OpRow& row, DType type) {
  Cases cases;
  const Dims lists[] = {{0}, {1}, {0, 2}, {0, 1, 2}};
  for (const Dims& axes : lists) {
    graph::ReduceAttrs attrs;
    attrs.axes = axes;
    cases.push_back({&row, {{{type, {2, 3, 4}}, Draw::kNumbers}}, Attrs::of(std::move(attrs))});
  }
  cases.push_back({&row, {{{type, {2, 0}}, Draw::kNumbers}}, Attrs::of(graph::ReduceAttrs{{1}})});
  if (row.is(ops::kReduceMax) || row.is(ops::kReduceMin))
    cases.push_back({&row, {{{type, {8, 5}}}}, Attrs::of(graph::ReduceAttrs{{1}})});
  return cases;
}

Cases arg_cases(const OpRow& row, DType type) {
  Cases cases;
  for (const bool last : {false, true})
    for (const std::int64_t axis : {0, 1})
      cases.push_back(
          {&row, {{{type, {6, 7}}}}, Attrs::of(ops::ArgReduceAttrs{axis, last, DType::s32})});
  cases.push_back({&row, {{{type, {40}}}}, Attrs::of(ops::ArgReduceAttrs{0, false, DType::u8})});
  return cases;
}

Cases sort_cases(const OpRow& row, DType type) {
  Cases cases;
  for (const bool descending : {false, true})
    for (const std::int64_t axis : {0, 1})
      cases.push_back({&row, {{{type, {6, 7}}}}, Attrs::of(ops::SortAttrs{axis, descending})});
  cases.push_back({&row, {{{type, {40}}}}, Attrs::of(ops::SortAttrs{0, false, DType::u8})});
  return cases;
}

Cases movement_cases(const OpRow& row, DType type) {
  const std::vector<Operand> one = {{{type, {2, 3, 4}}}};
  const auto scalar = [](DType of, Draw draw) { return Operand{{of, {}}, draw}; };
  if (row.is(ops::kBroadcast))
    return {{&row, {{{type, {}}}}, Attrs::of(ops::BroadcastAttrs{{2, 3}, {}})},
            {&row, {{{type, {3, 1}}}}, Attrs::of(ops::BroadcastAttrs{{3, 2, 4}, {0, 2}})},
            {&row, {{{type, {4, 2}}}}, Attrs::of(ops::BroadcastAttrs{{2, 3, 4}, {2, 0}})}};
  if (row.is(ops::kTranspose)) return {{&row, one, Attrs::of(ops::TransposeAttrs{{2, 0, 1}})}};
  if (row.is(ops::kReshape))
    return {{&row, one, Attrs::of(ops::ReshapeAttrs{{6, 4}})},
            {&row, {{{type, {1}}}}, Attrs::of(ops::ReshapeAttrs{{}})},
            {&row, {{{type, {0, 3}}}}, Attrs::of(ops::ReshapeAttrs{{3, 0}})}};
  if (row.is(ops::kSlice))
    return {{&row, one, Attrs::of(ops::SliceAttrs{{0, 1, 0}, {2, 3, 4}, {1, 1, 2}})},
            {&row, one, Attrs::of(ops::SliceAttrs{{0, 1, 0}, {2, 1, 4}, {1, 1, 3}})}};
  if (row.is(ops::kReverse)) return {{&row, one, Attrs::of(ops::ReverseAttrs{{0, 2}})}};
  if (row.is(ops::kConcatenate))
    return {{&row,
             {{{type, {2, 1}}}, {{type, {2, 3}}}, {{type, {2, 0}}}},
             Attrs::of(ops::ConcatenateAttrs{1})}};
  if (row.is(ops::kPad))
    return {{&row,
             {{{type, {2, 3}}}, scalar(type, Draw::kValues)},
             Attrs::of(ops::PadAttrs{{1, -1}, {0, 2}, {2, 0}})},
            {&row,
             {{{type, {2, 0}}}, scalar(type, Draw::kValues)},
             Attrs::of(ops::PadAttrs{{0, 1}, {0, 1}, {0, 1}})}};
  Cases cases;
  for (const DType index : {DType::s32, DType::s64, DType::u8, DType::s8}) {
    if (row.is(ops::kDynamicSlice))
      cases.push_back(
          {&row,
           {{{type, {2, 3}}}, scalar(index, Draw::kIndices), scalar(index, Draw::kIndices)},
           Attrs::of(ops::DynamicSliceAttrs{{1, 2}})});
    if (row.is(ops::kPutSlice))
      cases.push_back({&row,
                       {{{type, {2, 3}}},
                        {{type, {1, 2}}},
                        scalar(index, Draw::kIndices),
                        scalar(index, Draw::kIndices)},
                       {}});
  }
  return cases;
}

Cases dot_cases(const OpRow& row, DType type) {
  const auto number = [&](Dims dims) { return Operand{{type, std::move(dims)}, Draw::kNumbers}; };
  return {
      {&row, {number({2, 3}), number({3, 4})}, Attrs::of(ops::DotAttrs{{1}, {}, {0}, {}})},
      {&row, {number({3}), number({3})}, Attrs::of(ops::DotAttrs{{0}, {}, {0}, {}})},
      {&row, {number({2, 3, 4}), number({4, 3, 2})}, Attrs::of(ops::DotAttrs{{1}, {0}, {1}, {2}})},
      {&row,
       {number({2, 3, 4}), number({3, 4, 5})},
       Attrs::of(ops::DotAttrs{{2, 1}, {}, {1, 0}, {}})},
      {&row, {number({2}), number({3})}, Attrs::of(ops::DotAttrs{{}, {}, {}, {}})},
      {&row, {number({2, 0}), number({0, 3})}, Attrs::of(ops::DotAttrs{{1}, {}, {0}, {}})}};
}

Cases iota_cases(const OpRow& row, DType type) {
  return {{&row, {}, Attrs::of(ops::IotaAttrs{type, {2, 3}, 1})},
          {&row, {}, Attrs::of(ops::IotaAttrs{type, {2, 3}, 0})},
          {&row, {}, Attrs::of(ops::IotaAttrs{type, {2, 3}, -1})},
          {&row, {}, Attrs::of(ops::IotaAttrs{type, {}, -1})}};
}

Cases indexing_cases(const OpRow& row, DType type) {
  struct Shapes {
    Dims x, indices, slices;
    ops::GatherAttrs attrs;
  };
  const Shapes shapes[] = {{{5}, {4, 1}, {4}, {{0}, 0, 0}},
                           {{4, 3}, {2, 5, 1}, {2, 5, 3}, {{0}, 0, 0}},
                           {{4, 3}, {2, 5, 1}, {4, 2, 5}, {{1}, 0, 1}},
                           {{4, 3, 2}, {5, 2}, {2, 5}, {{1, 0}, 0, 1}},
                           {{2, 4, 3}, {2, 5, 1}, {2, 5, 4}, {{1}, 1, 0}}};
  Cases cases;
  for (const Shapes& s : shapes)
    for (const DType index : {DType::s32, DType::s64, DType::u8}) {
      const Draw draw = row.is(ops::kIndexedAdd) ? Draw::kNumbers : Draw::kValues;
      std::vector<Operand> in = {{{type, s.x}, draw}, {{index, s.indices}, Draw::kNumbers}};
      if (!row.is(ops::kGather)) in.push_back({{type, s.slices}, draw});
      cases.push_back({&row, std::move(in), Attrs::of(s.attrs)});
    }
  return cases;
}

Cases threefry_cases(const OpRow& row, DType type) {
  const Operand key{{type, {2}}, Draw::kBits}, keys{{type, {3, 2}}, Draw::kBits};
  Cases cases;
  for (const std::int64_t count : {1, 2, 7, 64}) {
    cases.push_back({&row, {key}, Attrs::of(ops::ThreefryAttrs{count})});
    cases.push_back({&row, {keys}, Attrs::of(ops::ThreefryAttrs{count})});
    cases.push_back(
        {&row, {key, {{type, {count}}, Draw::kBits}}, Attrs::of(ops::ThreefryAttrs{-1})});
    cases.push_back(
        {&row, {keys, {{type, {3, count}}, Draw::kBits}}, Attrs::of(ops::ThreefryAttrs{-1})});
  }
  return cases;
}

Cases bitcast_cases(const OpRow& row, DType type) {
  Cases cases;
  for (int t = 0; t < kDTypeCount; ++t) {
    const auto to = static_cast<DType>(t);
    if (bits_of(to) == bits_of(type) && !is_subbyte(to) && !is_complex(to) && !is_complex(type))
      cases.push_back({&row, {{{type, {2, 10}}}}, Attrs::of(ops::ConvertAttrs{to})});
  }
  return cases;
}

Make make_of(const OpRow& row) {
  if (row.host_as<graph::ElementwiseRule>() != nullptr) return elementwise_cases;
  if (row.host_as<graph::ReduceRule>() != nullptr) return reduce_cases;
  if (row.is(ops::kArgmax) || row.is(ops::kArgmin)) return arg_cases;
  if (row.is(ops::kSort) || row.is(ops::kArgsort)) return sort_cases;
  if (row.is(ops::kDot)) return dot_cases;
  if (row.is(ops::kIota)) return iota_cases;
  if (row.is(ops::kGather) || row.is(ops::kIndexedAdd) || row.is(ops::kIndexedPut))
    return indexing_cases;
  if (row.is(ops::kBitcast)) return bitcast_cases;
  if (row.is(ops::kThreefry)) return threefry_cases;
  return movement_cases;
}

bool is_swept(const OpRow& row) {
  return row.host_as<graph::ElementwiseRule>() != nullptr ||
         row.host_as<graph::ReduceRule>() != nullptr;
}

}  // namespace

std::string RowCase::to_string() const {
  std::string text(row->name);
  for (const Operand& operand : in) text += " " + graph::to_string(operand.type);
  return text + " {" + attrs.to_string() + "}";
}

std::size_t value_count(DType type) { return is_inexact(type) ? float_values().size() : 15; }

std::vector<RowCase> cases_of(const OpRow& row, DType type) {
  std::vector<RowCase> taken;
  Cases cases = make_of(row)(row, type);
  if (!is_swept(row))
    for (RowCase& c : recorded_cases(row, type)) cases.push_back(std::move(c));
  for (RowCase& c : cases) {
    graph::TensorTypes types;
    for (const Operand& operand : c.in) types.push_back(operand.type);
    try {
      (*row.infer)(types, c.attrs);
      taken.push_back(std::move(c));
    } catch (const DTypeError&) {
    } catch (const ArgumentError&) {  // bitcast: of another width
    } catch (const ShapeError&) {     // threefry, of the type of a key
    }
  }
  return taken;
}

std::vector<unsigned char> draw_elements(const Operand& operand, std::size_t which) {
  const DType type = operand.type.type;
  const std::size_t width = byte_size_of(type), values = value_count(type);
  std::vector<unsigned char> bytes(operand.type.bytes());
  for (std::size_t i = 0; i * width < bytes.size(); ++i) {
    double value = 0;
    switch (operand.draw) {
      // The second operand goes on when the first has seen all values: all pairs meet.
      case Draw::kValues: value = value_at(type, which % 2 == 0 ? i : i / values); break;
      case Draw::kNumbers:
        value = static_cast<double>((i * 7 + which * 3) % 5) - (is_unsigned(type) ? 0 : 2);
        if (is_subbyte(type)) value = static_cast<double>((i * 7 + which) % 2);
        break;
      case Draw::kIndices:
        value = is_unsigned(type) ? which % 4 : static_cast<double>(which) - 2;
        break;
      case Draw::kBits:
        value = static_cast<double>((i * 2654435761u + which * 40503u) % 4294967296u);
        break;
      case Draw::kInside: value = (static_cast<double>(i % values) - 9.5) / 16; break;
    }
    const double imaginary = operand.draw == Draw::kNumbers
                                 ? static_cast<double>((i + which) % 3) - 1
                                 : value_at(type, i + 3 * which + 1);
    write(type, value, imaginary, &bytes[i * width]);
  }
  return bytes;
}

}  // namespace nx::xla::testing
