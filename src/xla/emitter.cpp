// Parameters, the walk over live nodes, and results.
#include "xla/emitter.h"

#include <fmt/format.h>

#include <cctype>

#include "graph/op_row.h"
#include "xla/ffi.h"

namespace nx::xla {
namespace {

using graph::DonationPair;
using graph::Edge;
using graph::Graph;
using graph::Node;
using graph::NodeIndex;
using graph::TensorType;
using stablehlo::Value;

stablehlo::Type text_type(const TensorType& type) { return {type.type, type.dims, false}; }

/// A name that MLIR takes as a symbol without quotes.
std::string symbol_of(const std::string& name) {
  std::string symbol;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    symbol += plain ? c : '_';
  }
  if (symbol.empty() || std::isdigit(static_cast<unsigned char>(symbol[0])) != 0)
    symbol = "f" + symbol;
  return symbol;
}

/// A layout attribute of a call, after those before it: axes from minor to major.
std::string row_major(const stablehlo::Type& type, bool is_first) {
  Dims axes(type.dims.size());
  for (std::size_t i = 0; i < axes.size(); ++i)
    axes[i] = static_cast<std::int64_t>(axes.size() - 1 - i);
  return fmt::format("{}dense<{}> : tensor<{}xindex>", is_first ? "" : ", ",
                     stablehlo::Writer::list(axes), axes.size());
}

/// In an MLIR string.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// The type that stands for one which plugins know only in part. Four bits and fewer are computed
/// and moved in eight: plugins end the process, or throw, on a concatenation or a transposed copy
/// of some, and truncating wraps alike. e4m3fn is computed in f32, since its operations overflow to
/// NaN where ours saturate.
TensorType stand_in(TensorType type, const graph::OpRow& row) {
  const bool is_kernel = row.host_as<graph::KernelRule>() != nullptr;
  const bool computes = is_kernel || row.host_as<graph::ElementwiseRule>() != nullptr ||
                        row.host_as<graph::ReduceRule>() != nullptr;
  if (is_subbyte(type.type) && (is_kernel || row.host_as<graph::ViewRule>() != nullptr))
    type.type = is_unsigned(type.type) ? DType::u8 : DType::s8;
  if (computes && type.type == DType::f8_e4m3fn) type.type = DType::f32;
  return type;
}

class Emitter {
 public:
  Emitter(const Graph& graph, std::span<const DonationPair> pairs, CalledKernels* kernels)
      : graph_(graph), pairs_(pairs), kernels_(kernels), live_(graph::live_nodes(graph)) {}

  std::string run() {
    check_pairs();
    values_.resize(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.parameters.size(); ++i) {
      const NodeIndex node = graph_.parameters[i].node;
      values_[node] = {{fmt::format("%arg{}", i), text_type(graph_.nodes[node].type())}};
    }
    for (NodeIndex i = 0; i < graph_.nodes.size(); ++i)
      if (live_[i] && !graph_.nodes[i].row->is(graph::kParameter)) lower(i);
    std::vector<Value> results;
    for (std::uint32_t o = 0; o < graph_.outputs.size(); ++o) results.push_back(result(o));
    return assemble(results);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw InternalError(graph_.name, what); }

  void check_pairs() const {
    std::vector<bool> taken(graph_.outputs.size()), given(graph_.parameters.size());
    for (const DonationPair& pair : pairs_) {
      if (pair.parameter >= given.size() || pair.output >= taken.size())
        fail(fmt::format("donation pair ({}, {}) names no parameter or output", pair.parameter,
                         pair.output));
      if (given[pair.parameter] || taken[pair.output])
        fail(fmt::format("donation pair ({}, {}) uses a leaf or an output twice", pair.parameter,
                         pair.output));
      given[pair.parameter] = taken[pair.output] = true;
      const TensorType& leaf = graph_.nodes[graph_.parameters[pair.parameter].node].type();
      const TensorType& output = graph_.type(graph_.outputs[pair.output].edge);
      if (!can_alias(leaf, output))
        fail(fmt::format("donation pair ({}, {}): {} cannot be written over {}", pair.parameter,
                         pair.output, graph::to_string(output), graph::to_string(leaf)));
    }
  }

  void lower(NodeIndex index) {
    const Node& node = graph_.nodes[index];
    if (kernels_ != nullptr)
      if (const auto called = kernels_->add(graph_, node)) {
        values_[index] = call(node, *called);
        return;
      }
    std::vector<Value> in;
    graph::TensorTypes in_types, out_types = node.outputs;
    for (const Edge edge : node.inputs) {
      const TensorType& type = graph_.type(edge);
      in_types.push_back(stand_in(type, *node.row));
      in.push_back(to_stand_in(values_[edge.node][edge.output], in_types.back().type));
    }
    for (TensorType& type : out_types) type = stand_in(type, *node.row);
    std::vector<Value> out = (*node.row->lower)({writer_, in, in_types, out_types, node.attrs});
    if (out.size() != node.outputs.size())
      fail(fmt::format("the lowering of {} gives {} results; expected {}", node.row->name,
                       out.size(), node.outputs.size()));
    for (std::size_t k = 0; k < out.size(); ++k) {
      // Predicates are i1 inside a lowering and u8 on every edge.
      const TensorType& expected = node.outputs[k];
      if (out[k].type.predicate || out_types[k] != expected) out[k] = back(out[k], expected.type);
      if (TensorType{out[k].type.type, out[k].type.dims} != expected)
        fail(fmt::format("the lowering of {} gives {}; expected {}", node.row->name,
                         stablehlo::to_string(out[k].type), graph::to_string(expected)));
    }
    values_[index] = std::move(out);
  }

