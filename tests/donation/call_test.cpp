// R5 to R8: marks at compile time and at calls, and what a consumed buffer is.
#include <atomic>
#include <thread>

#include "donation/rule.h"

namespace nx::test {

DONATION_RULE(R5);
DONATION_RULE(R6);
DONATION_RULE(R7);
DONATION_RULE(R8);

RULE_TEST(R5, a_compiled_function_refuses_marks_that_differ_from_its_templates) {
  const auto update = [](Pair s, Tensor x) { return Pair{s.a + x, s.b * x}; };
  const Pair shape{make_template({4}, f32), make_template({4}, f32)};
  const auto marked = compile(update, options("update"), donatable(shape), make_template({4}, f32));
  const auto plain = compile(update, options("update"), shape, make_template({4}, f32));
  Pair s{vector_of(4), vector_of(4)};
  const Tensor x = vector_of(4);

  std::string text = error_of<ArgumentError>([&] { marked(s, x); });
  EXPECT_HAS(text, "arg0.a");
  EXPECT_HAS(text, "compiled as donatable, called without");
  text = error_of<ArgumentError>([&] { plain(s, donatable(x)); });
  EXPECT_HAS(text, "arg1");
  EXPECT_HAS(text, "compiled as not donatable, called as donatable");
  EXPECT_FALSE(s.a.is_consumed());
  EXPECT_FALSE(x.is_consumed());
  s = marked(donatable(s), x);
  EXPECT_EQ(s.a.to_flat_list<float>(), (std::vector<float>{0, 2, 4, 6}));
}

RULE_TEST(R5, a_compiled_function_says_leaf_by_leaf_which_shapes_and_types_differ) {
  const auto f = compile([](Pair s) { return s.a + s.b; }, options("f"),
                         Pair{make_template({4}, f32), make_template({4}, f32)});
  const std::string text =
      error_of<ShapeError>([&] { f(Pair{vector_of(4), vector_of(5)}); });
  EXPECT_HAS(text, "arg0.b");
  EXPECT_HAS(text, "expected f32[4], got f32[5]");
}

RULE_TEST(R6, the_set_of_marks_is_part_of_the_cache_key) {
  const auto f = jit([](Tensor x, Tensor y) { return std::pair(x + y, x - y); }, options());
  f(vector_of(4), vector_of(4));
  f(donatable(vector_of(4)), vector_of(4));
  f(vector_of(4), donatable(vector_of(4)));
  f(donatable(vector_of(4)), vector_of(4));
  EXPECT_EQ(f.cache().misses, 3u);
  EXPECT_EQ(f.cache().hits, 1u);
}

RULE_TEST(R7, a_consumed_buffer_says_who_took_it_through_every_handle) {
  const Pair s{vector_of(4), vector_of(4)};
  const Tensor other = s.b;
  const auto step = jit([](Pair p) { return Pair{p.a + 1, p.b + 1}; }, options("train_step"));
  step(donatable(s));
  for (const Tensor& t : {s.b, other}) {
    EXPECT_TRUE(t.is_consumed());
    const std::string text = error_of<DonatedError>([&] { t.to_flat_list<float>(); });
    EXPECT_HAS(text, "arg0.b");
    EXPECT_HAS(text, "call #1 of train_step");
    EXPECT_HAS(text, "call_test.cpp");
  }
  error_of<DonatedError>([&] { (void)(other + 1); });
  error_of<DonatedError>([&] { step(Pair{other, s.a}); });
  error_of<DonatedError>([&] { step(donatable(Pair{other, s.a})); });
}

RULE_TEST(R7, printing_a_consumed_tensor_does_not_throw) {
  const Tensor x = vector_of(4);
  jit([](Tensor t) { return t + 1; }, options())(donatable(x));
  const std::string text = inspect(x);
  EXPECT_HAS(text, "f32[4]");
  EXPECT_HAS(text, "consumed by donation");
}

RULE_TEST(R7, of_two_threads_that_donate_one_buffer_exactly_one_runs) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  f(donatable(vector_of(256)));
  const int rounds = is_xla() ? 1000 : 5000;
  for (int round = 0; round < rounds; ++round) {
    const Tensor x = vector_of(256);
    std::atomic<int> ran{0}, refused{0}, others{0};
    const auto donor = [&] {
      try {
        const Tensor y = f(donatable(x));
        if (y.to_flat_list<float>()[255] == 256) ++ran;
      } catch (const DonatedError&) {
        ++refused;
      } catch (const std::exception&) {
        ++others;
      }
    };
    std::thread second(donor);
    donor();
    second.join();
    ASSERT_EQ(ran, 1) << "round " << round;
    ASSERT_EQ(refused, 1);
    ASSERT_EQ(others, 0);
  }
}

RULE_TEST(R7, a_concurrent_reader_gets_the_old_value_or_an_error_and_never_garbage) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  const auto g = jit([](Tensor x) { return x * 2; }, options("reader"));
  f(donatable(vector_of(256)));
  g(vector_of(256));
  const int rounds = is_xla() ? 1000 : 5000;
  for (int round = 0; round < rounds; ++round) {
    const Tensor x = vector_of(256);
    std::atomic<bool> garbage{false};
    std::thread reader([&] {
      try {
        const std::vector<float> values =
            round % 2 ? x.to_flat_list<float>() : g(x).to_flat_list<float>();
        for (int i = 0; i < 256; ++i)
          if (values[i] != static_cast<float>(round % 2 ? i : 2 * i)) garbage = true;
      } catch (const DonatedError&) {
      }
    });
    try {
      f(donatable(x));
    } catch (const ArgumentError& error) {
      EXPECT_HAS(error.what(), "cannot be donated");  // the reader holds it
    }
    reader.join();
    ASSERT_FALSE(garbage) << "round " << round;
  }
}

RULE_TEST(R8, deallocating_a_consumed_tensor_does_nothing_and_says_so) {
  const Tensor x = vector_of(4), y = vector_of(4);
  jit([](Tensor t) { return t + 1; }, options())(donatable(x));
  EXPECT_EQ(deallocate(x), Deallocated::already_deallocated);
  EXPECT_EQ(deallocate(y), Deallocated::freed);
  EXPECT_EQ(deallocate(y), Deallocated::already_deallocated);
  error_of<ArgumentError>([&] { y.to_flat_list<float>(); });
}

}  // namespace nx::test
