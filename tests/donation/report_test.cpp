// R21: what the reports say is what happens, and a compiler that breaks it is found out.
#include <algorithm>
#include <iterator>
#include <random>
#include <sstream>

#include "donation/mutant.h"
#include "donation/rule.h"

namespace nx::test {

DONATION_RULE(R21);

constexpr std::int64_t kCount = 1 << 16;
constexpr std::size_t kBytes = kCount * sizeof(float);

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

RULE_TEST(R21, both_reports_are_printable_as_tables) {
  JitOptions o = lenient();
  o.donate_moved = true;
  const auto f = jit([](Pair s, Tensor x) { return Pair{s.a + x, s.b * sum(x)}; }, o);
  for (int call = 0; call < 3; ++call) {
    const Tensor kept = vector_of(4);
    Pair s = donatable(Pair{vector_of(4), vector_of(4)});
    s.b = kept;  // not marked, and held elsewhere
    f(std::move(s), vector_of(4));
  }
  const auto words = [](const std::string& table) {
    std::istringstream in(table);
    return std::vector<std::string>(std::istream_iterator<std::string>(in), {});
  };
  const CallCounters last = f.last_call();
  EXPECT_EQ(words(last.to_string()),
            (std::vector<std::string>{"calls", "aliased", "freed", "copied", "protected", "1",
                                      std::to_string(last.aliased), "1",
                                      std::to_string(last.copied), "1"}));
  // A plugin may protect all leaves of a call or none.
  if (!is_xla()) { EXPECT_EQ(last.aliased, 1u); }
  EXPECT_EQ(last.aliased + last.copied, 2u);
  EXPECT_EQ(words(f.counters().to_string()).at(5), "3");
  EXPECT_EQ(f.counters().freed, 3u);
  const std::vector<std::string> report = words(f.donation_report().to_string());
  for (const char* word : {"leaf", "partner", "kind", "bytes", "reason", "arg0.a", "arg0.b", "arg1",
                           "saved"})
    EXPECT_EQ(std::count(report.begin(), report.end(), word), 1) << word;
}

/// Where the pointers and the reports of a call differ; empty when they do not.
template <class F>
std::string differences(const F& f, const std::vector<const void*>& memory,
                        const std::vector<Tensor>& after) {
  const DonationReport report = f.donation_report();
  std::string found;
  std::uint32_t aliased = 0;
  for (const DonationRow& row : report.rows) {
    const auto leaf = static_cast<std::size_t>(std::stoi(row.leaf.substr(row.leaf.find('[') + 1)));
    bool reused = false;
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (memory_of(after[i]) != memory[leaf]) continue;
      reused = true;
      if (row.partner != "[" + std::to_string(i) + "]") found += row.leaf + ": another partner\n";
    }
    if (row.partner == "freed") continue;
    if (!reused) found += row.leaf + ": a copy\n";
    ++aliased;
  }
  if (f.last_call().aliased != aliased) found += "the counters differ\n";
  return found.empty() ? found : found + report.to_string();
}

/// Six programs of three leaves; each hands over at least one of them.
std::vector<Tensor> program(unsigned which, const std::vector<Tensor>& s) {
  switch (which) {
    case 0: return {s[1] + 1, s[0] * 2, s[2]};
    case 1: return {s[0] + s[1], s[0] - s[1], s[2] * s[2]};
    case 2: return {s[2], s[1], s[0]};
    case 3: return {tanh(s[0]) + s[1], s[1] * 0.5f, s[2] + s[0]};
    case 4: return {s[0] + s[2], s[0] * 2, s[1] + s[0]};
    default: return {max(s[0], s[1]), min(s[0], s[1]), s[2] - 1};
  }
}
constexpr unsigned kPrograms = 6;

struct Leaves {
  std::vector<Tensor> leaves;
  std::vector<const void*> memory;
  explicit Leaves(std::vector<Tensor> s) : leaves(std::move(s)) {
    for (const Tensor& t : leaves) memory.push_back(memory_of(t));
  }
};

RULE_TEST(R21, the_report_agrees_with_the_pointers_on_random_programs) {
  std::mt19937 random(7);
  for (int number = 0; number < (is_xla() ? 12 : 60); ++number) {
    const unsigned which = random() % kPrograms;
    const auto f = jit(
        [&](std::vector<Tensor> s) -> std::vector<Tensor> { return program(which, s); }, lenient());
    const Leaves run({vector_of(64), vector_of(64, 1), vector_of(64, 2)});
    const std::vector<Tensor> after = f(donatable(run.leaves));
    EXPECT_EQ(differences(f, run.memory, after), "");
  }
}

RULE_TEST(R21, a_compiler_that_drops_an_alias_or_copies_in_silence_is_an_internal_error) {
  for (const Fault fault : {Fault::kDropsAlias, Fault::kCopiesSilently}) {
    for (unsigned which = 0; which < kPrograms; ++which) {
      JitOptions o = lenient("mutant");
      o.compiler = add_mutant(GetParam(), fault);
      const auto f =
          jit([&](std::vector<Tensor> s) -> std::vector<Tensor> { return program(which, s); }, o);
      const Leaves run({vector_of(64), vector_of(64, 1), vector_of(64, 2)});
      const std::string text = error_of<InternalError>([&] { f(donatable(run.leaves)); });
      EXPECT_HAS(text, "mutant");
      EXPECT_HAS(text, "by their addresses");
      EXPECT_HAS(error_of<DonatedError>([&] { run.leaves[0].to_flat_list<float>(); }),
                 "lost in failed call #1 of mutant");
    }
  }
  const auto good = jit([](Tensor x) { return x + 1; }, options());
  EXPECT_EQ(good(donatable(vector_of(64))).to_flat_list<float>()[63], 64);
}

RULE_TEST(R21, a_compiler_that_copies_and_says_so_is_seen_in_the_counters_and_by_the_pointers) {
  for (unsigned which = 0; which < kPrograms; ++which) {
    JitOptions o = lenient("mutant");
    o.compiler = add_mutant(GetParam(), Fault::kCopies);
    const auto f =
        jit([&](std::vector<Tensor> s) -> std::vector<Tensor> { return program(which, s); }, o);
    const Leaves run({vector_of(64), vector_of(64, 1), vector_of(64, 2)});
    const std::vector<Tensor> after = f(donatable(run.leaves));
    EXPECT_NE(differences(f, run.memory, after), "") << "program " << which;
    EXPECT_GE(f.last_call().copied, 1u);
    const std::vector<Tensor> again{vector_of(64), vector_of(64, 1), vector_of(64, 2)};
    const std::vector<Tensor> expected = program(which, again);
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_NEAR(after[i].to_flat_list<float>()[9], expected[i].to_flat_list<float>()[9], 1e-5);
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
