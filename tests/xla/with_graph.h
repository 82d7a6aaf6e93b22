// What the tests of the emitter and of executables share: graphs built by hand, calls with values.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "graph/op_row.h"

namespace nx::xla::testing {

// -- a few rows, so that these tests stand on no family of ops/
// ------------------------------------
inline graph::Tensors no_vectorize(const graph::VectorizeCall&) { return {}; }
inline graph::TensorTypes first_type(std::span<const graph::TensorType> in, const graph::Attrs&) {
  return {in[0]};
}
inline graph::TensorTypes predicate_type(std::span<const graph::TensorType> in,
                                         const graph::Attrs&) {
  return {{DType::u8, in[0].dims}};
}
inline graph::OpRow make_row(std::string_view name, graph::InferFn infer, graph::LowerFn lower) {
  return {.name = name,
          .infer = infer,
          .gradient = graph::no_gradient("a test"),
          .vectorize = no_vectorize,
          .lower = lower,
          .host = graph::HostRule(graph::StructuralRule{})};
}
inline const graph::OpRow kAdd = make_row("add", first_type, [](const graph::LowerCall& call) {
  return std::vector{call.writer.op("add", call.in, call.in[0].type)};
});
inline const graph::OpRow kLess =
    make_row("less", predicate_type, [](const graph::LowerCall& call) {
      return std::vector{call.writer.compare("LT", call.in[0], call.in[1])};
    });

struct ShapeAttrs {
  DType type = DType::f32;
  Dims dims;
  template <class F>
  static void fields(F&& f) {
    f("type", &ShapeAttrs::type);
    f("dims", &ShapeAttrs::dims);
  }
};
inline graph::TensorTypes attribute_type(std::span<const graph::TensorType>,
                                         const graph::Attrs& attrs) {
  const auto& [type, dims] = attrs.as<ShapeAttrs>();
  return {{type, dims}};
}
/// A scalar repeated.
inline const graph::OpRow kFull =
    make_row("full", attribute_type, [](const graph::LowerCall& call) {
      return std::vector{call.writer.broadcast_scalar(call.in[0], call.out_types[0].dims)};
    });
/// A cast, then other dims.
inline const graph::OpRow kCast =
    make_row("cast", attribute_type, [](const graph::LowerCall& call) {
      const graph::TensorType& to = call.out_types[0];
      return std::vector{call.writer.reshape(call.writer.convert(call.in[0], to.type), to.dims)};
    });

/// A graph under construction.
class Build {
 public:
  graph::Graph graph;
  explicit Build(std::string name = "f") { graph.name = std::move(name); }

  graph::Edge parameter(DType type, Dims dims) {
    graph::Node node;
    node.row = &graph::kParameter;
    node.attrs =
        graph::Attrs::of(graph::ParameterAttrs{static_cast<std::int64_t>(graph.parameters.size())});
    node.outputs = {{type, std::move(dims)}};
    const auto index = graph.append(std::move(node));
    graph.parameters.push_back({index, "arg" + std::to_string(graph.parameters.size()), false, {}});
    return {index, 0};
  }
  graph::Edge literal(Number value, DType type) {
    graph::Node node;
    node.row = &graph::kLiteral;
    node.attrs = graph::Attrs::of(graph::LiteralAttrs{value, type});
    node.outputs = {{type, {}}};
    return {graph.append(std::move(node)), 0};
  }
  graph::Edge op(const graph::OpRow& row, std::initializer_list<graph::Edge> in,
                 graph::Attrs attrs = {}) {
    graph::Node node;
    node.row = &row;
    graph::TensorTypes types;
    for (const graph::Edge edge : in) {
      node.inputs.push_back(edge);
      types.push_back(graph.type(edge));
    }
    node.attrs = std::move(attrs);
    node.outputs = (*row.infer)(types, node.attrs);
    return {graph.append(std::move(node)), 0};
  }
  graph::Edge full(Number value, DType type, Dims dims) {
    return op(kFull, {literal(value, type)}, graph::Attrs::of(ShapeAttrs{type, std::move(dims)}));
  }
  graph::Edge cast(graph::Edge x, DType type, Dims dims) {
    return op(kCast, {x}, graph::Attrs::of(ShapeAttrs{type, std::move(dims)}));
  }
  /// x + 1
  graph::Edge plus_one(graph::Edge x) {
    const graph::TensorType type = graph.type(x);
    return op(kAdd, {x, full(Number(1), type.type, type.dims)});
  }
  void output(graph::Edge edge) {
    graph.outputs.push_back({edge, "[" + std::to_string(graph.outputs.size()) + "]"});
  }
};

}  // namespace nx::xla::testing