  Value barrier(const Value& value) {
    return writer_.op("optimization_barrier", {value}, value.type);
  }

  /// A custom call of a kernel: all arrays row-major, the scratch, if any, as one more result.
  std::vector<Value> call(const Node& node, const CalledKernel& kernel) {
    std::vector<Value> in;
    std::vector<stablehlo::Type> out;
    for (const Edge edge : node.inputs) in.push_back(values_[edge.node][edge.output]);
    for (const TensorType& type : node.outputs) out.push_back(text_type(type));
    if (kernel.scratch_bytes != 0)
      out.push_back({DType::u8, {static_cast<std::int64_t>(kernel.scratch_bytes)}, false});
    std::string in_layouts, out_layouts;
    for (const Value& value : in) in_layouts += row_major(value.type, in_layouts.empty());
    for (const stablehlo::Type& type : out) out_layouts += row_major(type, out_layouts.empty());
    std::vector<Value> results = writer_.op(
        "custom_call", in, out,
        fmt::format("call_target_name = \"{}\", api_version = 4 : i32, "
                    "backend_config = {{{} = \"{}\"}}, operand_layouts = [{}], "
                    "result_layouts = [{}]",
                    kKernelTarget, kKernelName, escaped(kernel.name), in_layouts, out_layouts));
    results.resize(node.outputs.size());
    return results;
  }

  /// XLA is kept from moving casts of few bits behind the operation, where it would meet them
  /// again.
  Value to_stand_in(const Value& value, DType type) {
    const Value cast = writer_.convert(value, type);
    return is_subbyte(value.type.type) && value.type.type != type ? barrier(cast) : cast;
  }

  /// From a stand-in to the type it stands for.
  Value back(const Value& value, DType type) {
    if (is_subbyte(type) && value.type.type != type)
      return writer_.convert(value.type.predicate ? value : barrier(value), type);
    if (type != DType::f8_e4m3fn || !is_inexact(value.type.type))
      return writer_.convert(value, type);
    const auto bound = [&](double number) {
      return writer_.constant(Number(number), value.type.type, value.type.dims);
    };
    constexpr double kLargest = 448;
    return writer_.convert(
        writer_.op("clamp", {bound(-kLargest), value, bound(kLargest)}, value.type), type);
  }

  /// An output, in the type and dims of the leaf whose memory it takes over.
  Value result(std::uint32_t output) {
    const Edge edge = graph_.outputs[output].edge;
    Value value = values_[edge.node][edge.output];
    const TensorType& wanted = emitted_type(graph_, pairs_, output);
    if (value.type.type != wanted.type)
      value = writer_.op("bitcast_convert", {value}, {wanted.type, value.type.dims, false});
    return writer_.reshape(value, wanted.dims);
  }

  std::string parameters() const {
    std::string text;
    for (std::uint32_t i = 0; i < graph_.parameters.size(); ++i) {
      const TensorType& type = graph_.nodes[graph_.parameters[i].node].type();
      text += fmt::format("{}%arg{}: {}", i ? ", " : "", i, stablehlo::to_string(text_type(type)));
      for (const DonationPair& pair : pairs_)
        if (pair.parameter == i)
          text += fmt::format(" {{tf.aliasing_output = {} : i32}}", pair.output);
    }
    return text;
  }

  std::string assemble(const std::vector<Value>& results) const {
    std::string names, types;
    for (const Value& value : results) {
      if (!names.empty()) {
        names += ", ";
        types += ", ";
      }
      names += value.name;
      types += stablehlo::to_string(value.type);
    }
    std::string text = fmt::format("module @{} {{\n  func.func public @main({}) -> ({}) {{\n",
                                   symbol_of(graph_.name), parameters(), types);
    text += writer_.text();
    text += fmt::format("    \"func.return\"({}) : ({}) -> ()\n  }}\n}}\n", names, types);
    return text;
  }

  const Graph& graph_;
  std::span<const DonationPair> pairs_;
  CalledKernels* kernels_;
  std::vector<bool> live_;
  stablehlo::Writer writer_;
  std::vector<std::vector<Value>> values_;  // by node
};

}  // namespace

bool can_alias(const TensorType& leaf, const TensorType& output) noexcept {
  if (leaf.count() != output.count() || leaf.count() == 0) return false;
  if (leaf.type == output.type) return true;
  // A transfer extends the sign by the device's type, so types below a byte are never relabelled.
  return bits_of(leaf.type) == bits_of(output.type) && !is_subbyte(leaf.type) &&
         !is_complex(leaf.type) && !is_complex(output.type);
}

const TensorType& emitted_type(const Graph& graph, std::span<const DonationPair> pairs,
                               std::uint32_t output) {
  for (const DonationPair& pair : pairs)
    if (pair.output == output) return graph.nodes[graph.parameters[pair.parameter].node].type();
  return graph.type(graph.outputs[output].edge);
}

std::string emit_module(const Graph& graph, std::span<const DonationPair> pairs,
                        CalledKernels* kernels) {
  return Emitter(graph, pairs, kernels).run();
}

}  // namespace nx::xla
