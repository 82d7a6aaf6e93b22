// grad together with vectorised axes: they are never summed, so the gradient of every lane is what
// a loop over the lanes gives.
#include <gtest/gtest.h>

#include <utility>

#include "nx/container.h"
#include "nx/contract.h"
#include "nx/creation.h"
#include "nx/grad.h"
#include "nx/jit.h"
#include "nx/movement.h"
#include "nx/names.h"
#include "nx/operators.h"
#include "nx/reduce.h"

namespace lanes_test {
struct Params {
  nx::Tensor w, b;
};
NX_CONTAINER(Params, w, b)
}  // namespace lanes_test

namespace nx {
namespace {

std::vector<float> values(const Tensor& t) { return t.to_flat_list<float>(); }

/// Row `i` of the leading axis, which goes away.
Tensor row(const Tensor& t, std::int64_t i) {
  return squeeze(slice_along_axis(t, Start(i), 1), {.axes = {0}});
}

/// Gradients one after the other as one list.
template <class F>
std::vector<float> loop(std::int64_t count, const F& gradient_of_lane) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i)
    for (const float v : values(gradient_of_lane(i))) all.push_back(v);
  return all;
}

const auto kLoss = [](Tensor w, Tensor x) { return sum(exp(w * 0.25f) * x * x + w * w); };

TEST(GradLanes, of_a_vectorised_leaf_is_a_loop_over_its_lanes) {
  const Tensor w = tensor({{1.f, 2.f}, {3.f, 4.f}, {-1.f, 0.5f}}), x = tensor({2.f, 3.f});
  const Tensor g = grad(kLoss)(vectorize(w, "lane"), x);
  EXPECT_EQ(g.vectorized_axes(), (VectorAxes{{Name("lane"), 3}}));
  EXPECT_EQ(g.shape(), (Shape{2}));
  EXPECT_EQ(values(g), loop(3, [&](std::int64_t i) { return grad(kLoss)(row(w, i), x); }));
}

TEST(GradLanes, of_a_plain_leaf_gets_the_lanes_of_the_result) {
  const Tensor w = tensor({1.f, 2.f}), x = tensor({{2.f, 3.f}, {-1.f, 0.5f}, {4.f, 1.f}});
  const Tensor g = grad(kLoss)(w, vectorize(x, "lane"));
  EXPECT_EQ(g.vectorized_axes(), (VectorAxes{{Name("lane"), 3}}));
  EXPECT_EQ(g.shape(), (Shape{2}));
  EXPECT_EQ(values(g), loop(3, [&](std::int64_t i) { return grad(kLoss)(w, row(x, i)); }));
}

TEST(GradLanes, of_different_axes_has_them_all) {
  const Tensor w = tensor({{1.f, 2.f}, {3.f, 4.f}}),
               x = tensor({{2.f, 3.f}, {-1.f, 1.f}, {4.f, 0.f}});
  const Tensor g = grad(kLoss)(vectorize(w, "a"), vectorize(x, "b"));
  EXPECT_EQ(g.vectorized_axes(), (VectorAxes{{Name("a"), 2}, {Name("b"), 3}}));
  EXPECT_EQ(values(g),
            loop(6, [&](std::int64_t i) { return grad(kLoss)(row(w, i / 3), row(x, i % 3)); }));
}

TEST(GradLanes, reaches_every_leaf_of_a_container) {
  const lanes_test::Params p{tensor({1.f, 2.f}), vectorize(tensor({3.f, 4.f, 5.f}), "lane")};
  const auto g = grad([](const lanes_test::Params& q) { return sum(q.w * q.w * q.b); })(p);
  EXPECT_EQ(g.w.vectorized_axes(), (VectorAxes{{Name("lane"), 3}}));
  EXPECT_EQ(values(g.w), (std::vector<float>{6, 12, 8, 16, 10, 20}));  // 2 w b
  EXPECT_EQ(g.b.vectorized_axes(), (VectorAxes{{Name("lane"), 3}}));
  EXPECT_EQ(values(g.b), (std::vector<float>{5, 5, 5}));
}

