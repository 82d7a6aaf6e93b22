// Structural functions: errors for bad arguments, what simplification folds away, memory.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/match.h"
#include "graph/trace.h"
#include "nx/contract.h"
#include "nx/creation.h"
#include "nx/indexing.h"
#include "nx/movement.h"
#include "nx/random.h"
#include "nx/reduce.h"
#include "ops/contract.h"
#include "ops/movement.h"

namespace nx {
namespace {

TEST(Indexing, refuses_an_index_out_of_range_in_an_eager_call) {
  const Tensor x = tensor({1.f, 2.f, 3.f});
  EXPECT_THROW(take(x, tensor({3})), ArgumentError);
  EXPECT_THROW(take(x, tensor({-1})), ArgumentError);
  EXPECT_THROW(gather(x, tensor({{7}})), ArgumentError);
  EXPECT_THROW(take(x, tensor({0.5f})), DTypeError);
}

TEST(Literal, refuses_ragged_braces_and_what_does_not_fit) {
  EXPECT_THROW(tensor({{1, 2}, {3}}), ShapeError);
  EXPECT_THROW(tensor(300, {.type = DType::s8}), ArgumentError);
  EXPECT_THROW(tensor(1.5, {.type = DType::s8}), ArgumentError);
  EXPECT_EQ(tensor(std::int64_t{1} << 40).type(), DType::s64);
}

TEST(Concatenate, says_which_shapes_do_not_fit) {
  EXPECT_THROW(concatenate({tensor({1}), tensor({{1}})}), ShapeError);
  EXPECT_THROW(concatenate({tensor({{1, 2}}), tensor({{1}})}), ShapeError);
  EXPECT_THROW(reshape(tensor({1, 2, 3}), {2, 2}), ShapeError);
}

TEST(Binary, packs_and_unpacks_types_below_a_byte) {
  const Tensor x = tensor({1, -2, 0, -1, 1}, {.type = DType::s2});
  const auto bytes = to_binary(x);
  ASSERT_EQ(bytes.size(), 2u);
  EXPECT_EQ(std::to_integer<int>(bytes[0]), 0b01100011);
  const Tensor back = from_binary(bytes, DType::s2);
  EXPECT_EQ(back.to_flat_list<int>(), (std::vector<int>{1, -2, 0, -1, 1, 0, 0, 0}));
}

TEST(FromPointer, frees_owned_memory_when_its_last_user_dies) {
  static float data[2] = {1, 2};
  int freed = 0;
  {
    const Tensor x = from_pointer(data, DType::f32, {2}, {.deleter = [&](void*) { ++freed; }, .names = {}});
    const Tensor y = reshape(x, {2, 1});
    EXPECT_EQ(y.to_flat_list<float>(), (std::vector<float>{1, 2}));
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(freed, 1);
}

TEST(Dot, takes_over_transposed_operands_when_it_is_simplified) {
  graph::OpenTrace open("f");
  const Tensor a = open.trace().parameter(make_template({3, 2}, DType::f32), "a", false);
  const Tensor b = open.trace().parameter(make_template({3, 4}, DType::f32), "b", false);
  const Tensor product = dot(transpose(a), b);
  const graph::Node node = *graph::producer(product);
  const graph::Tensors in{graph::operand_of(product, 0), graph::operand_of(product, 1)};
  const Tensor simple = node.row->simplify({in, node.outputs, node.attrs});
  ASSERT_TRUE(simple.has_value());
  EXPECT_EQ(simple.shape(), (Shape{2, 4}));
  EXPECT_FALSE(graph::is_made_by(graph::operand_of(simple, 0), ops::kTranspose));
  EXPECT_EQ(graph::producer(simple)->attrs.as<ops::DotAttrs>().contract_a, (Dims{0}));
}

TEST(Random, the_same_key_gives_the_same_numbers_and_split_keys_others) {
  const Tensor key = random::key(7);
  const auto a = random::normal(key, {.shape = {5}, .type = DType::f32, .names = {}}).first;
  const auto b = random::normal(key, {.shape = {5}, .type = DType::f32, .names = {}}).first;
  const auto [c, next] = random::normal(random::fold_in(key, 1), {.shape = {5}, .type = DType::f32, .names = {}});
  EXPECT_EQ(a.to_flat_list<float>(), b.to_flat_list<float>());
  EXPECT_NE(a.to_flat_list<float>(), c.to_flat_list<float>());
  EXPECT_EQ(next.shape(), (Shape{2}));
}

}  // namespace
}  // namespace nx
