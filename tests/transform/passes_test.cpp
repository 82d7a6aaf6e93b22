// The passes, on printed graphs, and on random graphs evaluated before and after.
#include "transform/passes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "core/body.h"
#include "graph/trace.h"
#include "interpreter.h"
#include "nx/contract.h"
#include "nx/creation.h"
#include "nx/grad.h"
#include "nx/indexing.h"
#include "nx/movement.h"
#include "nx/operators.h"
#include "nx/reduce.h"
#include "nx/type.h"
#include "ops/contract.h"
#include "ops/creation.h"
#include "ops/movement.h"
#include "ops/reduce.h"

namespace {

using nx::DType;
using nx::Dims;
using nx::Tensor;
using nx::graph::Graph;

Tensor spec(const Dims& dims, DType type = DType::f32) {
  return nx::detail::Access::make_template(type, dims);
}

/// The graph of `function` on parameters of these dims, called a, b, ….
template <class F>
Graph traced(const std::vector<Tensor>& arguments, F&& function) {
  nx::graph::OpenTrace open("f");
  std::vector<Tensor> parameters;
  for (const Tensor& argument : arguments)
    parameters.push_back(open.trace().parameter(
        argument, std::string(1, static_cast<char>('a' + parameters.size())), false));
  std::size_t i = 0;
  for (const Tensor& result : function(parameters))
    open.trace().graph().outputs.push_back(
        {open.trace().edge_of(result, "test", {}), "r" + std::to_string(i++)});
  return std::move(open.trace().graph());
}

using Tensors = std::vector<Tensor>;

TEST(RemoveUnusedNodes, drops_what_no_output_needs_and_keeps_parameters) {
  const Graph graph = traced({spec({2}), spec({3})}, [](const Tensors& p) {
    nx::sin(p[1]);
    return Tensors{nx::exp(p[0])};
  });
  EXPECT_EQ(to_string(nx::transform::remove_unused_nodes(graph)),
            "f(%0 a: f32[2], %1 b: f32[3]) {\n"
            "  %2 = exp %0 : f32[2]\n"
            "  return r0 = %2\n"
            "}\n");
}

TEST(MergeEqualNodes, keeps_the_first_of_equal_nodes_and_sorts_commutative_operands) {
  const Graph graph = traced({spec({2}), spec({2})}, [](const Tensors& p) {
    const Tensor ab = nx::add(p[0], p[1]), ba = nx::add(p[1], p[0]), square = ab * ba;
    const Tensor minus = nx::subtract(p[0], p[1]), plus = nx::subtract(p[1], p[0]);
    return Tensors{square, minus * plus};
  });
  EXPECT_EQ(to_string(nx::transform::remove_unused_nodes(nx::transform::merge_equal_nodes(graph))),
            "f(%0 a: f32[2], %1 b: f32[2]) {\n"
            "  %2 = add %0, %1 : f32[2]\n"
            "  %3 = multiply %2, %2 : f32[2]\n"
            "  %4 = subtract %0, %1 : f32[2]\n"
            "  %5 = subtract %1, %0 : f32[2]\n"
            "  %6 = multiply %4, %5 : f32[2]\n"
            "  return r0 = %3\n"
            "  return r1 = %6\n"
            "}\n");
}

TEST(MergeEqualNodes, tells_attributes_and_the_sign_of_zero_apart) {
  const Graph graph = traced({spec({2, 2})}, [](const Tensors& p) {
    return Tensors{nx::ops::reduce_dims(nx::ops::kReduceSum, p[0], {0}),
                   nx::ops::reduce_dims(nx::ops::kReduceSum, p[0], {1}),
                   nx::ops::scalar(0.0, DType::f32), nx::ops::scalar(-0.0, DType::f32),
                   nx::ops::scalar(0, DType::f32), nx::ops::scalar(0, DType::s32)};
  });
  const Graph merged = nx::transform::optimize(graph);
  EXPECT_EQ(merged.nodes.size(), 6u);
  EXPECT_EQ(merged.outputs[2].edge, merged.outputs[4].edge);
  EXPECT_FALSE(merged.outputs[2].edge == merged.outputs[3].edge);
  EXPECT_EQ(merged.outputs.size(), 6u);
}

TEST(Optimize, folds_work_on_known_numbers_into_one) {
  const Graph graph = traced({spec({2})}, [](const Tensors& p) {
    const Tensor two = nx::ops::full_dims(2.0, DType::f32, {2});
    const Tensor three = nx::ops::full_dims(3.0, DType::f32, {2});
    return Tensors{nx::add(p[0], nx::add(two, three) * three)};
  });
  EXPECT_EQ(to_string(nx::transform::optimize(graph)),
            "f(%0 a: f32[2]) {\n"
            "  %1 = literal {value = 15, type = f32} : f32[]\n"
            "  %2 = broadcast %1 {dims = [2], axes = []} : f32[2]\n"
            "  %3 = add %0, %2 : f32[2]\n"
            "  return r0 = %3\n"
            "}\n");
}

TEST(Optimize, works_on_repeated_values_once) {
  const Graph graph = traced({spec({4}), spec({4})}, [](const Tensors& p) {
    const Tensor a = nx::ops::broadcast_dims(p[0], {3, 4}, {1});
    const Tensor b = nx::ops::broadcast_dims(p[1], {3, 4}, {1});
    return Tensors{nx::exp(nx::add(a, b) * 2.0f)};
  });
  EXPECT_EQ(to_string(nx::transform::optimize(graph)),
            "f(%0 a: f32[4], %1 b: f32[4]) {\n"
            "  %2 = add %0, %1 : f32[4]\n"
            "  %3 = literal {value = 2, type = f32} : f32[]\n"
            "  %4 = broadcast %3 {dims = [4], axes = []} : f32[4]\n"
            "  %5 = multiply %2, %4 : f32[4]\n"
            "  %6 = exp %5 : f32[4]\n"
            "  %7 = broadcast %6 {dims = [3, 4], axes = [1]} : f32[3, 4]\n"
            "  return r0 = %7\n"
            "}\n");
}

TEST(Optimize, moves_axes_of_size_1_out_of_the_way) {
  const Graph graph = traced({spec({3, 4})}, [](const Tensors& p) {
    const Tensor total = nx::sum(p[0], {.axes = 1, .keep_axes = true});
    return Tensors{nx::multiply(p[0], nx::exp(total))};
  });
  EXPECT_EQ(to_string(nx::transform::optimize(graph)),
            "f(%0 a: f32[3, 4]) {\n"
            "  %1 = sum %0 {axes = [1]} : f32[3]\n"
            "  %2 = exp %1 : f32[3]\n"
            "  %3 = broadcast %2 {dims = [3, 4], axes = [0]} : f32[3, 4]\n"
            "  %4 = multiply %0, %3 : f32[3, 4]\n"
            "  return r0 = %4\n"
            "}\n");
}

TEST(Optimize, folds_transposes_into_dot) {
  const Graph graph = traced({spec({3, 2}), spec({4, 3})}, [](const Tensors& p) {
    return Tensors{nx::dot(nx::transpose(p[0]), nx::transpose(p[1]))};
  });
  EXPECT_EQ(to_string(nx::transform::optimize(graph)),
            "f(%0 a: f32[3, 2], %1 b: f32[4, 3]) {\n"
            "  %2 = dot %0, %1 {contract_a = [0], batch_a = [], contract_b = [1], batch_b = []} : "
            "f32[2, 4]\n"
            "  return r0 = %2\n"
            "}\n");
}

TEST(Optimize, leaves_values_repeated_differently_alone) {
  const Graph graph = traced({spec({3}), spec({3})}, [](const Tensors& p) {
    return Tensors{nx::add(nx::ops::broadcast_dims(p[0], {3, 3}, {0}),
                           nx::ops::broadcast_dims(p[1], {3, 3}, {1}))};
  });
  EXPECT_EQ(to_string(nx::transform::optimize(graph)), to_string(graph));
}

TEST(Optimize, takes_out_aliases_and_the_upstream_gradient_of_one) {
  const Graph graph = traced({spec({2}), spec({2})}, [](const Tensors& p) {
    return Tensors{nx::grad([&](Tensor x) { return nx::sum(x * p[1]); })(p[0])};
  });
  EXPECT_EQ(to_string(nx::transform::optimize(graph)),
            "f(%0 a: f32[2], %1 b: f32[2]) {\n"
            "  return r0 = %1\n"
            "}\n");
}

TEST(Optimize, keeps_parameters_marks_paths_and_captured_tensors) {
  nx::graph::OpenTrace open("f");
  const Tensor captured = nx::tensor(std::vector<float>{1, 2});
  const Tensor x = open.trace().parameter(spec({2}), "state.w", true);
  open.trace().parameter(spec({3}), "unused", false);
  const Tensor y = nx::add(nx::stop_grad(x), captured);
  open.trace().graph().outputs.push_back({open.trace().edge_of(y, "test", {}), "w"});
  const Graph result = nx::transform::optimize(open.trace().graph());
  ASSERT_EQ(result.parameters.size(), 3u);
  EXPECT_EQ(result.parameters[0].path, "state.w");
  EXPECT_TRUE(result.parameters[0].donatable);
  EXPECT_EQ(result.parameters[1].path, "unused");
  EXPECT_TRUE(result.parameters[2].captured.has_value());
  EXPECT_EQ(result.outputs[0].path, "w");
  nx::graph::verify(result);
}

// -- meaning ----------------------------------------------------------------------------------

class RandomGraph {
 public:
  explicit RandomGraph(unsigned seed) : random_(seed) {}

