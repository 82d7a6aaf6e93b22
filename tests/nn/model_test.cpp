// Models: first values, predictions, names, refusals. Values recorded from the reference.
#include <gtest/gtest.h>

#include "nn/name_hash.h"
#include "nx/nx.h"

namespace nx {
namespace {

nn::Model small_model() {
  auto m = nn::input("x", {-1, 3});
  m = nn::dense(m, 4, {.activation = "relu"});
  m = nn::dense(m, 2);
  return nn::activation(m, "softmax");
}

void expect_near(const Tensor& got, const std::vector<float>& want, float tolerance = 2e-6f) {
  const auto values = got.to_flat_list<float>();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], tolerance) << i;
}

TEST(Model, DrawsTheReferencesFirstParameters) {
  const nn::ModelState state = small_model().init(42);
  const Tree& p = state.parameters;
  expect_near(p.at("dense_0").at("kernel"),
              {0.5922785997390747f, 0.14882004261016846f, 0.9023153781890869f, 0.8581444025039673f,
               0.7010353803634644f, 0.4445267915725708f, -0.09559690952301025f,
               0.044464826583862305f, 0.2601902484893799f, -0.0971364974975586f,
               0.834134578704834f, -0.3533889055252075f});
  expect_near(p.at("dense_1").at("kernel"),
              {0.44094371795654297f, 0.8374288082122803f, 0.8036372661590576f,
               -0.9468517303466797f, 0.5673606395721436f, 0.17826056480407715f,
               0.5024893283843994f, 0.10521697998046875f});
  expect_near(p.at("dense_0").at("bias"), {0, 0, 0, 0});
}

TEST(Model, PredictsWhatTheReferencePredicts) {
  const auto model = small_model();
  const Tensor x = tensor({{4.f, -1.25f, -3.f}, {3.f, -2.f, 2.75f}});
  expect_near(model.predict(model.init(42), x),
              {0.9266958236694336f, 0.07330425083637238f, 0.8992820978164673f, 0.10071788728237152f},
              1e-5f);
  expect_near(model.predict(model.init(0), x),
              {0.020931323990225792f, 0.9790687561035156f, 0.8836624622344971f,
               0.11633747071027756f},
              1e-5f);
}

TEST(Model, GivesAParameterTheSameValuesWhateverComesBeforeIt) {
  auto m = nn::input("x", {-1, 3});
  m = nn::dropout(m, {.rate = 0.5});
  m = nn::dense(m, 4);
  const Tensor kernel = m.init(42).parameters.at("dense_0").at("kernel");
  EXPECT_NEAR(kernel.to_flat_list<float>()[0], 0.5922785997390747f, 2e-6f);
}

TEST(Model, NamesTheInputThatDoesNotFit) {
  const auto model = small_model();
  const nn::ModelState state = model.init(1);
  try {
    (void)model.predict(state, zeros({2, 5}));
    FAIL() << "expected a ShapeError";
  } catch (const ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("`x`"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("[2, 5]"), std::string::npos) << e.what();
  }
}

TEST(Model, RefusesTwoLayersOfOneName) {
  auto m = nn::input("x", {-1, 3});
  m = nn::dense(m, 4, {.name = "same"});
  EXPECT_THROW((void)nn::dense(m, 2, {.name = "same"}).init(0), ArgumentError);
}

TEST(Model, RefusesNoUnitsAnUnknownActivationAndABadRate) {
  const auto m = nn::input("x", {-1, 3});
  EXPECT_THROW((void)nn::dense(m, 0), ArgumentError);
  EXPECT_THROW((void)nn::dropout(m, {.rate = 1.0}), ArgumentError);
  EXPECT_THROW((void)nn::dropout(m, {.rate = -0.1}), ArgumentError);
}

TEST(Model, DropsOutInTrainingOnlyAndTakesANewKeyEachTime) {
  auto m = nn::input("x", {-1, 1000});
  m = nn::dropout(m, {.rate = 0.25});
  nn::ModelState state = m.init(3);
  const Tensor x = ones({1, 1000});
  EXPECT_EQ(m.predict(state, x).to_flat_list<float>(), std::vector<float>(1000, 1.f));
  const auto [first, next] = m.forward(state, x, nn::Mode::kTrain);
  std::size_t zeros_seen = 0;
  for (const float v : first.to_flat_list<float>()) {
    EXPECT_TRUE(v == 0.f || std::abs(v - 1 / 0.75f) < 1e-6f) << v;
    zeros_seen += v == 0.f;
  }
  EXPECT_GT(zeros_seen, 180u);
  EXPECT_LT(zeros_seen, 330u);
  state.state = next;
  const auto second = m.forward(state, x, nn::Mode::kTrain).first.to_flat_list<float>();
  EXPECT_NE(first.to_flat_list<float>(), second);
}

TEST(Model, FlattensAllAxesButTheFirst) {
  const auto m = nn::flatten(nn::input("x", {-1, 2, 3}));
  EXPECT_EQ(m.output_shape(), (Shape{-1, 6}));
  EXPECT_EQ(m.predict(m.init(0), zeros({4, 2, 3})).shape(), (Shape{4, 6}));
}

TEST(Model, CountsTheDemosParameters) {
  auto m = nn::input("image", {-1, 784});
  m = nn::dense(m, 90, {.activation = "relu"});
  m = nn::dense(m, 32, {.activation = "relu"});
  m = nn::dense(m, 10);
  EXPECT_EQ(m.parameter_count(), 73'892);
}

TEST(NameHash, IsTheBeginningOfTheMd5Digest) {
  EXPECT_EQ(nn::detail_nn::name_hash(""), 0xd41d8cd9u);   // RFC 1321, A.5
  EXPECT_EQ(nn::detail_nn::name_hash("abc"), 0x90015098u);
  EXPECT_EQ(nn::detail_nn::name_hash(
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            0x57edf4a2u);
}

}  // namespace
}  // namespace nx
