// Reductions over every set of axes, of arrays and of views of them, against sums one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "nx/binary.h"
#include "nx/creation.h"
#include "nx/jit.h"
#include "nx/movement.h"
#include "nx/operators.h"
#include "nx/reduce.h"
#include "nx/type.h"
#include "program.h"

namespace nx {
namespace {

const Dims kShapes[] = {{4, 6, 5},      {3, 40, 7},    {2, 300, 3},      {5, 9, 1100},
                        {2, 70, 130},   {1, 64, 128},  {40, 2, 64},      {3, 4, 5, 6},
                        {2, 50, 3, 20}, {8, 1, 33, 2}, {2, 3, 2, 3, 40}, {2, 5000, 40},
                        {3, 1025, 2}};

/// Whole numbers, of which f32 holds every sum here.
Tensor numbers(const Dims& dims) {
  const std::int64_t count = element_count(dims);
  return reshape(as_type(remainder(iota({count}) * 31, 23), f32), dims);
}

struct Expected {
  std::vector<double> sums, largest;
};

Expected one_by_one(const Tensor& x, const Dims& dims, unsigned reduced) {
  const std::vector<double> values = x.to_flat_list<double>();
  std::int64_t kept = 1;
  for (std::size_t a = 0; a < dims.size(); ++a) kept *= reduced >> a & 1 ? 1 : dims[a];
  Expected result{std::vector<double>(kept), std::vector<double>(kept, -1)};
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int64_t rest = static_cast<std::int64_t>(i), step = 1, place = 0;
    for (std::size_t a = dims.size(); a-- > 0;) {
      if (!(reduced >> a & 1)) {
        place += rest % dims[a] * step;
        step *= dims[a];
      }
      rest /= dims[a];
    }
    const auto at = static_cast<std::size_t>(place);
    result.sums[at] += values[i];
    result.largest[at] = std::max(result.largest[at], values[i]);
  }
  return result;
}

template <class F>
void for_each_set_of_axes(const Dims& dims, F&& f) {
  for (unsigned reduced = 1; reduced < 1u << dims.size(); ++reduced) {
    std::vector<Axis> axes;
    for (std::size_t a = 0; a < dims.size(); ++a)
      if (reduced >> a & 1) axes.push_back(static_cast<std::int64_t>(a));
    f(reduced, axes);
  }
}

TEST(ReduceAxes, every_set_of_axes_is_summed_and_searched_whole) {
  for (const Dims& dims : kShapes) {
    const Tensor x = numbers(dims);
    for_each_set_of_axes(dims, [&](unsigned reduced, const std::vector<Axis>& axes) {
      const Expected expected = one_by_one(x, dims, reduced);
      const std::string what = to_string(dims) + " axes " + std::to_string(reduced);
      EXPECT_EQ(sum(x, {.axes = axes}).to_flat_list<double>(), expected.sums) << what;
      EXPECT_EQ(reduce_max(x, {.axes = axes}).to_flat_list<double>(), expected.largest) << what;
    });
  }
}

TEST(ReduceAxes, views_and_several_reductions_in_one_program_are_right) {
  for (const Dims& dims : kShapes) {
    const Tensor x = numbers(dims), backwards = transpose(x);
    for_each_set_of_axes(dims, [&](unsigned reduced, const std::vector<Axis>& axes) {
      const auto both = jit([&](Tensor y) {
        const Tensor view = transpose(y);
        return std::tuple(sum(view, {.axes = axes}), reduce_max(view + 1.0f, {.axes = axes}),
                          sum(view, {.axes = {0}}));
      });
      const auto [total, most, first] = both(backwards);
      const Expected expected = one_by_one(x, dims, reduced);
      const std::string what = to_string(dims) + " axes " + std::to_string(reduced);
      EXPECT_EQ(total.template to_flat_list<double>(), expected.sums) << what;
      EXPECT_EQ((most - 1.0f).template to_flat_list<double>(), expected.largest) << what;
      EXPECT_EQ(first.template to_flat_list<double>(), one_by_one(x, dims, 1).sums) << what;
    });
  }
}

}  // namespace

namespace host_test {
namespace {

TEST(ReduceAxes, what_a_middle_axis_is_summed_of_is_made_in_the_same_loop) {
  Program p;
  const Edge x = p.input({16, 64, 32});
  const Edge square = p.op(kMul, {x, x});
  p.output(p.sum(square, {1}));
  p.output(p.op(kReduceMax, {square}, Attrs::of(graph::ReduceAttrs{{1}})));
  const auto executable = p.compile();
  const std::string text = executable->to_string();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  const auto inputs = random_inputs(p, 1);
  EXPECT_EQ(call(*executable, inputs, 2).bytes(), p.evaluate(inputs)) << text;
}

}  // namespace
}  // namespace host_test
}  // namespace nx