TEST(GradLanes, leaves_the_value_in_its_lanes) {
  const auto [value, g] = value_and_grad([](Tensor w) { return w * w; })(
      vectorize(tensor({{1.f, 2.f}, {3.f, 4.f}}), "lane"));
  EXPECT_EQ(value.vectorized_axes(), (VectorAxes{{Name("lane"), 2}}));
  EXPECT_EQ(values(value), (std::vector<float>{1, 4, 9, 16}));
  EXPECT_EQ(values(g), (std::vector<float>{2, 4, 6, 8}));
}

TEST(GradLanes, of_a_leaf_without_influence_is_zero_in_every_lane) {
  const lanes_test::Params p{tensor({1.f, 2.f}), vectorize(tensor({3.f, 4.f, 5.f}), "lane")};
  const auto g = grad([](const lanes_test::Params& q) { return q.b * q.b; })(p);
  EXPECT_EQ(g.w.vectorized_axes(), (VectorAxes{{Name("lane"), 3}}));
  EXPECT_EQ(values(g.w), std::vector<float>(6, 0.f));
  EXPECT_EQ(values(g.b), (std::vector<float>{6, 8, 10}));
}

TEST(GradLanes, keeps_names_beside_vectorised_axes) {
  const Tensor w = tensor({{1.f, 2.f}, {3.f, 4.f}}, {.names = {"row", "column"}});
  const Tensor x = vectorize(tensor({1.f, 10.f}), "lane");
  const Tensor g = grad([](Tensor a, Tensor b) { return sum(a * a * b); })(w, x);
  EXPECT_TRUE(g.names() == (Names{"row", "column"}));
  EXPECT_EQ(values(g), (std::vector<float>{2, 4, 6, 8, 20, 40, 60, 80}));
}

TEST(GradLanes, goes_through_products_and_movements) {
  const auto loss = [](Tensor w, Tensor x) {
    const Tensor y = dot(transpose(w), x);
    return sum(y * reverse(y, {.axes = {0}}));
  };
  const Tensor w = iota({3, 2}, {.type = DType::f32});
  const Tensor x = tensor({{1.f, 2.f, 3.f}, {0.f, -1.f, 4.f}});
  const Tensor g = grad(loss)(w, vectorize(x, "lane"));
  EXPECT_EQ(g.shape(), (Shape{3, 2}));
  EXPECT_EQ(values(g), loop(2, [&](std::int64_t i) { return grad(loss)(w, row(x, i)); }));
}

TEST(GradLanes, of_a_gradient_keeps_them_apart_too) {
  const auto first = grad([](Tensor w, Tensor x) { return sum(w * w * w * x); });
  const auto second = grad([first](Tensor w, Tensor x) { return sum(first(w, x)); });
  const Tensor w = tensor({1.f, 2.f}), x = tensor({{1.f, 2.f}, {3.f, -1.f}});
  const Tensor g = second(w, vectorize(x, "lane"));
  EXPECT_EQ(g.vectorized_axes(), (VectorAxes{{Name("lane"), 2}}));
  EXPECT_EQ(values(g), (std::vector<float>{6, 24, 18, -12}));  // 6 w x
}

TEST(GradLanes, is_the_same_inside_jit) {
  const auto eager = grad(kLoss);
  const auto compiled = jit([eager](Tensor w, Tensor x) { return eager(w, x); });
  const Tensor w = tensor({1.f, 2.f});
  const Tensor x = vectorize(tensor({{2.f, 3.f}, {-1.f, 0.5f}}), "lane");
  const Tensor a = eager(w, x), b = compiled(w, x);
  EXPECT_EQ(a.vectorized_axes(), b.vectorized_axes());
  EXPECT_EQ(values(a), values(b));
}

TEST(GradLanes, appear_from_inside_the_function) {
  const Tensor x = tensor({{1.f, 2.f}, {3.f, 4.f}});
  const Tensor g =
      grad([&](Tensor w) { return sum(w * vectorize(x, "lane")); })(tensor({5.f, 6.f}));
  EXPECT_EQ(g.vectorized_axes(), (VectorAxes{{Name("lane"), 2}}));
  EXPECT_EQ(values(g), (std::vector<float>{1, 2, 3, 4}));
}

}  // namespace
}  // namespace nx
