// R18, R29, R30: failing calls, forked children, and that no error makes a later call hang.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <thread>

#include "donation/rule.h"

namespace nx::test {

DONATION_RULE(R18);
DONATION_RULE(R29);
DONATION_RULE(R30);

/// More memory than the machine has, asked for inside the run: results that cannot be allocated.
Tensor impossible(const Tensor& x) {
  return broadcast(x, {std::int64_t{1} << 50});
}

RULE_TEST(R18, leaves_of_a_failed_run_are_lost_and_say_in_which_call) {
  if (is_xla()) GTEST_SKIP() << "an allocation of that size ends the plugin's process";
  const auto f = jit([](Tensor s, Tensor x) { return std::pair(s + 1, impossible(x)); },
                     options("too_large"));
  const Tensor s = vector_of(64), x = on_device(tensor(1.f));
  error_of<BackendError>([&] { f(donatable(s), x); });
  const std::string text = error_of<DonatedError>([&] { s.to_flat_list<float>(); });
  EXPECT_HAS(text, "lost in failed call #1 of too_large");
  EXPECT_HAS(text, "failure_test.cpp");
  EXPECT_EQ(x.to_number<float>(), 1);
}

RULE_TEST(R18, keep_on_failure_keeps_the_leaves_alive_through_a_failed_run) {
  if (is_xla()) GTEST_SKIP() << "an allocation of that size ends the plugin's process";
  JitOptions o = options("too_large");
  o.keep_on_failure = true;
  const auto f = jit([](Tensor s, Tensor x) { return std::pair(s + 1, impossible(x)); }, o);
  const Tensor s = vector_of(64), x = on_device(tensor(1.f));
  error_of<BackendError>([&] { f(donatable(s), x); });
  EXPECT_EQ(s.to_flat_list<float>()[63], 63);
}

RULE_TEST(R18, keep_on_failure_consumes_and_gives_the_same_values_when_nothing_fails) {
  JitOptions o = options();
  o.keep_on_failure = true;
  const auto f = jit([](Tensor s) { return s * 3 + 1; }, o);
  const Tensor s = vector_of(64);
  const Tensor r = f(donatable(s));
  EXPECT_TRUE(s.is_consumed());
  EXPECT_EQ(r.to_flat_list<float>()[63], 190);
}

RULE_TEST(R29, a_forked_child_gets_an_error_from_an_xla_client_and_does_not_hang) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  const Tensor x = vector_of(4);
  f(x);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int code = 2;
    try {
      code = f(x).has_value() ? 0 : 3;
    } catch (const BackendError&) {
      code = 1;
    } catch (...) {
    }
    _exit(code);
  }
  int status = 0;
  const auto begin = std::chrono::steady_clock::now();
  while (waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::seconds(20)) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      FAIL() << "the child hangs";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), is_xla() ? 1 : 0);
}

/// Runs `work` on another thread; fails when it takes longer than ten seconds.
template <class F>
void expect_prompt(F&& work, const char* what) {
  auto done = std::async(std::launch::async, std::forward<F>(work));
  ASSERT_EQ(done.wait_for(std::chrono::seconds(10)), std::future_status::ready) << what;
  done.get();
}

RULE_TEST(R30, after_each_error_of_these_rules_a_good_call_returns) {
  const auto f = jit([](Tensor a, Tensor b) { return std::pair(a + b, a - b); }, options());
  const auto good = [&] {
    const auto [x, y] = f(donatable(vector_of(64)), vector_of(64));
    ASSERT_EQ(x.to_flat_list<float>()[63], 126);
    ASSERT_EQ(y.to_flat_list<float>()[63], 0);
  };
  expect_prompt(good, "the first call");
  const Tensor x = vector_of(64);
  const Tensor gone = vector_of(64);
  f(donatable(gone), vector_of(64));
  const std::vector<std::pair<const char*, std::function<void()>>> errors = {
      {"one buffer twice", [&] { f(donatable(x), x); }},
      {"consumed", [&] { f(donatable(gone), x); }},
      {"consumed, read", [&] { f(x, gone); }},
      {"leased", [&] {
         const auto span = x.host<float>();
         f(donatable(x), vector_of(64));
       }},
      {"shapes", [&] { f(donatable(x), vector_of(63)); }},
      {"no taker", [&] { jit([](Tensor t) { return sum(t); }, options())(donatable(x)); }},
      {"empty", [&] { f(donatable(x), Tensor()); }},
  };
  for (const auto& [what, fail] : errors) {
    EXPECT_THROW(fail(), Error) << what;
    EXPECT_FALSE(x.is_consumed()) << what;
    expect_prompt(good, what);
  }
}

RULE_TEST(R30, a_process_may_end_while_a_call_is_in_flight) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto leave = [this](bool after_the_first) {
    const auto f = jit([](Pair s, Tensor x) { return std::pair(Pair{s.a + x, s.b * x}, sum(x)); },
                       options());
    static Pair last{vector_of(65536), vector_of(65536)};  // lives longer than what main owns
    last = f(last, vector_of(65536)).first;
    if (after_the_first) last = f(donatable(last), vector_of(65536)).first;
    std::exit(0);
  };
  for (int k = 0; k < 12; ++k) {
    EXPECT_EXIT(leave(k % 2 == 1), ::testing::ExitedWithCode(0), "");
  }
}

}  // namespace nx::test
