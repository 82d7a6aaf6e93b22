// Evaluates a graph node by node through the host rules of its rows, one plain array a result. Slow
// and simple: what graphs mean, independent of any compiler.
#pragma once

#include <cstring>
#include <stdexcept>
#include <vector>

#include "graph/graph.h"
#include "graph/op_row.h"
#include "transform/literal.h"

namespace nx::testing {

using Bytes = std::vector<std::byte>;

class Interpreter {
 public:
  /// `parameters` are the values of the graph's parameters, in order.
  static std::vector<Bytes> run(const graph::Graph& graph, const std::vector<Bytes>& parameters) {
    Interpreter self(graph, parameters);
    std::vector<Bytes> results;
    for (const graph::Output& output : graph.outputs) results.push_back(self.at(output.edge));
    return results;
  }

 private:
  Interpreter(const graph::Graph& graph, const std::vector<Bytes>& parameters) : graph_(graph) {
    for (const graph::Node& node : graph.nodes) {
      values_.emplace_back();
      for (const auto& type : node.outputs) values_.back().emplace_back(type.bytes());
      evaluate(node, values_.back(), parameters);
    }
  }

  const Bytes& at(graph::Edge edge) const { return values_[edge.node][edge.output]; }

  void evaluate(const graph::Node& node, std::vector<Bytes>& out,
                const std::vector<Bytes>& parameters) {
    using namespace graph;
    if (node.row->is(kParameter)) {
      out[0] = parameters[static_cast<std::size_t>(node.attrs.as<ParameterAttrs>().index)];
    } else if (node.row->is(kLiteral)) {
      const auto& attrs = node.attrs.as<LiteralAttrs>();
      transform::write_number(attrs.value, attrs.type, out[0].data());
    } else if (node.row->host_as<RelabelRule>()) {
      out[0] = at(node.inputs[0]);
    } else if (const auto* view = node.row->host_as<ViewRule>()) {
      copy_view(view->view(graph_.type(node.inputs[0]), node.type(), node.attrs), node, out[0]);
    } else if (const auto* elementwise = node.row->host_as<ElementwiseRule>()) {
      std::vector<DType> types;
      std::vector<const void*> in;
      for (const Edge edge : node.inputs) {
        types.push_back(graph_.type(edge).type);
        in.push_back(at(edge).data());
      }
      const auto kernel = elementwise->kernel(types, node.type().type);
      kernel({in.data(), out[0].data(), static_cast<std::size_t>(node.type().count()), nullptr});
    } else if (const auto* reduce = node.row->host_as<ReduceRule>()) {
      fold(*reduce, node, out[0]);
    } else if (const auto* generate = node.row->host_as<GenerateRule>()) {
      generate->fill(node.type(), node.attrs, 0, static_cast<std::size_t>(node.type().count()),
                     out[0].data());
    } else if (const auto* kernel = node.row->host_as<KernelRule>()) {
      run_kernel(*kernel, node, out);
    } else {
      throw std::logic_error("no way to evaluate " + std::string(node.row->name));
    }
  }

  void copy_view(const graph::ViewRule::View& view, const graph::Node& node, Bytes& out) {
    const std::size_t size = byte_size_of(node.type().type);
    const Dims& dims = node.type().dims;
    const Bytes& from = at(node.inputs[0]);
    for (std::int64_t i = 0; i < node.type().count(); ++i) {
      std::int64_t rest = i, where = view.offset;
      for (std::size_t axis = dims.size(); axis-- > 0; rest /= dims[axis])
        where += rest % dims[axis] * view.strides[axis];
      std::memcpy(&out[static_cast<std::size_t>(i) * size],
                  &from[static_cast<std::size_t>(where) * size], size);
    }
  }

  void fold(const graph::ReduceRule& rule, const graph::Node& node, Bytes& out) {
    const graph::TensorType& in = graph_.type(node.inputs[0]);
    const Dims& axes = node.attrs.as<graph::ReduceAttrs>().axes;
    const std::size_t size = byte_size_of(in.type);
    for (std::size_t i = 0; i < out.size(); i += size)
      transform::write_number(rule.identity(in.type), in.type, &out[i]);
    const auto combine = rule.combine(in.type);
    for (std::int64_t i = 0; i < in.count(); ++i) {
      std::int64_t rest = i, where = 0, stride = 1;
      for (std::size_t axis = in.dims.size(); axis-- > 0; rest /= in.dims[axis]) {
        bool reduced = false;
        for (const std::int64_t a : axes) reduced = reduced || a == static_cast<std::int64_t>(axis);
        if (reduced) continue;
        where += rest % in.dims[axis] * stride;
        stride *= in.dims[axis];
      }
      void* const to = &out[static_cast<std::size_t>(where) * size];
      const void* const operands[] = {to, &at(node.inputs[0])[static_cast<std::size_t>(i) * size]};
      combine({operands, to, 1, nullptr});
    }
  }

  void run_kernel(const graph::KernelRule& rule, const graph::Node& node, std::vector<Bytes>& out) {
    graph::TensorTypes types;
    std::vector<const void*> in;
    std::vector<void*> to;
    for (const graph::Edge edge : node.inputs) {
      types.push_back(graph_.type(edge));
      in.push_back(at(edge).data());
    }
    for (Bytes& bytes : out) to.push_back(bytes.data());
    const auto kernel = rule.prepare({types, node.outputs, node.attrs});
    std::vector<std::byte> scratch(kernel->scratch_bytes() + 64);
    auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    address = (address + 63) / 64 * 64;
    kernel->run({in.data(), to.data(), reinterpret_cast<void*>(address), nullptr, 1});
  }

  const graph::Graph& graph_;
  std::vector<std::vector<Bytes>> values_;
};

}  // namespace nx::testing
