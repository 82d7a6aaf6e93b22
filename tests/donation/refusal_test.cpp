// R13 to R17: what may not be donated is an error before launch, and nothing is consumed.
#include <chrono>
#include <cstdlib>

#include "donation/rule.h"

namespace nx::test {

DONATION_RULE(R13);
DONATION_RULE(R14);
DONATION_RULE(R15);
DONATION_RULE(R16);
DONATION_RULE(R17);

Pair step_of(const Pair& s) { return {s.a + s.b, s.b * 2}; }

RULE_TEST(R13, one_buffer_in_two_donated_leaves_is_an_error_with_both_paths) {
  const auto f = jit([](Pair s) { return step_of(s); }, options());
  const Tensor zero = vector_of(4);
  const std::string text = error_of<ArgumentError>([&] { f(donatable(Pair{zero, zero})); });
  EXPECT_HAS(text, "arg0.a");
  EXPECT_HAS(text, "arg0.b");
  EXPECT_FALSE(zero.is_consumed());
}

RULE_TEST(R13, one_buffer_donated_and_read_is_an_error_and_read_twice_is_none) {
  const auto f = jit([](Tensor x, Tensor y) { return x + y; }, options());
  const Tensor x = vector_of(4);
  const std::string text = error_of<ArgumentError>([&] { f(donatable(x), x); });
  EXPECT_HAS(text, "arg0");
  EXPECT_HAS(text, "arg1");
  EXPECT_EQ(f(x, x).to_flat_list<float>()[3], 6);
}

RULE_TEST(R14, borrowed_memory_may_not_be_donated_and_owned_memory_may) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  alignas(64) static float borrowed[4] = {1, 2, 3, 4};
  const Tensor lent = from_pointer(borrowed, f32, {4});
  const std::string text = error_of<ArgumentError>([&] { f(donatable(lent)); });
  EXPECT_HAS(text, "borrowed");
  EXPECT_EQ(borrowed[0], 1);

  auto* const owned = static_cast<float*>(std::aligned_alloc(64, 64));
  for (int i = 0; i < 4; ++i) owned[i] = static_cast<float>(i);
  bool deleted = false;
  {
    Tensor successor;
    {
      const Tensor mine = from_pointer(owned, f32, {4}, {.deleter = [&](void*) {
        deleted = true;
        std::free(owned);
      }});
      successor = f(donatable(mine));
      EXPECT_TRUE(mine.is_consumed());
    }
    EXPECT_EQ(successor.to_flat_list<float>()[3], 4);
    if (!is_xla()) { EXPECT_FALSE(deleted) << "the deleter runs when the successor dies"; }
  }
  EXPECT_TRUE(deleted);
}

RULE_TEST(R14, a_held_host_span_is_a_lease_that_the_error_names) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  const Tensor x = vector_of(4);
  {
    const auto span = x.host<float>();
    const std::string text = error_of<ArgumentError>([&] { f(donatable(x)); });
    EXPECT_HAS(text, "host span");
    EXPECT_EQ(span[3], 3);
  }
  EXPECT_EQ(f(donatable(x)).to_flat_list<float>()[3], 4);
}

