// Losses by name.
#include <gtest/gtest.h>

#include <cmath>

#include "donation/rule.h"
#include "train/small.h"

namespace nx::test {
namespace {

Tensor one_hot() {
  return tensor({{1.f, 0.f, 0.f}, {0.f, 1.f, 0.f}, {0.f, 0.f, 1.f}, {1.f, 0.f, 0.f}});
}

/// One model with an activation at its end, trained on one batch with a loss by name and, as
/// `same`, by function: both end in the same state.
void expect_same_training(const std::string& activation, const Tensor& y, const std::string& name,
                          const train::LossFunction& same) {
  const auto model = nn::dense(nn::input("x", {-1, 6}), 3, {.activation = activation});
  auto by_name = train::trainer(model, name, optim::sgd());
  auto by_function = train::trainer(model, same, optim::sgd());
  const auto data = train::source(std::vector<train::Batch>{{batches(1)[0].first, y}});
  const auto state = by_name.run(data);
  EXPECT_EQ(bits_of(state), bits_of(by_function.run(data))) << name;
  EXPECT_TRUE(std::isfinite(state.metrics.at("loss").to_number<float>())) << name;
}

TEST(LossByName, TrainsAsTheFunctionDoes) {
  const Tensor y = one_hot();
  const auto of = [](auto loss) {
    return [=](const Tensor& t, const Tensor& p) { return loss(t, p); };
  };
  const std::pair<const char*, train::LossFunction> losses[] = {
      {"binary_cross_entropy", of(nn::binary_cross_entropy)},
      {"categorical_cross_entropy", of(nn::categorical_cross_entropy)},
      {"categorical_hinge", of(nn::categorical_hinge)},
      {"cosine_similarity", of(nn::cosine_similarity)},
      {"hinge", of(nn::hinge)},
      {"huber", of(nn::huber)},
      {"kl_divergence", of(nn::kl_divergence)},
      {"log_cosh", of(nn::log_cosh)},
      {"mean_absolute_error", of(nn::mean_absolute_error)},
      {"mean_squared_error", of(nn::mean_squared_error)},
      {"poisson", of(nn::poisson)},
      {"soft_margin", of(nn::soft_margin)},
  };
  const auto refusal = error_of<ArgumentError>(
      [] { (void)train::trainer(small_model(), "nonesuch", optim::sgd()); });
  for (const auto& [name, loss] : losses) {
    const bool of_classes = std::string(name) == "categorical_cross_entropy";
    expect_same_training(of_classes ? "softmax" : "sigmoid", y, name, loss);
    EXPECT_HAS(refusal, name);  // what it knows
  }
}

TEST(LossByName, TakesLogitsFromAModelThatEndsWithoutProbabilities) {
  const Tensor y = one_hot();
  for (const char* last : {"", "linear"}) {
    expect_same_training(last, y, "binary_cross_entropy", [](const Tensor& t, const Tensor& p) {
      return nn::binary_cross_entropy(t, p, {.from_logits = true});
    });
    expect_same_training(last, tensor({0, 1, 2, 0}), "categorical_cross_entropy",
                         [](const Tensor& t, const Tensor& p) {
                           return nn::categorical_cross_entropy(
                               t, p, {.from_logits = true, .sparse = true});
                         });
  }
}

TEST(LossByName, RefusesWhatIsNoLossOfPredictions) {
  for (const char* name : {"margin_ranking", "apply_label_smoothing", "accuracy", ""})
    EXPECT_HAS(
        error_of<ArgumentError>([&] { (void)train::trainer(small_model(), name, optim::sgd()); }),
        "unknown loss");
}

}  // namespace
}  // namespace nx::test
