// R9 to R11: who takes over whose memory.
#include <atomic>
#include <algorithm>
#include <cmath>
#include <map>

#include "donation/callback.h"
#include "donation/rule.h"
#include "nx/memory.h"

namespace nx::test {

DONATION_RULE(R9);
DONATION_RULE(R10);
DONATION_RULE(R11);

using Partners = std::map<std::string, std::string>;

Partners partners(const DonationReport& report) {
  Partners all;
  for (const DonationRow& row : report.rows) all[row.leaf] = row.partner;
  return all;
}

constexpr std::int64_t kMany = 1 << 16;

RULE_TEST(R9, a_leaf_and_its_own_successor_meet_by_position_not_by_path) {
  // {a: b*2, b: a+1}: by path both would need a temporary; in place neither does.
  const auto f = jit([](Pair s) { return Pair{s.b * 2, s.a + 1}; }, options());
  const Pair s{vector_of(kMany), vector_of(kMany, 5)};
  const void *const a = memory_of(s.a), *const b = memory_of(s.b);
  const Pair r = f(donatable(s));
  EXPECT_EQ(memory_of(r.a), b);
  EXPECT_EQ(memory_of(r.b), a);
  EXPECT_EQ(r.a.to_flat_list<float>()[3], 16);
  EXPECT_EQ(r.b.to_flat_list<float>()[3], 4);
  EXPECT_EQ(f.donation_report().temporary_bytes, 0);
}

RULE_TEST(R9, a_sum_and_a_double_of_one_leaf_are_both_in_place) {
  const auto f = jit([](Pair s) { return std::pair(s.a + s.b, s.a * 2); }, options());
  const Pair s{vector_of(kMany), vector_of(kMany, 1)};
  const void *const a = memory_of(s.a), *const b = memory_of(s.b);
  const auto [sum, twice] = f(donatable(s));
  EXPECT_EQ(memory_of(twice), a);
  EXPECT_EQ(memory_of(sum), b);
  EXPECT_EQ(sum.to_flat_list<float>()[2], 5);
  EXPECT_EQ(twice.to_flat_list<float>()[2], 4);
}

RULE_TEST(R9, a_sum_and_a_difference_never_cost_a_temporary) {
  const auto f = jit([](Pair s) { return std::pair(s.a + s.b, s.a - s.b); }, options());
  const Pair s{vector_of(kMany), vector_of(kMany, 1)};
  const auto [sum, difference] = f(donatable(s));
  EXPECT_EQ(sum.to_flat_list<float>()[9], 19);
  EXPECT_EQ(difference.to_flat_list<float>()[9], -1);
  const DonationReport report = f.donation_report();
  EXPECT_EQ(report.temporary_bytes, 0) << report.to_string();
  // One loop computes both on the host; otherwise they cannot hold together.
  EXPECT_EQ(f.last_call().aliased, is_xla() ? 1u : 2u) << report.to_string();
}

RULE_TEST(R9, an_auxiliary_output_that_comes_first_does_not_steal_the_partner_of_the_state) {
  const auto f = jit(
      [](Tensor state, Tensor x) { return std::pair(x * 2, state + x); }, options());
  const Tensor state = vector_of(kMany);
  const void* const memory = memory_of(state);
  const auto [aux, next] = f(donatable(state), vector_of(kMany));
  EXPECT_EQ(memory_of(next), memory);
  EXPECT_NE(memory_of(aux), memory);
  EXPECT_EQ(next.to_flat_list<float>()[7], 14);
}

RULE_TEST(R9, scalars_returned_after_same_shaped_outputs_pair_with_their_own_successors) {
  // jax-ml/jax#39625: state (1, 2, 3) returned after three zeros of its shape.
  const auto f = jit(
      [](std::array<Tensor, 3> s, Tensor value) {
        const Tensor zero = value - value;
        return std::pair(std::array{zero, zero, zero}, s);
      },
      options());
  const std::array s{on_device(tensor(1.f)), on_device(tensor(2.f)), on_device(tensor(3.f))};
  const auto memory = std::array{memory_of(s[0]), memory_of(s[1]), memory_of(s[2])};
  const auto [zeros, next] = f(donatable(s), on_device(tensor(4.f)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(zeros[i].to_number<float>(), 0);
    EXPECT_EQ(next[i].to_number<float>(), i + 1);
    EXPECT_EQ(memory_of(next[i]), memory[i]);
  }
}

Leaves3 adam(const Leaves3& s, const Tensor& g) {
  const Tensor m = 0.9f * s.m + 0.1f * g;
  const Tensor v = 0.999f * s.v + 0.001f * g * g;
  return {s.p - 0.001f * m / (sqrt(v) + 1e-8f), m, v};
}

RULE_TEST(R9, adam_is_in_place_in_all_six_orders_of_outputs) {
  std::array<int, 3> order{0, 1, 2};
  do {
    const auto f = jit(
        [&](Leaves3 s, Tensor g) {
          const Leaves3 n = adam(s, g);
          const std::array all{n.p, n.m, n.v};
          return std::array{all[order[0]], all[order[1]], all[order[2]]};
        },
        options());
    const Leaves3 s{vector_of(kMany), vector_of(kMany), vector_of(kMany)};
    const std::array memory{memory_of(s.p), memory_of(s.m), memory_of(s.v)};
    const auto results = f(donatable(s), vector_of(kMany));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(memory_of(results[i]), memory[order[i]]);
    EXPECT_EQ(f.donation_report().temporary_bytes, 0) << f.donation_report().to_string();
  } while (std::next_permutation(order.begin(), order.end()));
}

RULE_TEST(R9, an_output_that_is_not_in_place_is_not_paired_when_it_gains_nothing) {
  const auto f = jit([](Tensor a) { return dot(a, a); }, options());
  const Tensor a = on_device(reshape(iota({64 * 64}, {.type = f32}), {64, 64}));
  const Tensor r = f(donatable(a));
  EXPECT_TRUE(a.is_consumed());
  EXPECT_EQ(f.last_call().aliased, 0u);
  const DonationReport report = f.donation_report();
  ASSERT_EQ(report.rows.size(), 1u);
  EXPECT_EQ(report.rows[0].partner, "freed");
  EXPECT_HAS(report.rows[0].reason, "no gain");
}

RULE_TEST(R9, a_pair_of_other_type_and_equal_width_is_relabelled) {
  const auto f = jit([](Tensor x) { return as_type(x, s32); }, options());
  const Tensor x = vector_of(kMany);
  const void* const memory = memory_of(x);
  const Tensor y = f(donatable(x));
  EXPECT_EQ(y.type(), DType::s32);
  EXPECT_EQ(y.to_flat_list<int>()[100], 100);
  EXPECT_EQ(memory_of(y), memory);
}

RULE_TEST(R9, a_reshaped_result_takes_over_the_leaf) {
  const auto f = jit([](Tensor x) { return reshape(x + 1, {256, 256}); }, options());
  const Tensor x = vector_of(kMany);
  const void* const memory = memory_of(x);
  const Tensor y = f(donatable(x));
  EXPECT_EQ(memory_of(y), memory);
  EXPECT_EQ(y.to_flat_list<float>()[300], 301);
}

RULE_TEST(R9, pairs_are_the_same_on_every_run) {
  Partners first;
  for (int run = 0; run < 5; ++run) {
    const auto f = jit([](Leaves3 s, Tensor g) { return adam(s, g); }, options());
    f(donatable(Leaves3{vector_of(9), vector_of(9), vector_of(9)}), vector_of(9));
    const Partners now = partners(f.donation_report());
    if (run == 0) first = now;
    EXPECT_EQ(now, first);
  }
  EXPECT_EQ(first, (Partners{{"arg0.p", "p"}, {"arg0.m", "m"}, {"arg0.v", "v"}}));
}

std::map<std::string, std::string> kinds(const DonationReport& report) {
  std::map<std::string, std::string> all;
  for (const DonationRow& row : report.rows) all[row.leaf] = row.kind;
  return all;
}
using Kinds = std::map<std::string, std::string>;

/// As Pair, with its members the other way round.
struct Reversed {
  Tensor b, a;
};
NX_CONTAINER(Reversed, b, a)

RULE_TEST(R9, leaves_returned_in_swapped_order_keep_their_memory) {
  const auto f = jit([](Tensor a, Tensor b) { return std::pair(b, a + 1); }, options());
  const Tensor a = vector_of(kMany), b = vector_of(kMany, 1);
  const void *const at_a = memory_of(a), *const at_b = memory_of(b);
  const auto [first, second] = f(donatable(a), donatable(b));
  EXPECT_EQ(memory_of(first), at_b);
  EXPECT_EQ(memory_of(second), at_a);
  const DonationReport report = f.donation_report();
  EXPECT_EQ(kinds(report), (Kinds{{"arg0", "in place"}, {"arg1", "same"}}));
  EXPECT_EQ(report.temporary_bytes, 0);
}

RULE_TEST(R9, a_result_that_is_a_leaf_goes_before_one_that_is_computed_in_place_on_it) {
  // b could also be written over by b + 1, under the same path.
  const auto f = jit([](Pair s) { return Pair{s.b, s.b + 1}; }, lenient());
  const Pair s{vector_of(kMany), vector_of(kMany, 1)};
  const void* const b = memory_of(s.b);
  const Pair r = f(donatable(s));
  EXPECT_EQ(memory_of(r.a), b);
  EXPECT_EQ(kinds(f.donation_report())["arg0.b"], "same");
  EXPECT_EQ(r.b.to_flat_list<float>()[1], 3);
}

RULE_TEST(R9, in_place_results_prefer_the_leaf_of_their_own_path) {
  // By the order of outputs `a` would take over the memory of the leaf b.
  const auto f = jit([](Pair s) { return Reversed{s.a + s.b, s.a * s.b}; }, options());
  const Pair s{vector_of(kMany), vector_of(kMany, 1)};
  const void *const a = memory_of(s.a), *const b = memory_of(s.b);
  const Reversed r = f(donatable(s));
  EXPECT_EQ(memory_of(r.a), a);
  if (!is_xla()) { EXPECT_EQ(memory_of(r.b), b) << "one loop computes both"; }
  EXPECT_EQ(kinds(f.donation_report())["arg0.a"], "in place, same path");
}

RULE_TEST(R9, bare_positions_are_no_evidence_and_ties_go_by_leaf_then_by_output) {
  const auto f = jit([](std::vector<Tensor> s) { return std::vector{s[1] + s[2], s[1] * s[2]}; },
                     lenient());
  const auto make = [&] { return std::vector{vector_of(kMany), vector_of(kMany, 1),
                                             vector_of(kMany, 2)}; };
  f(donatable(make()));
  const DonationReport report = f.donation_report();
  EXPECT_EQ(partners(report)["arg0[1]"], "[0]") << report.to_string();
  for (const DonationRow& row : report.rows) {
    EXPECT_NE(row.kind, "in place, same path") << report.to_string();
    EXPECT_NE(row.kind, "same path") << report.to_string();
  }
}

RULE_TEST(R9, of_leaves_that_fit_alike_the_first_are_taken) {
  const auto f = jit(
      [](std::vector<Tensor> s) { return std::vector{s[0] + s[1] + s[2], s[0] * s[1] * s[2]}; },
      lenient());
  f(donatable(std::vector{vector_of(kMany), vector_of(kMany, 1), vector_of(kMany, 2)}));
  Partners pairs = partners(f.donation_report());
  EXPECT_EQ(pairs["arg0[0]"], "[0]");
  EXPECT_EQ(pairs["arg0[1]"], "[1]");
  EXPECT_EQ(pairs["arg0[2]"], "freed");
}

RULE_TEST(R9, a_leaf_of_as_many_bytes_in_another_width_is_freed_and_strict_is_content) {
  const auto f = jit([](Tensor x) { return as_type(slice(x, {0}, {kMany / 2}), f64); }, options());
  const Tensor x = vector_of(kMany);
  const Tensor y = f(donatable(x));
  EXPECT_TRUE(x.is_consumed());
  EXPECT_EQ(y.to_flat_list<double>()[9], 9);
  EXPECT_EQ(f.last_call().freed, 1u);
  EXPECT_EQ(f.donation_report().rows[0].partner, "freed");
  EXPECT_HAS(f.donation_report().rows[0].reason, "no gain");
}

RULE_TEST(R9, no_pair_raises_the_peak_above_that_without_donation) {
  const auto programs = std::vector<std::vector<Tensor> (*)(const std::vector<Tensor>&)>{
      [](const std::vector<Tensor>& s) { return std::vector{dot(s[0], s[1]), dot(s[1], s[0])}; },
      [](const std::vector<Tensor>& s) { return std::vector{transpose(s[0]) + s[1], s[0] * 2}; },
      [](const std::vector<Tensor>& s) { return std::vector{transpose(s[1]), transpose(s[0])}; },
      [](const std::vector<Tensor>& s) {
        return std::vector{s[0] + sum(s[0]), tanh(s[1]) + sum(s[1], {.axes = {0}})};
      },
  };
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto f = [&](std::vector<Tensor> s) { return programs[i](s); };
    const auto donated = jit(f, options()), plain = jit(f, options());
    const auto make = [&] { return on_device(reshape(vector_of(64 * 64), {64, 64})); };
    const std::vector<Tensor> with = donated(donatable(std::vector{make(), make()}));
    const std::vector<Tensor> without = plain(std::vector{make(), make()});
    const auto peak = [](const DonationReport& r) {
      return r.argument_bytes + r.result_bytes - r.aliased_bytes + r.temporary_bytes;
    };
    EXPECT_LE(peak(donated.donation_report()), peak(plain.donation_report()))
        << "program " << i << "\n" << donated.donation_report().to_string();
    for (std::size_t o = 0; o < 2; ++o)
      EXPECT_NEAR(with[o].to_flat_list<float>()[70], without[o].to_flat_list<float>()[70],
                  1e-5 * std::abs(without[o].to_flat_list<float>()[70]));
  }
}

RULE_TEST(R10, a_leaf_that_no_output_can_take_is_an_error_that_names_it) {
  const auto f = jit([](Tensor x) { return sum(x); }, options("total"));
  const Tensor x = vector_of(4);
  const std::string text = error_of<ArgumentError>([&] { f(donatable(x)); });
  EXPECT_HAS(text, "total");
  EXPECT_HAS(text, "arg0");
  EXPECT_HAS(text, "f32[4]");
  EXPECT_HAS(text, "16 bytes");
  EXPECT_FALSE(x.is_consumed());
  EXPECT_EQ(x.to_flat_list<float>()[3], 3);
}

RULE_TEST(R10, the_error_says_which_outputs_went_to_whom) {
  const auto f = jit([](Pair s) { return s.a + s.b; }, options());
  const std::string text =
      error_of<ArgumentError>([&] { f(donatable(Pair{vector_of(4), vector_of(4)})); });
  EXPECT_HAS(text, "arg0.b");
  EXPECT_HAS(text, "went to `arg0.a`");
}

RULE_TEST(R10, a_leaf_on_which_nothing_depends_is_an_error) {
  const auto f = jit([](Pair s) { return std::pair(s.a + 1, s.a * 2); }, options());
  const std::string text =
      error_of<ArgumentError>([&] { f(donatable(Pair{vector_of(4), vector_of(4)})); });
  EXPECT_HAS(text, "arg0.b");
  EXPECT_HAS(text, "marked for donation but not used by the computation");
}

RULE_TEST(R10, a_zero_sized_leaf_is_consumed_and_never_an_error) {
  const auto f = jit([](Tensor x, Tensor y) { return sum(x) + y; }, options());
  const Tensor x = on_device(full({0}, 1.f));
  EXPECT_EQ(f(donatable(x), 1.f).to_number<float>(), 1);
  EXPECT_TRUE(x.is_consumed());
}

RULE_TEST(R11, lenient_consumes_and_frees_what_strict_would_refuse) {
  const auto f = jit([](Pair s) { return sum(s.a); }, lenient());
  const Pair s{vector_of(kMany), vector_of(kMany)};
  EXPECT_GT(f(donatable(s)).to_number<float>(), 0);
  EXPECT_TRUE(s.a.is_consumed());
  EXPECT_TRUE(s.b.is_consumed());
  EXPECT_EQ(f.last_call().freed, 2u);
  for (const DonationRow& row : f.donation_report().rows) EXPECT_EQ(row.partner, "freed");
}

RULE_TEST(R11, a_leaf_is_freed_as_soon_as_its_last_reader_has_run) {
  if (is_xla() && !register_callback()) GTEST_SKIP() << "the plugin takes no custom calls";
  const auto f = jit([](Tensor x) { return callback(sum(x * x)) + 1; }, lenient());
  const Tensor x = vector_of(kMany);
  const std::size_t before = memory::stats(GetParam()).live;
  std::atomic<std::size_t> inside{before};  // written by a thread of the plugin
  {
    const CallbackHook hook([&](auto) { inside = memory::stats(GetParam()).live; });
    EXPECT_GT(f(donatable(x)).to_number<float>(), 0);
  }
  EXPECT_GT(inside.load(), 0u);
  const std::size_t bytes = kMany * sizeof(float);
  if (!is_xla()) { EXPECT_LT(inside.load(), before - bytes + 4096) << "still there after its reader"; }
  EXPECT_LT(memory::stats(GetParam()).live, before - bytes + 4096);
  EXPECT_HAS(f.donation_report().rows[0].reason, "freed: no result fits");
}

}  // namespace nx::test