RULE_TEST(R15, donating_a_tensor_never_changes_one_that_shares_its_memory) {
  const Tensor x = iota({4}, {.type = f32});
  const Tensor view = reshape(x, {2, 2});
  const auto strict = jit([](Tensor t) { return t + 1; }, options());
  const std::string text = error_of<ArgumentError>([&] { strict(donatable(x)); });
  EXPECT_HAS(text, "shares its memory");
  const auto relaxed = jit([](Tensor t) { return t + 1; }, lenient());
  const Tensor y = relaxed(donatable(x));
  EXPECT_EQ(view.to_flat_list<float>(), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(y.to_flat_list<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(relaxed.last_call().copied, 1u);
}

RULE_TEST(R16, donating_a_captured_tensor_in_the_same_call_is_an_error) {
  const Tensor captured = vector_of(4);
  const auto f = jit([&](Tensor x) { return x + captured; }, options());
  const std::string text = error_of<ArgumentError>([&] { f(donatable(captured)); });
  EXPECT_HAS(text, "captured #0");
  EXPECT_EQ(f(vector_of(4)).to_flat_list<float>()[3], 6);
}

RULE_TEST(R16, a_captured_tensor_donated_elsewhere_fails_the_next_call) {
  const Tensor captured = vector_of(4);
  const auto f = jit([&](Tensor x) { return x + captured; }, options());
  f(vector_of(4));
  jit([](Tensor x) { return x * 2; }, options("elsewhere"))(donatable(captured));
  const std::string text = error_of<DonatedError>([&] { f(vector_of(4)); });
  EXPECT_HAS(text, "elsewhere");
}

RULE_TEST(R16, a_captured_number_is_a_copy) {
  float rate = 2;
  const auto f = jit([&](Tensor x) { return x * rate; }, options());
  f(vector_of(4));
  rate = 3;
  EXPECT_EQ(f(vector_of(4)).to_flat_list<float>()[1], 2);
}


RULE_TEST(R17, every_bad_argument_is_refused_with_all_arguments_alive_and_a_good_call_follows) {
  const auto update = [](Tensor a, Tensor b, Tensor c) {
    return std::tuple(a + b, b + c, c + a);
  };
  const Tensor shape = donatable(make_template({64}, f32));
  const auto f = compile(update, options("update"), shape, shape, shape);
  const Tensor gone = vector_of(64);
  jit([](Tensor x) { return x + 1; }, options())(donatable(gone));
  const Tensor freed = vector_of(64);
  deallocate(freed);
  alignas(64) static float lent[64] = {};
  const Tensor held = vector_of(64);
  const auto span = held.host<float>();
  const std::vector<std::pair<const char*, Tensor>> bad = {
      {"another type of the same size", donatable(on_device(iota({64}, {.type = s32})))},
      {"another shape of the same size", donatable(on_device(reshape(iota({64}, {.type = f32}), {8, 8})))},
      {"another size", donatable(vector_of(63))},
      {"no mark", vector_of(64)},
      {"consumed", donatable(gone)},
      {"deallocated", donatable(freed)},
      {"borrowed", donatable(from_pointer(lent, f32, {64}))},
      {"leased", donatable(held)},
      {"empty", Tensor()},
      {"a template", donatable(make_template({64}, f32))},
  };
  for (const auto& [what, spoilt] : bad) {
    for (const int position : {0, 2}) {
      std::array good{vector_of(64), vector_of(64, 1), vector_of(64, 2)};
      std::vector<std::vector<float>> before;
      for (const Tensor& t : good) before.push_back(t.to_flat_list<float>());
      std::array args{donatable(good[0]), donatable(good[1]), donatable(good[2])};
      args[position] = spoilt;
      EXPECT_THROW(f(args[0], args[1], args[2]), Error) << what << " at " << position;
      for (int i = 0; i < 3; ++i) {
        if (i == position) continue;
        EXPECT_EQ(good[i].to_flat_list<float>(), before[i]) << what << " at " << position;
      }
      const auto begin = std::chrono::steady_clock::now();
      const auto [x, y, z] = f(donatable(good[0]), donatable(good[1]), donatable(good[2]));
      EXPECT_EQ(x.to_flat_list<float>()[5], 11) << what;
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << what;
    }
  }
}

RULE_TEST(R17, the_same_buffer_twice_is_refused_with_all_arguments_alive) {
  const auto f = jit([](Tensor a, Tensor b, Tensor c) { return std::tuple(a + b, b + c, c + a); },
                     options());
  const Tensor x = vector_of(64), y = vector_of(64);
  EXPECT_THROW(f(donatable(x), donatable(y), donatable(x)), ArgumentError);
  EXPECT_FALSE(x.is_consumed());
  EXPECT_FALSE(y.is_consumed());
}

}  // namespace nx::test
