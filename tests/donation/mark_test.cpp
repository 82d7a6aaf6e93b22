// R1 to R4 and R12: where the mark is, and where it never is.
#include "donation/rule.h"

namespace nx::test {

DONATION_RULE(R1);
DONATION_RULE(R2);
DONATION_RULE(R3);
DONATION_RULE(R4);
DONATION_RULE(R12);

RULE_TEST(R1, donatable_marks_a_handle_and_leaves_its_argument_as_it_is) {
  const Tensor x = vector_of(4);
  const Tensor marked = donatable(x);
  EXPECT_TRUE(is_donatable(marked));
  EXPECT_FALSE(is_donatable(x));
  EXPECT_EQ(memory_of(x), memory_of(marked));
}

RULE_TEST(R1, donatable_is_idempotent_and_works_on_containers_and_parts) {
  Pair pair{vector_of(2), vector_of(3)};
  EXPECT_TRUE(is_donatable(donatable(donatable(pair))));
  EXPECT_FALSE(is_donatable(pair));
  pair.a = donatable(pair.a);
  EXPECT_FALSE(is_donatable(pair));
  EXPECT_TRUE(is_donatable(pair.a));
  std::vector<Tensor> list{vector_of(1), vector_of(1)};
  EXPECT_TRUE(is_donatable(donatable(list)));
}

RULE_TEST(R1, a_number_has_no_buffer_and_an_empty_tensor_passes_through) {
  EXPECT_FALSE(is_donatable(1));
  EXPECT_FALSE(is_donatable(donatable(1.5)));
  EXPECT_FALSE(is_donatable(donatable(Tensor())));
  Tensor moved = vector_of(2);
  const Tensor to = std::move(moved);
  EXPECT_FALSE(is_donatable(donatable(moved)));
}

RULE_TEST(R1, a_copied_handle_keeps_the_mark_and_clones_and_views_have_none) {
  const Tensor marked = donatable(vector_of(4));
  const Tensor copy = marked;
  EXPECT_TRUE(is_donatable(copy));
  EXPECT_FALSE(is_donatable(clone(marked)));
  EXPECT_FALSE(is_donatable(reshape(marked, {2, 2})));
  EXPECT_FALSE(is_donatable(marked + 1));
}

RULE_TEST(R1, results_and_transfers_have_no_mark) {
  const Tensor marked = donatable(vector_of(4));
  const auto f = jit([](Tensor x) { return x; }, options());
  EXPECT_FALSE(is_donatable(f(marked)));
  EXPECT_FALSE(is_donatable(on_device(donatable(iota({4}, {.type = f32})))));
  EXPECT_TRUE(marked.is_consumed());
}

RULE_TEST(R2, a_template_keeps_the_mark_and_printing_shows_it) {
  const Tensor marked = donatable(vector_of(3));
  const Tensor shape = to_template(marked);
  EXPECT_TRUE(is_donatable(shape));
  EXPECT_FALSE(is_donatable(to_template(vector_of(3))));
  EXPECT_HAS(inspect(marked), "[donatable]");
  EXPECT_HAS(inspect(shape), "[donatable]");
  EXPECT_EQ(inspect(vector_of(3)).find("[donatable]"), std::string::npos);
}

RULE_TEST(R3, a_parameter_keeps_the_mark_and_no_other_node_has_it) {
  std::vector<bool> seen;
  const auto f = jit(
      [&](Tensor x, Tensor y) {
        seen = {is_donatable(x), is_donatable(y), is_donatable(x + y), is_donatable(donatable(y)),
                is_donatable(reshape(x, {2, 2}))};
        return x + y;
      },
      options());
  f(donatable(vector_of(4)), vector_of(4));
  EXPECT_EQ(seen, (std::vector<bool>{true, false, false, false, false}));
}

RULE_TEST(R3, parameters_of_an_inner_jit_and_of_grad_are_plain) {
  bool inner_mark = true, grad_mark = true;
  const auto inner = jit([&](Tensor x) {
    inner_mark = is_donatable(x);
    return x * 2;
  }, options("inner"));
  const auto outer = jit(
      [&](Tensor x) {
        const Tensor g = grad([&](Tensor p) {
          grad_mark = is_donatable(p);
          return sum(p * p);
        })(x);
        return inner(x) + g;
      },
      options("outer"));
  const Tensor r = outer(donatable(vector_of(4)));
  EXPECT_FALSE(inner_mark);
  EXPECT_FALSE(grad_mark);
  EXPECT_EQ(r.to_flat_list<float>(), (std::vector<float>{0, 4, 8, 12}));
}

RULE_TEST(R3, containers_carry_the_marks_of_their_leaves_into_the_trace) {
  std::vector<bool> seen;
  const auto f = jit(
      [&](Pair p) {
        seen = {is_donatable(p.a), is_donatable(p.b), is_donatable(p)};
        const Tensor kept = p.a;  // another handle of the parameter
        seen.push_back(is_donatable(kept));
        return Pair{p.a + p.b, p.b};
      },
      options());
  Pair p{vector_of(4), vector_of(4)};
  p.a = donatable(p.a);
  f(p);
  EXPECT_EQ(seen, (std::vector<bool>{true, false, false, true}));
  EXPECT_TRUE(p.a.is_consumed());
  EXPECT_FALSE(p.b.is_consumed());
}

RULE_TEST(R3, eager_operations_and_reads_ignore_the_mark) {
  const Tensor marked = donatable(vector_of(3));
  EXPECT_EQ((marked + 1).to_flat_list<float>(), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(marked.to_flat_list<float>(), (std::vector<float>{0, 1, 2}));
  EXPECT_FALSE(marked.is_consumed());
}

RULE_TEST(R4, a_result_is_never_marked_however_it_was_made) {
  const auto f = jit([](Tensor x, Tensor y) { return std::tuple(x, y + 1, y, y); }, options());
  const auto [same, computed, passed, again] = f(donatable(vector_of(3)), vector_of(3));
  EXPECT_FALSE(is_donatable(same));
  EXPECT_FALSE(is_donatable(computed));
  EXPECT_FALSE(is_donatable(passed));
  EXPECT_FALSE(is_donatable(again));
}

RULE_TEST(R4, a_donated_argument_returned_as_it_is_was_still_donated) {
  const Tensor x = vector_of(64);
  const void* const memory = memory_of(x);
  const auto f = jit([](Tensor t) { return t; }, options());
  const Tensor y = f(donatable(x));
  EXPECT_TRUE(x.is_consumed());
  EXPECT_EQ(memory_of(y), memory);
  EXPECT_EQ(y.to_flat_list<float>()[63], 63);
}

RULE_TEST(R4, every_result_is_a_buffer_of_its_own) {
  const Tensor y = vector_of(64);
  const auto f = jit([](Tensor t) { return std::tuple(t, t, t + 0, t * 1); }, options());
  auto [a, b, c, d] = f(y);
  const auto step = jit([](Tensor t) { return t + 1; }, options("step"));
  a = step(donatable(a));  // overwrites a alone
  EXPECT_EQ(y.to_flat_list<float>()[5], 5);
  EXPECT_EQ(b.to_flat_list<float>()[5], 5);
  c = step(donatable(c));
  EXPECT_EQ(d.to_flat_list<float>()[5], 5);
  EXPECT_EQ(a.to_flat_list<float>()[5], 6);
}

RULE_TEST(R12, a_moved_argument_that_nobody_else_holds_is_donated) {
  JitOptions o = options();
  o.donate_moved = true;
  const auto f = jit([](Tensor x) { return x + 1; }, o);
  Tensor x = vector_of(1024);
  const void* const memory = memory_of(x);
  Tensor y = f(std::move(x));
  EXPECT_EQ(memory_of(y), memory);
  EXPECT_EQ(f.last_call().aliased, 1u);
  const Tensor z = f(y);  // an lvalue: never consumed without a mark
  EXPECT_FALSE(y.is_consumed());
  EXPECT_EQ(y.to_flat_list<float>()[1], 2);
  EXPECT_EQ(z.to_flat_list<float>()[1], 3);
}

RULE_TEST(R12, a_moved_argument_with_another_handle_is_left_alone) {
  JitOptions o = options();
  o.donate_moved = true;
  const auto f = jit([](Tensor x) { return x + 1; }, o);
  f(vector_of(8));
  const std::size_t entries = f.cache().entries;
  Tensor x = vector_of(8);
  const Tensor kept = x;
  const Tensor y = f(std::move(x));
  EXPECT_FALSE(kept.is_consumed());
  EXPECT_EQ(kept.to_flat_list<float>()[7], 7);
  EXPECT_EQ(y.to_flat_list<float>()[7], 8);
  EXPECT_EQ(f.last_call().protected_, 1u);
  EXPECT_EQ(f.cache().entries, entries) << "moving is not part of the key";
}

RULE_TEST(R12, of_a_moved_container_only_leaves_that_nobody_else_holds_are_donated) {
  JitOptions o = options();
  o.donate_moved = true;
  const auto f = jit([](Pair s) { return Pair{s.a + 1, s.b * 2}; }, o);
  f(Pair{vector_of(64), vector_of(64)});
  Pair s{vector_of(64), vector_of(64, 1)};
  const Tensor kept = s.b;
  const Pair r = f(std::move(s));
  EXPECT_FALSE(kept.is_consumed());
  EXPECT_EQ(kept.to_flat_list<float>()[63], 64);
  EXPECT_EQ(r.a.to_flat_list<float>()[63], 64);
  EXPECT_EQ(r.b.to_flat_list<float>()[63], 128);
  EXPECT_EQ(f.last_call().protected_, 1u);
  EXPECT_EQ(f.cache().entries, 1u) << "one executable for all";
}

RULE_TEST(R12, a_moved_leaf_that_no_result_can_take_is_freed_as_under_lenient) {
  JitOptions o = options();
  o.donate_moved = true;
  const auto f = jit([](Tensor x) { return sum(x); }, o);
  Tensor x = vector_of(64);
  EXPECT_EQ(f(std::move(x)).to_number<float>(), 2016);
  EXPECT_EQ(f.last_call().freed, 1u);
  const Tensor y = vector_of(64);
  EXPECT_EQ(f(y).to_number<float>(), 2016);
  EXPECT_EQ(f.last_call().freed, 0u);
  EXPECT_EQ(y.to_flat_list<float>()[63], 63);
}

RULE_TEST(R12, a_moved_leaf_whose_memory_is_lent_or_shared_is_left_alone) {
  JitOptions o = options();
  o.donate_moved = true;
  const auto f = jit([](Tensor x) { return x + 1; }, o);
  Tensor held = vector_of(4);
  const auto span = held.host<float>();
  EXPECT_EQ(f(std::move(held)).to_flat_list<float>()[3], 4);
  EXPECT_EQ(span[3], 3);
  Tensor x = iota({4}, {.type = f32});
  const Tensor view = reshape(x, {2, 2});
  EXPECT_EQ(f(std::move(x)).to_flat_list<float>()[3], 4);
  EXPECT_EQ(view.to_flat_list<float>()[3], 3);
  alignas(64) float borrowed[4] = {0, 1, 2, 3};
  EXPECT_EQ(f(from_pointer(borrowed, f32, {4})).to_flat_list<float>()[3], 4);
  EXPECT_EQ(borrowed[3], 3);
}

}  // namespace nx::test