  Graph make() {
    const std::vector<Tensor> arguments{spec({3, 4}), spec({4}), spec({3, 1}), spec({})};
    return traced(arguments, [&](const Tensors& p) {
      pool_ = p;
      for (int i = 0; i < 40; ++i) pool_.push_back(step());
      Tensors results;
      for (int i = 0; i < 4; ++i) results.push_back(pick());
      return results;
    });
  }

 private:
  int below(std::size_t n) { return static_cast<int>(random_() % n); }
  Tensor pick() { return pool_[static_cast<std::size_t>(below(pool_.size()))]; }
  Tensor wide(const Tensor& x) {
    const Dims dims = nx::ops::dims_of(x);
    if (dims == Dims{3}) return nx::ops::broadcast_dims(x, {3, 4}, {0});
    if (dims == Dims{4, 3}) return nx::ops::transpose_dims(x, {1, 0});
    return nx::ops::broadcast_to(x, {3, 4});
  }
  Tensor step() {
    const Tensor x = pick();
    switch (below(9)) {
      case 0: return nx::sin(x);
      case 1: return nx::negate(x);
      case 2: return nx::add(wide(x), wide(pick()));
      case 3: return nx::multiply(wide(x), wide(pick()));
      case 4: return nx::multiply(x, below(2) ? 1.0f : 0.5f);
      case 5: return nx::add(x, below(2) ? 0.0f : -0.0f);
      case 6: return nx::ops::transpose_dims(wide(x), {1, 0});
      case 7: return nx::ops::reduce_dims(nx::ops::kReduceSum, wide(x), {below(2) ? 1 : 0});
      default: return nx::ops::full_dims(below(3), DType::f32, {3, 4});
    }
  }
  std::mt19937 random_;
  Tensors pool_;
};

TEST(Optimize, keeps_every_bit_of_random_graphs) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Graph graph = RandomGraph(seed).make();
    const Graph better = nx::transform::optimize(graph);
    nx::graph::verify(better);
    std::mt19937 random(seed);
    std::vector<nx::testing::Bytes> inputs;
    for (const auto& parameter : graph.parameters) {
      nx::testing::Bytes bytes(graph.nodes[parameter.node].type().bytes());
      for (std::size_t i = 0; i < bytes.size(); i += 4) {
        const float value = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 256;
        std::memcpy(&bytes[i], &value, sizeof value);
      }
      inputs.push_back(std::move(bytes));
    }
    EXPECT_EQ(nx::testing::Interpreter::run(graph, inputs),
              nx::testing::Interpreter::run(better, inputs))
        << "seed " << seed << "\n" << to_string(graph) << to_string(better);
  }
}

TEST(Optimize, gives_the_same_graph_again) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Graph once = nx::transform::optimize(RandomGraph(seed).make());
    EXPECT_EQ(to_string(once), to_string(nx::transform::optimize(RandomGraph(seed).make())));
  }
}

TEST(Optimize, takes_well_under_a_microsecond_a_node) {
  const Graph graph = traced({spec({8}), spec({8})}, [](const Tensors& p) {
    Tensor x = p[0];
    for (int i = 0; i < 2500; ++i) x = nx::sin(nx::add(nx::multiply(x, 1.0f), p[1]));
    return Tensors{x};
  });
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const Graph result = nx::transform::optimize(graph);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
    EXPECT_LT(result.nodes.size(), 5100u);
  }
  RecordProperty("milliseconds", std::to_string(best));
  EXPECT_LT(best, 200) << "for " << graph.nodes.size() << " nodes";  // loose: sanitizers, debug
}

}  // namespace
