// The text of modules: parameters, results, aliases, and what lowerings may get wrong.
#include "xla/emitter.h"

#include <gmock/gmock.h>

#include "xla/with_graph.h"

namespace nx::xla {
namespace {

using graph::DonationPair;
using graph::Edge;
using graph::PairKind;
using testing::Build;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(XlaEmitter, a_module_is_one_function_with_the_graphs_parameters_and_results) {
  Build build("step");
  const Edge x = build.parameter(DType::f32, {2, 3});
  build.output(build.plus_one(x));
  EXPECT_EQ(emit_module(build.graph, {}), R"(module @step {
  func.func public @main(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = "stablehlo.constant"() {value = dense<1.00000000000000000e+00> : tensor<f32>} : () -> tensor<f32>
    %1 = "stablehlo.broadcast_in_dim"(%0) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> tensor<2x3xf32>
    %2 = "stablehlo.add"(%arg0, %1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    "func.return"(%2) : (tensor<2x3xf32>) -> ()
  }
}
)");
}

TEST(DonationXlaEmitter, R9_a_pair_is_an_aliasing_attribute_on_its_parameter) {
  Build build;
  const Edge a = build.parameter(DType::f32, {4}), b = build.parameter(DType::f32, {4});
  build.output(build.plus_one(b));
  build.output(build.plus_one(a));
  const DonationPair pairs[] = {{0, 1, PairKind::kInPlace}, {1, 0, PairKind::kInPlace}};
  EXPECT_THAT(emit_module(build.graph, pairs),
              HasSubstr("@main(%arg0: tensor<4xf32> {tf.aliasing_output = 1 : i32}, "
                        "%arg1: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> "));
}

TEST(DonationXlaEmitter, R9_a_pair_of_other_type_or_dims_computes_in_the_leafs_own) {
  Build build;
  const Edge x = build.parameter(DType::f32, {2, 3});
  build.output(build.cast(x, DType::s32, {6}));
  const DonationPair pairs[] = {{0, 0, PairKind::kBytes}};
  const std::string text = emit_module(build.graph, pairs);
  EXPECT_THAT(text, HasSubstr("-> (tensor<2x3xf32>) {"));
  EXPECT_THAT(text, HasSubstr("\"stablehlo.bitcast_convert\"(%1) : (tensor<6xi32>) -> "
                              "tensor<6xf32>"));
  EXPECT_EQ(emitted_type(build.graph, pairs, 0), (graph::TensorType{DType::f32, {2, 3}}));
  EXPECT_EQ(emitted_type(build.graph, {}, 0), (graph::TensorType{DType::s32, {6}}));
}

TEST(DonationXlaEmitter, R9_elements_of_another_width_on_the_device_are_no_pair) {
  const auto possible = [](DType leaf, DType output) {
    return can_alias({leaf, {8}}, {output, {8}});
  };
  EXPECT_TRUE(possible(DType::f32, DType::u32));
  EXPECT_TRUE(possible(DType::u8, DType::f8));
  EXPECT_TRUE(possible(DType::u4, DType::u4));
  EXPECT_FALSE(possible(DType::u8, DType::u4));
  EXPECT_FALSE(possible(DType::s4, DType::u4));
  EXPECT_FALSE(possible(DType::c64, DType::f64));
  EXPECT_TRUE(can_alias({DType::c64, {2, 3}}, {DType::c64, {6}}));
  EXPECT_FALSE(can_alias({DType::f32, {4}}, {DType::f64, {2}}));
  EXPECT_FALSE(can_alias({DType::f32, {0}}, {DType::f32, {0}}));
}

TEST(DonationXlaEmitter, R9_pairs_that_cannot_be_are_our_bug) {
  Build build;
  const Edge x = build.parameter(DType::f32, {2}), y = build.parameter(DType::f64, {2});
  build.output(build.op(testing::kAdd, {x, x}));
  build.output(y);
  const DonationPair twice[] = {{0, 0}, {0, 0}}, far[] = {{0, 2}}, none[] = {{2, 0}};
  const DonationPair other[] = {{1, 0}};
  for (const std::span<const DonationPair> pairs :
       {std::span<const DonationPair>(twice), std::span<const DonationPair>(far),
        std::span<const DonationPair>(none), std::span<const DonationPair>(other)})
    EXPECT_THROW(emit_module(build.graph, pairs), InternalError);
}

TEST(XlaEmitter, what_nothing_depends_on_is_left_out) {
  Build build;
  const Edge x = build.parameter(DType::f32, {2});
  build.plus_one(x);
  build.output(x);
  EXPECT_THAT(emit_module(build.graph, {}), Not(HasSubstr("stablehlo.add")));
}

TEST(XlaEmitter, predicates_are_numbers_on_every_edge) {
  Build build;
  const Edge x = build.parameter(DType::f32, {2});
  const Edge less = build.op(testing::kLess, {x, x});
  build.output(build.op(testing::kAdd, {less, less}));
  const std::string text = emit_module(build.graph, {});
  EXPECT_THAT(text, HasSubstr("\"stablehlo.convert\"(%0) : (tensor<2xi1>) -> tensor<2xui8>"));
  EXPECT_THAT(text, HasSubstr("\"stablehlo.add\"(%1, %1) : (tensor<2xui8>, tensor<2xui8>)"));
}

TEST(XlaEmitter, a_parameter_may_be_a_result_and_a_result_may_come_twice) {
  Build build;
  const Edge x = build.parameter(DType::s32, {});
  build.output(x);
  build.output(x);
  EXPECT_THAT(emit_module(build.graph, {}),
              HasSubstr("\"func.return\"(%arg0, %arg0) : (tensor<i32>, tensor<i32>) -> ()"));
}

TEST(XlaEmitter, a_function_without_results_is_a_module) {
  Build build("<lambda> at file.cpp:3");
  build.parameter(DType::f32, {});
  const std::string text = emit_module(build.graph, {});
  EXPECT_THAT(text, HasSubstr("module @_lambda__at_file_cpp_3 {"));
  EXPECT_THAT(text, HasSubstr("\"func.return\"() : () -> ()"));
}

TEST(XlaEmitter, a_lowering_that_contradicts_its_shape_rule_is_our_bug) {
  Build build;
  const Edge x = build.parameter(DType::f32, {2});
  static const graph::OpRow kWrong =
      testing::make_row("wrong", testing::predicate_type,
                        [](const graph::LowerCall& call) { return std::vector{call.in[0]}; });
  static const graph::OpRow kNothing =
      testing::make_row("nothing", testing::first_type,
                        [](const graph::LowerCall&) { return std::vector<stablehlo::Value>(); });
  for (const graph::OpRow* const row : {&kWrong, &kNothing}) {
    Build copy = build;
    copy.output(copy.op(*row, {x}));
    try {
      emit_module(copy.graph, {});
      ADD_FAILURE() << row->name;
    } catch (const InternalError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(row->name)));
    }
  }
}

}  // namespace
}  // namespace nx::xla
