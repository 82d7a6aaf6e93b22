// The program: nodes in the order they were made, edges as indices. A node's operands always come
// before it, so index order is execution order and every pass is one walk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "graph/attrs.h"
#include "nx/error.h"
#include "nx/tensor.h"

namespace nx::graph {

struct OpRow;
class Graph;

struct TensorType {
  DType type = DType::f32;
  Dims dims;
  friend bool operator==(const TensorType&, const TensorType&) = default;
  std::int64_t count() const { return element_count(dims); }
  std::size_t bytes() const { return static_cast<std::size_t>(count()) * byte_size_of(type); }
};
std::string to_string(const TensorType& type);
using TensorTypes = std::vector<TensorType>;

using NodeIndex = std::uint32_t;

/// Result `output` of node `node`.
struct Edge {
  NodeIndex node = 0;
  std::uint32_t output = 0;
  friend bool operator==(const Edge&, const Edge&) = default;
};
using Edges = InlineVector<Edge, 4>;

struct Node {
  const OpRow* row = nullptr;
  Edges inputs;
  Attrs attrs;
  TensorTypes outputs;
  std::vector<std::shared_ptr<const Graph>> regions;
  SourceLocation where;

  const TensorType& type(std::uint32_t output = 0) const { return outputs[output]; }
};

/// A leaf of an argument, or a captured tensor (a hidden input).
struct Parameter {
  NodeIndex node = 0;
  std::string path;        // "state.w", or "captured #k"
  bool donatable = false;  // the mark of the argument's handle (R3)
  Tensor captured;         // has a value for hidden inputs
};

struct Output {
  Edge edge;
  std::string path;  // where the leaf sits in the result
};

class Graph {
 public:
  std::string name;  // of the traced function
  std::vector<Node> nodes;
  std::vector<Parameter> parameters;
  std::vector<Output> outputs;

  const TensorType& type(Edge edge) const { return nodes[edge.node].outputs[edge.output]; }
  NodeIndex append(Node node);
};

// The structural rows: every graph has them and no family owns them.
extern const OpRow kParameter;  // attrs: ParameterAttrs
extern const OpRow kLiteral;    // attrs: LiteralAttrs; a scalar
extern const OpRow kAlias;      // the operand itself under a new index (grad's leaves)

struct ParameterAttrs {
  std::int64_t index = 0;
  template <class F>
  static void fields(F&& f) {
    f("index", &ParameterAttrs::index);
  }
};
struct LiteralAttrs {
  Number value;
  DType type = DType::f32;
  template <class F>
  static void fields(F&& f) {
    f("value", &LiteralAttrs::value);
    f("type", &LiteralAttrs::type);
  }
};

/// `%3 = add %1, %2 : f32[2, 3]`, a line a node, with parameters and outputs by path.
std::string to_string(const Graph& graph);
/// Throws InternalError when an edge points forward, a type differs from what the row infers, or
/// an output does not exist.
void verify(const Graph& graph);
/// The only traversal: which nodes some output or effect depends on.
std::vector<bool> live_nodes(const Graph& graph);
/// How often each result is read by live nodes and outputs, as readers[node] = indices of nodes.
std::vector<std::vector<NodeIndex>> readers_of(const Graph& graph, const std::vector<bool>& live);

}  // namespace nx::graph
