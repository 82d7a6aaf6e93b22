// Slices whose starts differ from lane to lane: every kind of start with every kind of operand,
// against a loop over the lanes.
#include <gtest/gtest.h>

#include <map>

#include "nx/creation.h"
#include "nx/jit.h"
#include "nx/movement.h"
#include "nx/names.h"

namespace nx {
namespace {

using Lane = std::map<std::string, std::int64_t>;  // an index for each vectorised axis

std::string text_of(const Tensor& t) {
  std::string text;
  for (const VectorAxis& axis : t.vectorized_axes()) text += std::string(axis.name.view());
  return text;
}

/// The element of a vectorised scalar in a lane.
std::int64_t at_lane(const Tensor& t, const Lane& lane) {
  const auto values = t.to_flat_list<std::int64_t>();
  std::int64_t index = 0;
  for (const VectorAxis& axis : t.vectorized_axes())
    index = index * axis.size + lane.at(std::string(axis.name.view()));
  return values[static_cast<std::size_t>(index)];
}

/// The plain [4, 5] tensor of a lane.
Tensor matrix_at(const Tensor& t, const Lane& lane) {
  Starts starts{0, 0};
  Dims lengths{4, 5};
  for (const VectorAxis& axis : t.vectorized_axes()) {
    starts.insert(starts.end() - 2, Start(lane.at(std::string(axis.name.view()))));
    lengths.insert(lengths.begin(), 1);
  }
  return reshape(slice(devectorize(t, {.keep_names = false}), starts, lengths), {4, 5});
}

std::vector<Start> kinds_of_start() {
  // Some are out of range: starts are clamped.
  return {Start(1), Start(tensor(2)), Start(vectorize(tensor({0, 9}), "a")),
          Start(vectorize(tensor({-3, 1, 2}, {.type = DType::s64}), "b")),
          Start(vectorize(vectorize(tensor({{0, 1, 2}, {3, 4, 5}}), "a"), "b"))};
}

std::vector<Tensor> kinds_of_operand() {
  return {iota({4, 5}), vectorize(iota({2, 4, 5}), "a"), vectorize(iota({3, 4, 5}), "c")};
}

/// The lanes of `t` in the order of its elements.
std::vector<Lane> lanes_of(const Tensor& t) {
  std::vector<Lane> lanes{{}};
  for (const VectorAxis& axis : t.vectorized_axes()) {
    std::vector<Lane> next;
    for (const Lane& lane : lanes)
      for (std::int64_t i = 0; i < axis.size; ++i) {
        next.push_back(lane);
        next.back()[std::string(axis.name.view())] = i;
      }
    lanes = std::move(next);
  }
  return lanes;
}

Start start_at(const Start& start, const Lane& lane) {
  return start.is_tensor() ? Start(at_lane(start.tensor(), lane)) : start;
}

void expect_a_loop_over_lanes(const Tensor& got, const Tensor& operand, const Starts& starts,
                              const Dims& lengths, const SliceOptions& options) {
  std::vector<std::int64_t> expected;
  for (const Lane& lane : lanes_of(got)) {
    const Tensor one =
        slice(matrix_at(operand, lane), {start_at(starts[0], lane), start_at(starts[1], lane)},
              lengths, options);
    for (const auto value : one.to_flat_list<std::int64_t>()) expected.push_back(value);
  }
  EXPECT_EQ(got.to_flat_list<std::int64_t>(), expected);
}

/// Every axis of the operand or of a start is an axis of the result.
std::size_t count_axes(const Tensor& operand, const Starts& starts) {
  std::map<std::string, int> names;
  for (const char c : text_of(operand)) ++names[std::string(1, c)];
  for (const Start& start : starts)
    if (start.is_tensor())
      for (const char c : text_of(start.tensor())) ++names[std::string(1, c)];
  return names.size();
}

TEST(SliceLanes, equals_a_loop_over_the_lanes_for_every_kind_of_start_and_operand) {
  const Dims lengths{2, 3};
  for (const Tensor& operand : kinds_of_operand())
    for (const Start& first : kinds_of_start())
      for (const Start& second : kinds_of_start())
        for (const SliceOptions& options : {SliceOptions{}, SliceOptions{.strides = {1, 2}}}) {
          SCOPED_TRACE(text_of(operand) + "/" +
                       (first.is_tensor() ? text_of(first.tensor()) : "static") + "/" +
                       (second.is_tensor() ? text_of(second.tensor()) : "static"));
          const Starts starts{first, second};
          const Tensor got = slice(operand, starts, lengths, options);
          EXPECT_EQ(got.vectorized_axes().size(), count_axes(operand, starts));
          expect_a_loop_over_lanes(got, operand, starts, lengths, options);
        }
}

TEST(SliceLanes, is_the_same_when_compiled) {
  const auto f = jit([](Tensor x, Tensor start) {
    return slice(x, {Start(1), Start(start)}, {2, 2});
  });
  for (const Tensor& operand : kinds_of_operand())
    for (const Start& start : kinds_of_start())
      if (start.is_tensor())
        expect_a_loop_over_lanes(f(operand, start.tensor()), operand, {Start(1), start}, {2, 2},
                                 {});
}

TEST(SliceLanes, keeps_the_names_of_the_operand) {
  const Tensor x = iota({3, 3}, {.names = {"x", "y"}});
  const Tensor got = slice(x, {Start(0), Start(vectorize(tensor({0, 1, 10}), "i"))}, {2, 2});
  EXPECT_TRUE(got.names() == (Names{"x", "y"}));
  EXPECT_EQ(got.to_flat_list<int>(), (std::vector<int>{0, 1, 3, 4, 1, 2, 4, 5, 1, 2, 4, 5}));
}

TEST(SliceLanes, refuses_a_start_that_is_no_scalar_or_no_integer) {
  const Tensor x = iota({3, 3});
  EXPECT_THROW(slice(x, {Start(0), Start(vectorize(tensor({{0, 1}}), "i"))}, {2, 2}), ShapeError);
  EXPECT_THROW(slice(x, {Start(0), Start(vectorize(tensor({0.5f}), "i"))}, {2, 2}), DTypeError);
}

}  // namespace
}  // namespace nx
