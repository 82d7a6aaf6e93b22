// Updates and optimizers against values recorded from the reference: three steps on one set of
// gradients.
#include <gtest/gtest.h>

#include "nx/nx.h"

namespace nx {
namespace {

Tree params_of(const std::vector<float>& b, const std::vector<float>& w) {
  Tree tree;
  tree["b"] = tensor(b);
  tree["w"] = reshape(tensor(w), {2, 2});
  return tree;
}

const std::vector<Tree>& gradients() {
  static const std::vector<Tree> list{
      params_of({-0.30000001192092896f, 0.699999988079071f}, {0.10000000149011612f, -0.5f, 1.0f, 0.25f}),
      params_of({0.05000000074505806f, -0.6000000238418579f}, {0.20000000298023224f, 0.4000000059604645f, -1.5f, 0.0f}),
      params_of({0.4000000059604645f, 0.20000000298023224f}, {-0.30000001192092896f, 0.10000000149011612f, 0.800000011920929f, -2.0f}),
  };
  return list;
}

struct Case {
  const char* id;
  optim::Update update;
  std::vector<float> b, w;  // parameters after the last step
};

std::vector<Case> cases() {
  return {
      {"Polaris.Optimizers.adam#0001", optim::adam({}),
       {0.10128164291381836f, -0.20117802917957306f},
       {0.49810144305229187f, -1.2489960193634033f, 1.9991633892059326f, 0.7488996386528015f}},
      {"Polaris.Optimizers.adam#0003", optim::adam({.learning_rate = 0.1}),
       {0.22816336154937744f, -0.3178040087223053f},
       {0.31014329195022583f, -1.1496139764785767f, 1.9163448810577393f, 0.6399662494659424f}},
      {"Polaris.Optimizers.adamw#0001", optim::adamw({}),
       {0.10128164291381836f, -0.20117802917957306f},
       {0.49810144305229187f, -1.2489960193634033f, 1.9991633892059326f, 0.7488996386528015f}},
      {"Polaris.Optimizers.adamw#0003", optim::adamw({.learning_rate = 0.1, .decay = 0.1}),
       {0.2226647585630417f, -0.3098495900630951f},
       {0.29824796319007874f, -1.1145356893539429f, 1.8586851358413696f, 0.6203504204750061f}},
      {"Polaris.Optimizers.sgd#0001", optim::sgd({}),
       {0.09849999845027924f, -0.203000009059906f},
       {0.5f, -1.25f, 1.9970000982284546f, 0.7674999833106995f}},
      {"Polaris.Optimizers.sgd#0005", optim::sgd({.momentum = 0.9}),
       {0.10317999869585037f, -0.2095700055360794f},
       {0.4964900016784668f, -1.245050072669983f, 1.9934000968933105f, 0.7632249593734741f}},
      {"Polaris.Updates.scale_by_adam#0003", optim::scale_by_adam({.b1 = 0.5, .b2 = 0.5}),
       {-0.6574208736419678f, 0.6344430446624756f},
       {2.067845106124878f, -1.681830644607544f, 2.6673927307128906f, 1.5964701175689697f}},
      {"Polaris.Updates.scale_by_adam#0005", optim::scale_by_adam({.eps = 0.1}),
       {-0.8265224099159241f, 0.8259541988372803f},
       {1.5457454919815063f, -2.0881261825561523f, 2.75685715675354f, 1.3675613403320312f}},
      {"Polaris.Updates.trace#0005", optim::trace({.nesterov = true}),
       {-0.036200106143951416f, 0.9612997770309448f},
       {0.8158999681472778f, -1.6955000162124634f, 2.8940000534057617f, -2.1902499198913574f}},
      {"Polaris.Updates.clip#0001", optim::clip({}),
       {0.2499999850988388f, 0.09999997913837433f},
       {0.5f, -1.25f, 2.299999952316284f, -1.0f}},
      {"Polaris.Updates.clip#0003", optim::clip({.delta = 0.5}),
       {0.2499999850988388f, 1.4901161193847656e-08f},
       {0.5f, -1.25f, 2.5f, 0.5f}},
      {"Polaris.Updates.clip_by_global_norm#0003", optim::clip_by_global_norm({.max_norm = 0.1}),
       {0.09922829270362854f, -0.17602871358394623f},
       {0.5056780576705933f, -1.2578994035720825f, 2.0190510749816895f, 0.6781407594680786f}},
      {"Polaris.Updates.clip_by_global_norm#0005", optim::clip_by_global_norm({.max_norm = 100.0}),
       {0.2499999850988388f, 0.09999997913837433f},
       {0.5f, -1.25f, 2.299999952316284f, -1.0f}},
      {"Polaris.Updates.centralize#0001", optim::centralize(),
       {0.2499999850988388f, 0.09999997913837433f},
       {0.5f, -1.2499998807907104f, 3.0250000953674316f, -0.2749999761581421f}},
      {"Polaris.Updates.add_decayed_weights#0001", optim::add_decayed_weights({}),
       {0.2499999850988388f, 0.09999997913837433f},
       {0.5f, -1.25f, 2.299999952316284f, -1.0f}},
      {"Polaris.Updates.add_decayed_weights#0003", optim::add_decayed_weights({.decay = 0.1}),
       {0.22509996592998505f, 0.1207999736070633f},
       {0.7064999341964722f, -1.7287499904632568f, 3.0219998359680176f, -0.6992499828338623f}},
  };
}

void expect_near(const Tensor& got, const std::vector<float>& want, const char* id) {
  const auto values = got.to_flat_list<float>();
  ASSERT_EQ(values.size(), want.size()) << id;
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(values[i], want[i], 2e-5f * std::max(1.f, std::abs(want[i]))) << id << " " << i;
}

Tree first_params() { return params_of({0.10000000149011612f, -0.20000000298023224f}, {0.5f, -1.25f, 2.0f, 0.75f}); }

TEST(Optimizers, GiveTheReferencesParameters) {
  for (const Case& c : cases()) {
    Tree params = first_params();
    optim::State state = c.update.init(params);
    for (const Tree& g : gradients()) {
      auto [updates, next] = c.update.update(g, state, params);
      state = std::move(next);
      params = optim::apply_updates(params, updates);
    }
    expect_near(params.at("b"), c.b, c.id);
    expect_near(params.at("w"), c.w, c.id);
  }
}

TEST(Optimizers, GiveTheSameInsideAJittedStepWithDonatedState) {
  for (const Case& c : cases()) {
    Tree params = first_params();
    optim::State state = c.update.init(params);
    auto step = jit([&](Tree p, optim::State s, Tree g) {
      auto [updates, next] = c.update.update(g, s, p);
      return std::pair(optim::apply_updates(p, updates), next);
    });
    for (const Tree& g : gradients()) {
      auto [p, s] = step(donatable(params), donatable(state), g);
      params = std::move(p);
      state = std::move(s);
    }
    expect_near(params.at("b"), c.b, c.id);
    expect_near(params.at("w"), c.w, c.id);
  }
}

TEST(Optimizers, KeepAStateThatMirrorsTheParameters) {
  const Tree params = first_params();
  const optim::State state = optim::adam().init(params);
  ASSERT_EQ(state.size(), 2u);
  EXPECT_TRUE(state[0].contains("scale"));
  EXPECT_EQ(state[1].at("mu").at("w").tensor.shape(), (Shape{2, 2}));
  EXPECT_EQ(state[1].at("nu").at("b").tensor.shape(), (Shape{2}));
  EXPECT_EQ(state[1].at("count").tensor.type(), DType::s32);
}

TEST(Optimizers, RefuseAStateOfAnotherChain) {
  const Tree params = first_params();
  const optim::State state = optim::sgd().init(params);
  EXPECT_THROW((void)optim::adam().update(gradients()[0], state, params), ArgumentError);
}

}  // namespace
}  // namespace nx
