// Small programs for the tests of the host compiler: built node by node, run with and without
// donated inputs, and evaluated operation by operation as the reference.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "graph/dispatch.h"
#include "host/compiler.h"
#include "host/eager.h"
#include "runtime/host_memory.h"
#include "test_rows.h"

namespace nx::host_test {

using graph::DonationPair;
using graph::Edge;
using graph::InputMode;
using graph::PairKind;
using Bytes = std::vector<unsigned char>;

/// A buffer that the test owns.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(detail::Storage* storage) : storage_(storage) {}
  explicit Buffer(const Bytes& bytes) : storage_(runtime::allocate_host(bytes.size())) {
    if (!bytes.empty()) std::memcpy(storage_->data(), bytes.data(), bytes.size());
  }
  Buffer(Buffer&& other) noexcept : storage_(std::exchange(other.storage_, nullptr)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(storage_, other.storage_);
    return *this;
  }
  ~Buffer() {
    if (storage_ != nullptr) storage_->release();
  }
  detail::Storage* get() const { return storage_; }
  Bytes bytes() const {
    const auto* const from = static_cast<const unsigned char*>(storage_->data());
    return Bytes(from, from + storage_->bytes());
  }
  std::vector<float> floats() const {
    const auto* const from = static_cast<const float*>(storage_->data());
    return std::vector<float>(from, from + storage_->bytes() / sizeof(float));
  }

 private:
  detail::Storage* storage_ = nullptr;
};

inline Bytes bytes_of(const std::vector<float>& values) {
  Bytes bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

class Program {
 public:
  graph::Graph graph;

  Edge input(Dims dims, DType type = DType::f32) {
    graph::Node node;
    node.row = &graph::kParameter;
    node.outputs = {{type, std::move(dims)}};
    const auto n = graph.append(std::move(node));
    const std::string path = "p" + std::to_string(graph.parameters.size());
    graph.parameters.push_back({n, path, false, {}});
    return {n, 0};
  }
  Edge number(Number value, DType type = DType::f32) {
    graph::Node node;
    node.row = &graph::kLiteral;
    node.attrs = Attrs::of(graph::LiteralAttrs{value, type});
    node.outputs = {{type, {}}};
    return {graph.append(std::move(node)), 0};
  }
  Edge op(const OpRow& row, std::initializer_list<Edge> in, Attrs attrs = {}) {
    graph::Node node;
    node.row = &row;
    TensorTypes types;
    for (const Edge edge : in) {
      node.inputs.push_back(edge);
      types.push_back(graph.type(edge));
    }
    node.attrs = std::move(attrs);
    node.outputs = (*row.infer)(types, node.attrs);
    return {graph.append(std::move(node)), 0};
  }
  Edge broadcast(Edge x, Dims dims, Dims axes) {
    return op(kBroadcast, {x}, Attrs::of(BroadcastTo{std::move(dims), std::move(axes)}));
  }
  Edge full(double value, Dims dims) { return broadcast(number(value), std::move(dims), {}); }
  Edge sum(Edge x, Dims axes) {
    return op(kSum, {x}, Attrs::of(graph::ReduceAttrs{std::move(axes)}));
  }
  Edge transpose(Edge x, Dims axes) {
    return op(kTranspose, {x}, Attrs::of(Permutation{std::move(axes)}));
  }
  Edge reshape(Edge x, Dims dims) {
    return op(kReshape, {x}, Attrs::of(DimsAttrs{std::move(dims)}));
  }
  void output(Edge edge) {
    graph.outputs.push_back({edge, "o" + std::to_string(graph.outputs.size())});
  }
  Dims dims(Edge edge) const { return graph.type(edge).dims; }
  std::size_t bytes(Edge edge) const { return graph.type(edge).bytes(); }

  std::unique_ptr<graph::Executable> compile(std::vector<DonationPair> pairs = {}) const {
    return host::HostCompiler().compile(graph, pairs, {});
  }
  /// Each operation by itself, in order.
  std::vector<Bytes> evaluate(const std::vector<Bytes>& inputs) const {
    std::vector<std::vector<Bytes>> values(graph.nodes.size());
    for (std::size_t p = 0; p < inputs.size(); ++p) values[graph.parameters[p].node] = {inputs[p]};
    for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
      const graph::Node& node = graph.nodes[n];
      if (node.row->is(graph::kParameter)) continue;
      std::vector<host::EagerInput> in;
      for (const Edge edge : node.inputs)
        in.push_back(
            {values[edge.node][edge.output].data(), graph.type(edge).type, graph.type(edge).dims});
      std::vector<host::EagerOutput> out;
      for (const TensorType& type : node.outputs) values[n].emplace_back(type.bytes());
      for (std::size_t o = 0; o < node.outputs.size(); ++o)
        out.push_back({values[n][o].data(), node.outputs[o].type, node.outputs[o].dims});
      if (node.row->is(graph::kLiteral)) {
        const auto& literal = node.attrs.as<graph::LiteralAttrs>();
        if (literal.type == DType::f32) {
          const auto value = static_cast<float>(literal.value.real());
          std::memcpy(out[0].data, &value, 4);
        } else {
          const auto value = literal.value.real();
          std::memcpy(out[0].data, &value, 8);
        }
      } else {
        host::run_eager(*node.row, in, node.attrs, out, nullptr);
      }
    }
    std::vector<Bytes> results;
    for (const graph::Output& o : graph.outputs)
      results.push_back(values[o.edge.node][o.edge.output]);
    return results;
  }
};

struct CallResult {
  std::vector<Buffer> inputs, outputs;
  std::vector<const void*> input_addresses;
  std::uint32_t aliased = 0, freed = 0, copied = 0;
  std::vector<Bytes> bytes() const {
    std::vector<Bytes> all;
    for (const Buffer& buffer : outputs) all.push_back(buffer.bytes());
    return all;
  }
};

inline CallResult call(const graph::Executable& executable, const std::vector<Bytes>& inputs,
                       std::size_t outputs, std::vector<InputMode> modes = {}) {
  CallResult result;
  modes.resize(inputs.size(), InputMode::kRead);
  std::vector<detail::Storage*> in, out(outputs, nullptr);
  for (const Bytes& bytes : inputs) {
    result.inputs.emplace_back(bytes);
    in.push_back(result.inputs.back().get());
    result.input_addresses.push_back(in.back()->data());
  }
  graph::CallFrame frame{in, modes, out};
  executable.reserve();
  executable.run(frame);
  for (detail::Storage* const storage : out) result.outputs.emplace_back(storage);
  result.aliased = frame.aliased;
  result.freed = frame.freed;
  result.copied = frame.copied;
  return result;
}

inline std::vector<float> random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> draw(-2, 2);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = draw(engine);
  return values;
}
inline std::vector<Bytes> random_inputs(const Program& program, unsigned seed) {
  std::vector<Bytes> inputs;
  for (const graph::Parameter& p : program.graph.parameters)
    inputs.push_back(bytes_of(random_floats(program.graph.nodes[p.node].type().count(), seed++)));
  return inputs;
}

}  // namespace nx::host_test
