// grad in eager code compiles a program once, and every call reads the tensors of its own call.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "nx/contract.h"
#include "nx/creation.h"
#include "nx/grad.h"
#include "nx/memory.h"
#include "nx/operators.h"
#include "nx/reduce.h"
#include "runtime/program_cache.h"

namespace nx {
namespace {

using runtime::ProgramCache;

std::uint64_t compiled() { return ProgramCache::instance().stats().compiled; }
std::vector<float> values(const Tensor& t) { return t.to_flat_list<float>(); }

TEST(GradCache, compiles_an_equal_program_once) {
  const auto loss = [](Tensor w, Tensor x) { return sum(w * w * x + 17); };
  const Tensor x = tensor({1.f, 2.f, 3.f});
  grad(loss)(tensor({1.f, 1.f, 1.f}), x);
  const auto before = compiled();
  for (int i = 0; i < 5; ++i) {
    const Tensor g = grad(loss)(tensor({1.f * i, 2.f, 3.f}), x);  // a new function object each time
    EXPECT_EQ(values(g), (std::vector<float>{2.f * i, 8, 18}));
  }
  EXPECT_EQ(compiled(), before);
}

TEST(GradCache, reads_captured_tensors_anew) {
  Tensor scale = tensor({2.f, 3.f});
  const auto g = grad([&scale](Tensor x) { return sum(x * x * scale); });
  const Tensor x = tensor({1.f, 1.f});
  EXPECT_EQ(values(g(x)), (std::vector<float>{4, 6}));
  const auto before = compiled();
  scale = tensor({5.f, 7.f});
  EXPECT_EQ(values(g(x)), (std::vector<float>{10, 14}));
  EXPECT_EQ(compiled(), before);
}

TEST(GradCache, tells_programs_apart_by_type_shape_attribute_literal_and_edge) {
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
  const auto by = [&](auto f, const Tensor& at) {
    const auto before = compiled();
    grad(f)(at);
    return compiled() - before;
  };
  const auto axis0 = [](Tensor a) { return reduce_max(a, {.axes = {0}}); };
  const auto axis1 = [](Tensor a) { return reduce_max(a, {.axes = {1}}); };
  EXPECT_EQ(by(axis0, x), 1u);
  EXPECT_EQ(by(axis1, x), 1u);
  EXPECT_EQ(by(axis0, x), 0u);
  EXPECT_EQ(by(axis0, as_type(x, DType::f64)), 1u);
  EXPECT_EQ(by(axis0, tensor({{1.f, 2.f, 3.f}})), 1u);
  const auto minus = [](Tensor a) { return sum(a * a - sum(a)); };
  const auto turned = [](Tensor a) { return sum(sum(a) - a * a); };
  EXPECT_EQ(by(minus, x), 1u);
  EXPECT_EQ(by(turned, x), 1u);
  const auto times = [](double factor) {
    return [factor](Tensor a) { return sum(a * a * factor); };
  };
  EXPECT_EQ(by(times(1.25), x), 1u);
  EXPECT_EQ(by(times(1.5), x), 1u);
  EXPECT_EQ(by(times(1.25), x), 0u);
}

TEST(GradCache, keeps_no_tensor_of_a_call_alive) {
  const auto live = [] { return memory::stats().live; };
  const auto call = [] {
    const Tensor w = full({1000}, 2.f), x = full({1000}, 3.f);
    grad([x](Tensor v) { return sum(v * v * x * 0.75f); })(w);
  };
  call();
  const auto before = live();
  for (int i = 0; i < 10; ++i) call();
  EXPECT_EQ(live(), before);
}

TEST(GradCache, drops_the_least_recently_used_programs) {
  ProgramCache small(2, std::size_t{1} << 40);
  const auto graph_of = [](std::int64_t size) {
    graph::Graph graph;
    graph::Node node;
    node.row = &graph::kParameter;
    node.attrs = graph::Attrs::of(graph::ParameterAttrs{0});
    node.outputs = {{DType::f32, {size}}};
    graph.parameters.push_back({graph.append(std::move(node)), "x", false, {}});
    graph.outputs.push_back({{0, 0}, ""});
    return graph;
  };
  const auto first = small.find_or_compile(graph_of(1));
  small.find_or_compile(graph_of(2));
  EXPECT_EQ(small.find_or_compile(graph_of(1)), first);  // now 2 is the oldest
  small.find_or_compile(graph_of(3));
  EXPECT_EQ(small.stats().entries, 2u);
  EXPECT_EQ(small.find_or_compile(graph_of(1)), first);
  EXPECT_EQ(small.stats().compiled, 3u);
  small.find_or_compile(graph_of(2));
  EXPECT_EQ(small.stats().compiled, 4u);
}

TEST(GradCache, may_be_used_from_many_threads) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (std::size_t id = 0; id < wrong.size(); ++id)
    threads.emplace_back([&, id] {
      for (int i = 0; i < 50; ++i) {
        const float at = static_cast<float>(i % 7);
        const Tensor g =
            grad([i](Tensor x) { return sum(x * x * float(i % 3 + 1)); })(full({4}, at));
        if (values(g) != std::vector<float>(4, 2 * at * static_cast<float>(i % 3 + 1))) ++wrong[id];
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

}  // namespace
}  // namespace nx
