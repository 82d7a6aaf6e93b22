// grad: structure, accumulation, nesting, vectorised axes, and what it refuses.
#include "nx/grad.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/body.h"
#include "graph/trace.h"
#include "nx/jit.h"
#include "nx/contract.h"
#include "nx/creation.h"
#include "nx/indexing.h"
#include "nx/movement.h"
#include "nx/operators.h"
#include "nx/reduce.h"
#include "nx/type.h"
#include "nx/tree.h"

namespace grad_test {
struct Params {
  nx::Tensor w, b;
  float scale = 2;
};
NX_CONTAINER(Params, w, b, scale)
}  // namespace grad_test

namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using nx::Tensor;

Tensor vec(std::vector<float> v) { return nx::tensor(v); }
Tensor num(float v) { return nx::tensor(v); }
std::vector<float> values(const Tensor& t) { return t.to_flat_list<float>(); }

TEST(Grad, of_a_sum_of_products_is_the_other_factor) {
  const Tensor x = vec({1, 2, 3}), y = vec({4, 5, 6});
  const Tensor g = nx::grad([](Tensor a, Tensor b) { return nx::sum(a * b); })(x, y);
  EXPECT_THAT(values(g), ElementsAre(4, 5, 6));
}

TEST(Grad, adds_up_every_use_of_a_leaf) {
  const Tensor x = vec({1, 2, 3});
  const Tensor g = nx::grad([](Tensor a) { return nx::sum(a * a + a); })(x);
  EXPECT_THAT(values(g), ElementsAre(3, 5, 7));
}

TEST(Grad, sums_a_result_that_is_no_scalar_and_keeps_its_value) {
  const Tensor x = vec({1, 2});
  const auto [value, g] = nx::value_and_grad([](Tensor a) { return a * a; })(x);
  EXPECT_THAT(values(value), ElementsAre(1, 4));
  EXPECT_THAT(values(g), ElementsAre(2, 4));
}

TEST(Grad, has_the_structure_of_the_argument) {
  const grad_test::Params p{vec({1, 2}), num(3), 5.0f};
  const grad_test::Params g = nx::grad([](const grad_test::Params& q) {
    return nx::sum(q.w * q.w) * q.b * q.scale;
  })(p);
  EXPECT_THAT(values(g.w), ElementsAre(30, 60));
  EXPECT_THAT(values(g.b), ElementsAre(25));
  EXPECT_EQ(g.scale, 5.0f);
}

TEST(Grad, takes_a_tree) {
  nx::Tree tree;
  tree["dense"]["kernel"] = vec({1, 2});
  tree["unused"] = num(1);
  const nx::Tree g = nx::grad([](const nx::Tree& t) {
    const Tensor& k = t.at("dense").at("kernel");
    return nx::sum(k * k);
  })(tree);
  EXPECT_THAT(values(g.at("dense").at("kernel")), ElementsAre(2, 4));
  EXPECT_THAT(values(g.at("unused")), ElementsAre(0));
}

TEST(Grad, of_a_bare_number_is_an_f32_scalar) {
  const Tensor g = nx::grad([](Tensor x) { return 3 * x; })(2);
  EXPECT_EQ(g.type(), nx::DType::f32);
  EXPECT_THAT(values(g), ElementsAre(3));
}

TEST(Grad, passes_other_arguments_on_numbers_as_the_function_takes_them) {
  const Tensor x = vec({1, 2});
  EXPECT_THAT(values(nx::grad([](Tensor a, Tensor s) { return nx::sum(a * s); })(x, 2.0f)),
              ElementsAre(2, 2));
  EXPECT_THAT(values(nx::grad([](Tensor a, float s) { return nx::sum(a * s); })(x, 2)),
              ElementsAre(2, 2));
}

TEST(Grad, of_a_constant_is_zero) {
  const Tensor x = vec({1, 2}), c = num(5);
  EXPECT_THAT(values(nx::grad([](Tensor) { return 5; })(x)), ElementsAre(0, 0));
  EXPECT_THAT(values(nx::grad([&](Tensor) { return c; })(x)), ElementsAre(0, 0));
  EXPECT_THAT(values(nx::grad([](Tensor a) { return nx::sum(nx::floor(a)); })(x)),
              ElementsAre(0, 0));
}

