// What is fused, and that fused programs compute what their operations compute one by one.
#include "program.h"

namespace nx::host_test {
namespace {

std::size_t steps_of(const graph::Executable& executable) {
  const std::string text = executable.to_string();
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) - 1;
}

void expect_same_as_one_by_one(const Program& program, unsigned seed = 1) {
  const auto inputs = random_inputs(program, seed);
  const auto executable = program.compile();
  const auto result = call(*executable, inputs, program.graph.outputs.size());
  EXPECT_EQ(result.bytes(), program.evaluate(inputs)) << executable->to_string();
}

/// A scale of the usual one: bias, relu and softmax cross-entropy, forward and backward.
Program softmax_program(std::int64_t rows, std::int64_t columns) {
  Program p;
  const Dims full{rows, columns};
  const Edge x = p.input(full), bias = p.input({columns}), labels = p.input(full);
  const Edge logits = p.op(kAdd, {x, p.broadcast(bias, full, {1})});
  const Edge top = p.op(kReduceMax, {logits}, Attrs::of(graph::ReduceAttrs{{1}}));
  const Edge shifted = p.op(kSub, {logits, p.broadcast(top, full, {0})});
  const Edge e = p.op(kExp, {shifted});
  const Edge total = p.sum(e, {1});
  const Edge inverse = p.op(kSqrt, {total});
  const Edge probability = p.op(kMul, {e, p.broadcast(inverse, full, {0})});
  const Edge delta = p.op(kSub, {probability, labels});
  p.output(delta);
  p.output(p.sum(delta, {0}));
  p.output(p.sum(p.op(kMul, {shifted, labels}), {1}));
  return p;
}

TEST(HostFusion, softmax_forward_and_backward_is_one_loop) {
  const Program program = softmax_program(128, 10);
  expect_same_as_one_by_one(program);
  EXPECT_EQ(steps_of(*program.compile()), 1u) << program.compile()->to_string();
}

TEST(HostFusion, rows_wider_than_a_tile_are_reduced_in_several_loops) {
  expect_same_as_one_by_one(softmax_program(3, 5000));
  expect_same_as_one_by_one(softmax_program(2, 70000));
  expect_same_as_one_by_one(softmax_program(700, 1024));
  expect_same_as_one_by_one(softmax_program(1, 7));
  expect_same_as_one_by_one(softmax_program(7, 1));
  expect_same_as_one_by_one(softmax_program(5000, 3));
}

TEST(HostFusion, an_adam_update_is_one_loop) {
  Program p;
  const Dims dims{90, 32};
  const Edge w = p.input(dims), m = p.input(dims), v = p.input(dims), g = p.input(dims);
  const Edge scale = p.input({});
  const Edge m2 =
      p.op(kAdd, {p.op(kMul, {p.full(0.9, dims), m}), p.op(kMul, {p.full(0.1, dims), g})});
  const Edge v2 = p.op(kAdd, {p.op(kMul, {p.full(0.999, dims), v}),
                              p.op(kMul, {p.full(0.001, dims), p.op(kMul, {g, g})})});
  const Edge step = p.op(kMul, {m2, p.broadcast(p.op(kMul, {scale, scale}), dims, {})});
  p.output(p.op(kSub, {w, p.op(kMul, {step, p.op(kSqrt, {v2})})}));
  p.output(m2);
  p.output(v2);
  expect_same_as_one_by_one(p);
  EXPECT_EQ(steps_of(*p.compile()), 2u) << p.compile()->to_string();  // and the scalar
}

TEST(HostFusion, large_transposed_operands_are_copied_by_blocks_first) {
  Program p;
  const Edge x = p.input({300, 200}), y = p.input({200, 300});
  const Edge turned = p.transpose(x, {1, 0});
  p.output(p.op(kAdd, {turned, y}));
  p.output(p.op(kMul, {turned, y}));
  p.output(p.sum(turned, {1}));
  expect_same_as_one_by_one(p);
  EXPECT_EQ(steps_of(*p.compile()), 2u) << p.compile()->to_string();
}

TEST(HostFusion, views_that_are_results_are_copied_whole) {
  Program p;
  const Edge x = p.input({300, 200}), twice = p.op(kAdd, {x, x});
  const Edge part = p.op(kSlice, {x}, Attrs::of(SliceTo{{100, 50}, {299, 200}}));
  p.output(p.transpose(part, {1, 0}));
  p.output(p.transpose(twice, {1, 0}));
  p.output(twice);
  p.output(p.transpose(p.reshape(twice, {30, 10, 200}), {1, 2, 0}));
  p.output(part);
  expect_same_as_one_by_one(p);
}

TEST(HostFusion, views_cost_no_step) {
  Program p;
  const Edge a = p.input({6, 5}), b = p.input({5, 6});
  const Edge t = p.transpose(b, {1, 0});
  const Edge flat = p.reshape(t, {30});
  const Edge sliced = p.op(kSlice, {a}, Attrs::of(SliceTo{{1, 2}, {3, 5}}));
  p.output(p.op(kAdd, {a, t}));
  p.output(p.op(kNeg, {sliced}));
  p.output(p.reshape(flat, {2, 15}));
  expect_same_as_one_by_one(p);
}

TEST(HostFusion, reductions_over_any_axes_are_those_of_single_operations) {
  for (const Dims& axes :
       {Dims{0}, Dims{1}, Dims{2}, Dims{0, 1}, Dims{0, 2}, Dims{1, 2}, Dims{0, 1, 2}}) {
    Program p;
    const Edge x = p.input({5, 7, 9});
    p.output(p.sum(p.op(kMul, {x, x}), axes));
    p.output(p.sum(p.transpose(x, {2, 0, 1}), axes));
    expect_same_as_one_by_one(p);
  }
}

TEST(HostFusion, empty_arrays_and_axes_of_size_one_pass) {
  Program p;
  const Edge x = p.input({0, 3}), y = p.input({1, 4});
  p.output(p.op(kAdd, {x, x}));
  p.output(p.sum(x, {0}));
  p.output(p.sum(x, {1}));
  p.output(p.sum(y, {0}));
  p.output(p.op(kNeg, {p.sum(p.op(kAdd, {y, y}), {0})}));
  expect_same_as_one_by_one(p);
}

TEST(HostFusion, literals_and_generated_values_become_arrays_where_they_must) {
  Program p;
  const Dims dims{3, 4};
  const Edge iota = p.op(kIota, {}, Attrs::of(DimsAttrs{dims}));
  const Edge x = p.input({4, 2});
  p.output(p.op(kMatmul, {iota, x}));
  p.output(p.op(kMatmul, {p.full(2, {5, 3}), iota}));
  p.output(iota);
  p.output(p.number(3));
  p.output(p.op(kAdd, {p.transpose(iota, {1, 0}), p.full(1, {4, 3})}));
  p.output(p.full(1, {4, 3}));
  expect_same_as_one_by_one(p);
}

TEST(HostFusion, element_types_of_different_width_share_a_loop) {
  Program p;
  const Edge x = p.input({40, 50});
  const Edge wide = p.op(kConvert, {x}, Attrs::of(TypeAttrs{DType::f64}));
  const Edge twice = p.op(kAdd, {wide, wide});
  const Edge less = p.op(kLess, {x, p.full(0.5, {40, 50})});
  p.output(p.op(kSelect, {less, x, p.op(kConvert, {twice}, Attrs::of(TypeAttrs{DType::f32}))}));
  p.output(p.sum(twice, {1}));
  p.output(less);
  expect_same_as_one_by_one(p);
  EXPECT_EQ(steps_of(*p.compile()), 1u);
}

TEST(HostFusion, a_type_without_kernel_is_refused_by_name) {
  Program p;
  const Edge x = p.input({4}, DType::u16);
  p.output(p.op(kAdd, {x, x}));
  try {
    p.compile();
    FAIL() << "compiled";
  } catch (const UnsupportedError& error) {
    EXPECT_EQ(error.operation(), "add");
    EXPECT_NE(std::string(error.what()).find("u16"), std::string::npos);
  }
}

}  // namespace
}  // namespace nx::host_test
