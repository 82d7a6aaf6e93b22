// R20, R21: what the ledger and the reports say is what happens.
#include <random>

#include "donation/rule.h"
#include "nx/memory.h"

namespace nx::test {

DONATION_RULE(R20);
DONATION_RULE(R21);

constexpr std::int64_t kCount = 1 << 16;
constexpr std::size_t kBytes = kCount * sizeof(float);

RULE_TEST(R20, live_bytes_after_a_call_are_those_before_plus_results_less_consumed) {
  const auto f = jit([](Pair s, Tensor x) { return std::pair(Pair{s.a + x, s.b * x}, sum(x)); },
                     options());
  Pair s{vector_of(kCount), vector_of(kCount)};
  const Tensor x = vector_of(kCount);
  Tensor total;
  std::tie(s, total) = f(donatable(s), x);
  const std::size_t before = memory::stats(GetParam()).live;
  std::tie(s, total) = f(donatable(s), x);
  EXPECT_EQ(memory::stats(GetParam()).live, before);
  const auto [next, sum2] = f(s, x);
  EXPECT_EQ(memory::stats(GetParam()).live, before + 2 * kBytes + sizeof(float));
}

RULE_TEST(R20, the_peak_of_a_call_is_what_the_report_says) {
  const auto f = jit([](Pair s) { return Pair{tanh(dot(s.a, s.b)), s.b + 1}; }, options());
  const auto square = [&] { return on_device(reshape(iota({kCount}, {.type = f32}) * 1e-6f, {256, 256})); };
  f(Pair{square(), square()});
  for (const bool donated : {false, true}) {
    Pair s{square(), square()};
    if (donated) s = donatable(s);
    f(s);
    if (donated) s = donatable(Pair{square(), square()});
    const std::size_t before = memory::stats(GetParam()).live;
    memory::reset_peak(GetParam());
    const Pair r = f(s);
    const DonationReport report = f.donation_report();
    const auto expected = static_cast<std::size_t>(report.result_bytes - report.aliased_bytes +
                                                   report.temporary_bytes);
    EXPECT_LE(memory::stats(GetParam()).peak - before, expected) << report.to_string();
  }
}

RULE_TEST(R20, a_million_calls_leave_the_live_bytes_flat) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  Tensor x = vector_of(16);
  x = f(donatable(x));
  const std::size_t before = memory::stats(GetParam()).live;
  const int calls = is_xla() ? 100000 : 1000000;
  for (int i = 0; i < calls; ++i) x = f(donatable(x));
  EXPECT_EQ(memory::stats(GetParam()).live, before);
  EXPECT_EQ(x.to_flat_list<float>()[0], static_cast<float>(calls + 1));
}

RULE_TEST(R21, the_report_names_each_leaf_its_partner_and_its_bytes) {
  const auto f = jit([](Pair s, Tensor x) { return Pair{s.a + x, s.b * x}; }, options());
  f(donatable(Pair{vector_of(kCount), vector_of(kCount)}), vector_of(kCount));
  const DonationReport report = f.donation_report();
  ASSERT_EQ(report.rows.size(), 2u);
  EXPECT_EQ(report.rows[0].leaf, "arg0.a");
  EXPECT_EQ(report.rows[0].partner, "a");
  EXPECT_EQ(report.rows[1].partner, "b");
  EXPECT_EQ(report.rows[1].bytes, static_cast<std::int64_t>(kBytes));
  EXPECT_EQ(report.saved_bytes(), static_cast<std::int64_t>(2 * kBytes));
  EXPECT_EQ(report.aliased_bytes, static_cast<std::int64_t>(2 * kBytes));
  EXPECT_HAS(report.to_string(), "arg0.b");
}

/// What the pointers say, against what the report says.
template <class F>
void expect_report_matches_pointers(const F& f, const std::vector<const void*>& memory,
                                    const std::vector<Tensor>& after) {
  const DonationReport report = f.donation_report();
  std::uint32_t aliased = 0;
  for (const DonationRow& row : report.rows) {
    const auto leaf = static_cast<std::size_t>(std::stoi(row.leaf.substr(row.leaf.find('[') + 1)));
    bool reused = false;
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (memory_of(after[i]) != memory[leaf]) continue;
      reused = true;
      EXPECT_EQ(row.partner, "[" + std::to_string(i) + "]") << report.to_string();
    }
    if (row.partner != "freed") { EXPECT_TRUE(reused) << "a silent copy of " << row.leaf; }
    aliased += row.partner != "freed";
  }
  EXPECT_EQ(f.last_call().aliased, aliased);
}

RULE_TEST(R21, the_report_agrees_with_the_pointers_on_random_programs) {
  std::mt19937 random(7);
  for (int number = 0; number < (is_xla() ? 10 : 60); ++number) {
    const unsigned shape = random() % 6;
    const auto f = jit(
        [&](std::vector<Tensor> s) -> std::vector<Tensor> {
          switch (shape) {
            case 0: return {s[1] + 1, s[0] * 2, s[2]};
            case 1: return {s[0] + s[1], s[0] - s[1], s[2] * s[2]};
            case 2: return {s[2], s[1], s[0]};
            case 3: return {tanh(s[0]) + s[1], s[1] * 0.5f, s[2] + s[0]};
            case 4: return {s[0] + s[2], s[0] * 2, s[1] + s[0]};
            default: return {max(s[0], s[1]), min(s[0], s[1]), s[2] - 1};
          }
        },
        lenient());
    std::vector<Tensor> s{vector_of(64), vector_of(64, 1), vector_of(64, 2)};
    std::vector<const void*> memory;
    for (const Tensor& t : s) memory.push_back(memory_of(t));
    const std::vector<Tensor> after = f(donatable(s));
    expect_report_matches_pointers(f, memory, after);
  }
}

RULE_TEST(R21, a_protected_call_is_counted_as_such_and_not_as_aliased) {
  JitOptions o = options();
  o.donate_moved = true;
  const auto f = jit([](Tensor x) { return x + 1; }, o);
  const Tensor x = vector_of(64);
  const Tensor y = f(x);
  EXPECT_NE(memory_of(x), memory_of(y));
  EXPECT_EQ(f.last_call().aliased, 0u);
  EXPECT_EQ(f.last_call().protected_, 1u);
}

}  // namespace nx::test
