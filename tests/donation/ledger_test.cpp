// R20: what the ledger says is what happens.
#include "donation/rule.h"
#include "nx/memory.h"

namespace nx::test {

DONATION_RULE(R20);

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
  const auto update = [](Pair s) { return Pair{tanh(dot(s.a, s.b)), s.b + 1}; };
  const auto square = [&] {
    return on_device(reshape(iota({kCount}, {.type = f32}) * 1e-6f, {256, 256}));
  };
  JitOptions kept = options();
  kept.keep_on_failure = true;
  enum { kPlain, kDonated, kProtected };
  for (const int how : {kPlain, kDonated, kProtected}) {
    const auto f = jit(update, how == kProtected ? kept : options());
    const auto arguments = [&] {
      const Pair s{square(), square()};
      return how == kPlain ? s : donatable(s);
    };
    f(arguments());
    const Pair s = arguments();
    const std::size_t before = memory::stats(GetParam()).live;
    memory::reset_peak(GetParam());
    const Pair r = f(s);
    const DonationReport report = f.donation_report();
    EXPECT_EQ(report.argument_bytes, static_cast<std::int64_t>(2 * kBytes));
    EXPECT_EQ(report.result_bytes, static_cast<std::int64_t>(2 * kBytes));
    // A leaf that this call leaves alone adds its bytes.
    const std::int64_t aliased = how == kProtected ? 0 : report.aliased_bytes;
    EXPECT_EQ(memory::stats(GetParam()).peak - before,
              static_cast<std::size_t>(report.result_bytes - aliased + report.temporary_bytes))
        << "case " << how << "\n" << report.to_string();
    if (how != kPlain) { EXPECT_GT(report.aliased_bytes, 0); }
  }
}

RULE_TEST(R20, a_leaf_that_is_freed_or_donated_from_the_host_leaves_the_ledger) {
  const auto f = jit([](Tensor x) { return sum(x); }, lenient());
  f(donatable(vector_of(kCount)));
  const Tensor x = vector_of(kCount);
  const std::size_t before = memory::stats(GetParam()).live;
  const Tensor total = f(donatable(x));
  EXPECT_EQ(memory::stats(GetParam()).live, before - kBytes + sizeof(float));
  const auto g = jit([](Tensor t) { return t + 1; }, options());
  const Tensor on_host = full({kCount}, 1.f);
  const std::size_t host = memory::stats("host").live, device = memory::stats(GetParam()).live;
  const Tensor y = g(donatable(on_host));
  if (is_xla()) { EXPECT_EQ(memory::stats("host").live, host - kBytes); }
  EXPECT_EQ(memory::stats(GetParam()).live, device + (is_xla() ? kBytes : 0));
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

}  // namespace nx::test
