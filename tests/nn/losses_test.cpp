// What losses, metrics and activations do at the edges that the rows' examples do not show.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nx/activations.h"
#include "nx/grad.h"
#include "nx/losses.h"
#include "nx/metrics.h"
#include "nx/ops.h"

namespace nx::nn {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<double> list(const Tensor& t) { return t.to_flat_list<double>(); }

TEST(Activations, relu_and_its_relatives_keep_nan) {
  for (const char* name : {"relu", "relu6", "leaky_relu", "elu", "celu", "selu", "hard_tanh"})
    EXPECT_TRUE(std::isnan(activate(name, tensor(kNan)).to_number<double>())) << name;
}

TEST(Activations, softplus_has_half_a_slope_at_0) {
  const auto slope = grad([](Tensor x) { return softplus(x); });
  EXPECT_EQ(slope(tensor(0.0f)).to_number<double>(), 0.5);
  EXPECT_EQ(slope(tensor(-1000.0f)).to_number<double>(), 0.0);
  EXPECT_EQ(slope(tensor(1000.0f)).to_number<double>(), 1.0);
}

TEST(Activations, unsigned_integers_do_not_wrap) {
  const Tensor x = tensor({1, 2}, {.type = u8});
  EXPECT_EQ(list(softmax(x)), list(softmax(as_type(x, f32))));
  EXPECT_EQ(list(softplus(x)), list(softplus(as_type(x, f32))));
}

TEST(Losses, a_class_without_probability_that_is_not_wanted_has_no_gradient) {
  const auto slope = grad([](Tensor p) {
    return sum(categorical_cross_entropy(tensor({{1, 0, 0}}), p));
  });
  EXPECT_EQ(list(slope(tensor({{0.5f, 0.5f, 0.0f}}))), (std::vector<double>{-2, 0, 0}));
}

TEST(Losses, a_masked_logit_that_is_not_wanted_counts_nothing) {
  const Tensor x = tensor({{0.0f, -INFINITY, 0.0f}});
  for (const bool sparse : {false, true}) {
    const Tensor y = sparse ? tensor({2}) : tensor({{0, 0, 1}});
    const auto loss = [&](Tensor p) {
      return sum(categorical_cross_entropy(y, p, {.from_logits = true, .sparse = sparse}));
    };
    EXPECT_NEAR(loss(x).to_number<double>(), std::log(2.0), 1e-6);
    EXPECT_EQ(list(grad(loss)(x)), (std::vector<double>{0.5, 0, -0.5}));
  }
}

TEST(Losses, from_logits_do_not_overflow) {
  const Tensor y = tensor({{0.0f, 1.0f}}), x = tensor({{1000.0f, -1000.0f}});
  EXPECT_EQ(
      binary_cross_entropy(y, x, {.reduction = "mean", .from_logits = true}).to_number<double>(),
      1000.0);
  EXPECT_EQ(list(categorical_cross_entropy(y, x, {.from_logits = true})),
            (std::vector<double>{2000}));
  EXPECT_NEAR(list(log_cosh(y, x))[0], 1000.0 - std::log(2.0), 1.0);
}

TEST(Losses, are_handed_on_without_their_options) {
  const LossFunction plain = huber;
  const LossFunction smooth = label_smoothing(mean_squared_error, {.smoothing = 0.5});
  EXPECT_EQ(list(plain(tensor({1.0f}), tensor({1.5f}))), (std::vector<double>{0.125}));
  EXPECT_EQ(list(smooth(tensor({{1.0f, 0.0f}}), tensor({{0.75f, 0.25f}}))),
            (std::vector<double>{0}));
}

TEST(Losses, refuse_shapes_that_differ_and_unknown_reductions) {
  const Tensor two = tensor({{1.0f, 0.0f}}), three = tensor({{1.0f, 0.0f, 0.0f}});
  EXPECT_THROW(huber(two, three), ShapeError);
  EXPECT_THROW(hinge(two, three), ShapeError);
  EXPECT_THROW(margin_ranking(two, {three, three}), ShapeError);
  EXPECT_THROW(mean_squared_error(two, two, {.reduction = "middle"}), ArgumentError);
  EXPECT_THROW(categorical_cross_entropy(two, two, {.class_weights = tensor({1.0f})}), ShapeError);
}

TEST(Metrics, shares_of_nothing_are_0) {
  const Tensor zeros = tensor({0, 0}), low = tensor({0.1f, 0.2f});
  EXPECT_EQ(precision(zeros, low).to_number<double>(), 0);
  EXPECT_EQ(recall(zeros, low).to_number<double>(), 0);
  EXPECT_EQ(specificity(tensor({1, 1}), low).to_number<double>(), 0);
}

TEST(Metrics, refuse_what_does_not_fit) {
  const Tensor two = tensor({{1, 0}}), three = tensor({{0.5f, 0.25f, 0.25f}});
  EXPECT_THROW(recall(two, three), ShapeError);
  EXPECT_THROW(accuracy(tensor({1, 2, 3}), three), ShapeError);
  EXPECT_THROW(top_k_categorical_accuracy(tensor({{1, 0, 0}}), three, {.k = 4}), ArgumentError);
}

}  // namespace
}  // namespace nx::nn