TEST(Grad, works_on_itself) {
  auto quartic = [](Tensor x) { return x * x * x * x; };
  const Tensor x = num(2);
  EXPECT_THAT(values(nx::grad(nx::grad(quartic))(x)), ElementsAre(FloatEq(48)));
  EXPECT_THAT(values(nx::grad(nx::grad(nx::grad(quartic)))(x)), ElementsAre(FloatEq(48)));
  const Tensor mixed = nx::grad([](Tensor a) {
    return nx::sum(nx::grad([](Tensor b) { return nx::sum(nx::exp(b) * b); })(a));
  })(vec({0.5f, 1.0f}));
  EXPECT_NEAR(values(mixed)[0], 4.1218033f, 1e-5);
  EXPECT_NEAR(values(mixed)[1], 8.1548452f, 1e-5);
}

TEST(Grad, treats_what_is_older_than_it_as_constant) {
  const Tensor g = nx::grad([](Tensor x) {
    const Tensor inner = nx::grad([&](Tensor y) { return x * y; })(x);  // = x
    return inner * x;                                                    // = x^2
  })(num(3));
  EXPECT_THAT(values(g), ElementsAre(6));
}

TEST(Grad, stops_at_stop_grad) {
  const Tensor x = vec({1, 2});
  EXPECT_THAT(values(nx::grad([](Tensor a) { return nx::sum(nx::stop_grad(a * a) * a); })(x)),
              ElementsAre(1, 4));
}

TEST(Grad, uses_the_callers_rule_in_custom_grad) {
  const Tensor g = nx::grad([](Tensor t) {
    return nx::custom_grad(nx::cos(t), {t}, [t](const Tensor& up) {
      return std::vector<Tensor>{up * 100 * nx::sin(t)};
    });
  })(num(1));
  EXPECT_NEAR(values(g)[0], 84.1470947f, 1e-4);
}

TEST(Grad, refuses_a_custom_rule_with_the_wrong_number_of_gradients) {
  auto f = [](Tensor t) {
    return nx::custom_grad(t * t, {t}, [](const Tensor&) { return std::vector<Tensor>{}; });
  };
  EXPECT_THROW(nx::grad(f)(num(1)), nx::ArgumentError);
}

TEST(Grad, hands_aux_through) {
  auto f = [](Tensor x) { return std::pair(nx::sum(x * x), nx::sin(x)); };
  const Tensor x = vec({1, 2});
  const auto [value, g] = nx::value_and_grad_with_aux(f)(x);
  EXPECT_THAT(values(value.first), ElementsAre(5));
  EXPECT_NEAR(values(value.second)[1], 0.9092974f, 1e-6);
  EXPECT_THAT(values(g), ElementsAre(2, 4));
  const auto [same, aux] = nx::grad_with_aux(f)(x);
  EXPECT_THAT(values(same), ElementsAre(2, 4));
  EXPECT_NEAR(values(aux)[0], 0.8414710f, 1e-6);
}

TEST(Grad, never_sums_a_vectorised_axis) {
  const Tensor c = nx::detail::Access::with_labels(vec({1, 2}), {}, {{"v", 2}});
  const Tensor x = vec({1, 2, 3});
  const Tensor g = nx::grad([&](Tensor a) { return nx::sum(a * c); })(x);
  EXPECT_EQ(g.vectorized_axes(), (nx::VectorAxes{{"v", 2}}));
  EXPECT_EQ(g.shape(), (nx::Shape{3}));
  EXPECT_THAT(values(g), ElementsAre(1, 1, 1, 2, 2, 2));
}

TEST(Grad, keeps_the_names_of_a_leaf) {
  const Tensor x = nx::detail::Access::with_labels(vec({1, 2}), {"x"}, {});
  const Tensor g = nx::grad([](Tensor a) { return nx::sum(a * a); })(x);
  EXPECT_EQ(g.names(), (nx::Names{"x"}));
}

TEST(Grad, appends_to_an_open_trace_and_opens_no_other) {
  nx::graph::OpenTrace open("outer");
  const Tensor x = open.trace().parameter(vec({1, 2}), "x", true);
  const Tensor g = nx::grad([](Tensor a) { return nx::sum(a * a); })(x);
  EXPECT_TRUE(g.is_traced());
  EXPECT_FALSE(nx::detail::Access::mark(g));
  EXPECT_NO_THROW(open.trace().edge_of(g, "test", {}));
}

