// Gradients of compositions against central differences in f64, first and second order.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "nx/contract.h"
#include "nx/creation.h"
#include "nx/grad.h"
#include "nx/indexing.h"
#include "nx/movement.h"
#include "nx/operators.h"
#include "nx/reduce.h"
#include "nx/type.h"

namespace {

using nx::DType;
using nx::Tensor;
using Fn = std::function<Tensor(Tensor)>;

Tensor make(const std::vector<double>& values, const nx::Shape& shape) {
  return nx::reshape(nx::tensor(values, {.type = DType::f64}), shape);
}

/// Compares d f / d x with central differences, element by element.
void expect_gradient(const Fn& f, const Tensor& x, double tolerance = 1e-6) {
  const Tensor g = nx::grad(f)(x);
  ASSERT_EQ(g.shape(), x.shape());
  ASSERT_EQ(g.type(), DType::f64);
  const std::vector<double> found = g.to_flat_list<double>();
  const std::vector<double> at = x.to_flat_list<double>();
  const double step = 1e-5;
  for (std::size_t i = 0; i < at.size(); ++i) {
    auto moved = at;
    moved[i] = at[i] + step;
    const double high = nx::sum(f(make(moved, x.shape()))).to_number<double>();
    moved[i] = at[i] - step;
    const double low = nx::sum(f(make(moved, x.shape()))).to_number<double>();
    const double expected = (high - low) / (2 * step);
    EXPECT_NEAR(found[i], expected, tolerance * std::max(1.0, std::abs(expected)))
        << "element " << i;
  }
}

/// First order, and second order through a weighting that is not uniform.
void expect_gradients(const Fn& f, const Tensor& x) {
  expect_gradient(f, x);
  const Tensor weights = nx::iota(x.shape(), {.type = DType::f64}) * 0.3 + 1.0;
  expect_gradient([&](Tensor t) { return nx::sum(nx::grad(f)(t) * weights); }, x, 1e-5);
}

const Tensor kMatrix = make({0.3, -1.2, 0.7, 1.9, -0.4, 0.25}, {2, 3});
const Tensor kWeights = make({0.5, -0.1, 1.1, 0.2, -0.7, 0.9, 1.3, -0.3, 0.6, 0.8, -1.4, 0.05}, {3, 4});

TEST(GradNumeric, of_a_linear_model_with_squared_error) {
  const Tensor y = make({1, 0, -1, 2, 0.5, 0.1, 0.2, 0.3}, {2, 4});
  expect_gradients([&](Tensor w) { return nx::mean(nx::pow(nx::dot(kMatrix, w) - y, 2)); },
                   kWeights);
  expect_gradients([&](Tensor x) { return nx::mean(nx::pow(nx::dot(x, kWeights) - y, 2)); },
                   kMatrix);
}

TEST(GradNumeric, of_softmax_cross_entropy) {
  const Tensor target = make({0, 1, 0, 1, 0, 0}, {2, 3});
  expect_gradients([&](Tensor x) {
    const Tensor z = x - nx::stop_grad(nx::reduce_max(x, {.axes = 1, .keep_axes = true}));
    const Tensor logs = z - nx::log(nx::sum(nx::exp(z), {.axes = 1, .keep_axes = true}));
    return nx::negate(nx::mean(nx::sum(logs * target, {.axes = 1})));
  }, kMatrix);
}

TEST(GradNumeric, of_two_layers) {
  const Tensor w2 = make({0.4, -0.6, 0.2, 1.0}, {4, 1});
  expect_gradients([&](Tensor w) {
    return nx::sum(nx::pow(nx::dot(nx::tanh(nx::dot(kMatrix, w)), w2), 2));
  }, kWeights);
}

TEST(GradNumeric, of_normalised_rows) {
  expect_gradients([&](Tensor x) {
    const Tensor mean = nx::mean(x, {.axes = 1, .keep_axes = true});
    const Tensor variance = nx::mean(nx::pow(x - mean, 2), {.axes = 1, .keep_axes = true});
    const Tensor rows = (x - mean) * nx::rsqrt(variance + 1e-3);
    return nx::sum(rows * nx::sin(rows));
  }, kMatrix);
}

TEST(GradNumeric, of_moved_elements) {
  expect_gradients([&](Tensor x) {
    const Tensor t = nx::transpose(x);
    const Tensor parts = nx::concatenate({t, t * t}, {.axis = 1});
    const Tensor some = nx::slice(parts, {1, 0}, {2, 3});
    return nx::sum(nx::exp(nx::reshape(some, {6})) * nx::iota({6}, {.type = DType::f64}));
  }, kMatrix);
}

TEST(GradNumeric, of_a_product_and_of_extremes) {
  expect_gradients([](Tensor x) { return nx::sum(nx::product(x, {.axes = 1})); }, kMatrix);
  expect_gradients([](Tensor x) { return nx::pow(nx::reduce_max(x), 3); }, kMatrix);
  expect_gradients([](Tensor x) { return nx::sum(nx::max(x, 0.1) * nx::min(x, 0.5) * x); },
                   kMatrix);
}

TEST(GradNumeric, of_chosen_elements) {
  const Tensor index = nx::tensor(std::vector<std::int32_t>{2, 0, 2});
  expect_gradients([&](Tensor x) { return nx::sum(nx::pow(nx::take(x, index, {.axis = 1}), 3)); },
                   kMatrix);
  expect_gradients([&](Tensor x) { return nx::sum(nx::select(x > 0, x * x, nx::sin(x))); },
                   kMatrix);
}

TEST(GradNumeric, of_a_batched_dot) {
  const Tensor b = make({1, 2, -1, 0.5, 0.3, -0.2, 0.9, 1.1, 0.4, -0.8, 0.6, 0.7}, {2, 3, 2});
  expect_gradients([&](Tensor x) {
    const Tensor a = nx::reshape(x, {2, 1, 3});
    return nx::sum(nx::pow(nx::dot(a, b, {.contract_a = 2, .batch_a = 0, .contract_b = 1, .batch_b = 0}), 2));
  }, kMatrix);
}

}  // namespace