nx::graph::TensorTypes infer_first(std::span<const nx::graph::TensorType> in,
                                   const nx::graph::Attrs&) {
  return {in[0]};
}
const nx::graph::OpRow kOpaque{
    .name = "opaque",
    .infer = infer_first,
    .gradient = nx::graph::no_gradient("it is opaque"),
    .vectorize = +[](const nx::graph::VectorizeCall& call) { return nx::graph::Tensors{call.in[0]}; },
    .lower = +[](const nx::graph::LowerCall& call) {
      return std::vector<nx::stablehlo::Value>{call.in[0]};
    },
    .host = nx::graph::HostRule(nx::graph::RelabelRule{}),
};
Tensor opaque(const Tensor& x) { return nx::graph::emit(kOpaque, {x}, {}, {}); }

TEST(Grad, names_the_operation_that_has_no_gradient_and_why) {
  try {
    nx::grad([](Tensor a) { return nx::sum(opaque(a)); })(vec({1, 2}));
    FAIL() << "expected UnsupportedError";
  } catch (const nx::UnsupportedError& error) {
    EXPECT_THAT(error.what(), HasSubstr("opaque: has no gradient: it is opaque"));
  }
}

TEST(Grad, does_not_mind_an_operation_without_gradient_beside_the_path) {
  const Tensor x = vec({1, 2});
  EXPECT_THAT(values(nx::grad([&](Tensor a) { return nx::sum(a * opaque(x)); })(x)),
              ElementsAre(1, 2));
  EXPECT_THAT(values(nx::grad([](Tensor a) {
                return nx::sum(a * nx::stop_grad(opaque(a)));
              })(x)),
              ElementsAre(1, 2));
}

TEST(Grad, refuses_an_argument_without_tensors) {
  EXPECT_THROW(nx::grad([](std::vector<Tensor>) { return 1; })(std::vector<Tensor>{}),
               nx::ArgumentError);
}

TEST(Grad, refuses_a_template) {
  const Tensor t = nx::detail::Access::make_template(nx::DType::f32, {2});
  EXPECT_THROW(nx::grad([](Tensor a) { return nx::sum(a); })(t), nx::ArgumentError);
}

TEST(Grad, lets_no_traced_tensor_out) {
  Tensor kept;
  const Tensor x = vec({1, 2});
  nx::grad([&](Tensor a) {
    kept = a * a;
    return nx::sum(kept);
  })(x);
  EXPECT_THROW(nx::sin(kept), nx::TraceError);
}

TEST(Grad, inside_jit_gives_what_it_gives_outside) {
  auto loss = [](Tensor w, Tensor x) { return nx::sum(nx::sin(w * x) * w); };
  const Tensor w = vec({0.5f, -1}), x = vec({2, 3});
  const auto outside = values(nx::grad(loss)(w, x));
  EXPECT_EQ(values(nx::jit(nx::grad(loss))(w, x)), outside);
  EXPECT_EQ(values(nx::grad(nx::jit(loss))(w, x)), outside);
  EXPECT_EQ(values(nx::jit([&](Tensor v) { return nx::grad(loss)(v, x); })(w)), outside);
}

TEST(Grad, of_integers_and_small_floats_is_f32) {
  auto square = [](Tensor x) { return x * x; };
  for (const nx::DType type : {nx::DType::s32, nx::DType::u8, nx::DType::bf16, nx::DType::f16}) {
    const Tensor g = nx::grad(square)(nx::as_type(num(3), type));
    EXPECT_EQ(g.type(), nx::DType::f32);
    EXPECT_THAT(values(g), ElementsAre(6));
  }
}

TEST(Grad, keeps_the_precision_of_a_loss_in_f64) {
  const Tensor g = nx::grad([](Tensor x) {
    return nx::sum(nx::pow(nx::as_type(x, nx::DType::f64), 2));
  })(vec({0.1f}));
  EXPECT_EQ(g.type(), nx::DType::f64);
}

TEST(Grad, passes_through_a_cast_to_integers) {
  const Tensor x = vec({1, 2});
  const Tensor g =
      nx::grad([](Tensor a) { return nx::sum(nx::as_type(a, nx::DType::s32)); })(x);
  EXPECT_EQ(g.type(), nx::DType::f32);
  EXPECT_THAT(values(g), ElementsAre(1, 1));
}

TEST(Grad, leaves_nothing_behind_when_the_function_throws) {
  const Tensor x = vec({1, 2});
  auto f = [](Tensor a) -> Tensor {
    nx::custom_grad(a, {a}, [a](const Tensor& g) { return std::vector<Tensor>{g * a}; });
    throw std::runtime_error("of the test");
  };
  EXPECT_THROW(nx::grad(f)(x), std::runtime_error);
  EXPECT_EQ(nx::graph::current_trace(), nullptr);
}

}  // namespace
