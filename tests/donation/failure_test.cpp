// R18, R29, R30: failing calls, forked children, and that no error makes a later call hang.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <random>
#include <thread>

#include "donation/callback.h"
#include "donation/mutant.h"
#include "donation/rule.h"
#include "sanitized.h"

namespace nx::test {

DONATION_RULE(R18);
DONATION_RULE(R29);
DONATION_RULE(R30);

/// A state, and a result whose run fails when `x` has a negative element.
std::pair<Tensor, Tensor> advance(const Tensor& s, const Tensor& x) {
  return {s + 1, callback(x) * 2};
}

/// Skips where the plugin takes no custom calls.
#define NX_NEEDS_CALLBACK() \
  if (is_xla() && !register_callback()) GTEST_SKIP() << "the plugin takes no custom calls"

void expect_lost(const Tensor& leaf, const char* call) {
  EXPECT_TRUE(leaf.is_consumed());
  const std::string text = error_of<DonatedError>([&] { leaf.to_flat_list<float>(); });
  EXPECT_HAS(text, std::string("`arg0` was lost in failed call ") + call);
  EXPECT_HAS(text, "failure_test.cpp");
  EXPECT_HAS(error_of<DonatedError>([&] { (void)(leaf + 1); }), "lost in failed call");
}

RULE_TEST(R18, leaves_of_a_run_that_a_callback_fails_are_lost_and_say_in_which_call) {
  NX_NEEDS_CALLBACK();
  const auto f = jit(advance, options("fails"));
  const Tensor first = vector_of(64), second = vector_of(64), x = vector_of(64, -1);
  EXPECT_HAS(error_of<BackendError>([&] { f(donatable(first), x); }), kRefusal);
  expect_lost(first, "#1 of fails");
  EXPECT_EQ(x.to_flat_list<float>()[1], 0);
  const auto [next, twice] = f(donatable(vector_of(64)), vector_of(64));
  EXPECT_EQ(next.to_flat_list<float>()[63], 64);
  EXPECT_EQ(twice.to_flat_list<float>()[63], 126);
  EXPECT_HAS(error_of<BackendError>([&] { f(donatable(second), x); }), kRefusal);
  expect_lost(second, "#3 of fails");
}

/// More memory than any machine has, asked for inside the run: a result that cannot be allocated.
Tensor impossible(const Tensor& x) {
  return broadcast(x, {std::int64_t{1} << 24, std::int64_t{1} << 20});
}

RULE_TEST(R18, leaves_of_a_run_that_finds_no_memory_are_lost_and_say_in_which_call) {
  if (is_xla() && kSanitized)
    GTEST_SKIP() << "a sanitizer's allocator ends the process instead of failing";
  const auto f = jit([](Tensor s, Tensor x) { return std::pair(s + 1, impossible(x)); },
                     options("too_large"));
  const Tensor s = vector_of(64), x = on_device(tensor(1.f));
  error_of<BackendError>([&] { f(donatable(s), x); });
  expect_lost(s, "#1 of too_large");
  EXPECT_EQ(x.to_number<float>(), 1);
}

/// Zeros that come late, or -`sign` such: on XLA a run that needs them is under way when its call
/// returns.
class Late {
 public:
  Late(JitOptions options, Tensor ones) : ones_(std::move(ones)) {
    work_ = jit(
        [](Tensor m, Tensor sign) {
          for (int i = 0; i < 8; ++i) m = dot(m, m) * (1.f / 512);
          return broadcast(sum(m) * (1.f / (512 * 512)) * sign, {64});
        },
        std::move(options));
    work_(ones_, 0.f);
  }
  Tensor operator()(float sign) const { return work_(ones_, sign); }

 private:
  Tensor ones_;
  std::function<Tensor(Tensor, float)> work_;
};

RULE_TEST(R18, leaves_and_results_of_a_queued_run_that_fails_say_in_which_call) {
  NX_NEEDS_CALLBACK();
  const auto f = jit(advance, options("fails"));
  const auto g = jit([](Tensor t) { return t * 2; }, options("next"));
  const Late late(options("late"), on_device(full({512, 512}, 1.f)));
  g(f(donatable(vector_of(64)), vector_of(64)).first);
  bool was_queued = false;
  const int last_call = is_xla() ? 12 : 3;
  for (int call = 2; call <= last_call && !was_queued; ++call) {
    const std::string name = "#" + std::to_string(call) + " of fails";
    const Tensor s = vector_of(64), x = late(-1);
    Tensor next, twice;
    try {
      std::tie(next, twice) = f(donatable(s), x);
      was_queued = true;
    } catch (const BackendError& error) {
      EXPECT_HAS(error.what(), kRefusal);
    }
    expect_lost(s, name.c_str());  // waits for the run, whose results nobody has asked
    EXPECT_EQ(x.to_flat_list<float>()[63], -1);
    if (!was_queued) continue;
    for (const Tensor& result : {next, twice}) {
      const std::string text = error_of<BackendError>([&] { result.to_flat_list<float>(); });
      EXPECT_HAS(text, "lost in failed call " + name);
      EXPECT_HAS(text, "failure_test.cpp");
      EXPECT_HAS(text, kRefusal);
      EXPECT_HAS(error_of<BackendError>([&] { wait(result); }), "lost in failed call " + name);
      EXPECT_HAS(error_of<BackendError>([&] { (void)(result + 1); }), "lost in failed call");
    }
    // What is computed from a lost result is lost too, and may be donated like anything else.
    const std::string text = error_of<BackendError>([&] { g(next).to_flat_list<float>(); });
    EXPECT_HAS(text, kRefusal);
    error_of<BackendError>([&] { g(donatable(next)).to_flat_list<float>(); });
    EXPECT_TRUE(next.is_consumed());
  }
  if (is_xla()) { EXPECT_TRUE(was_queued) << "every run ended before its call did"; }
  const Tensor last = f(donatable(vector_of(64)), late(1)).first;
  EXPECT_EQ(last.to_flat_list<float>()[63], 64);
}

RULE_TEST(R18, leaves_of_a_queued_run_that_ends_well_say_who_took_them) {
  NX_NEEDS_CALLBACK();
  const auto f = jit(advance, options("works"));
  const Late late(options("late"), on_device(full({512, 512}, 1.f)));
  for (int call = 1; call < 3; ++call) {
    const Tensor s = vector_of(64);
    const auto results = f(donatable(s), late(1));
    const std::string text = error_of<DonatedError>([&] { s.to_flat_list<float>(); });
    EXPECT_HAS(text, "was donated to call #" + std::to_string(call) + " of works");
  }
}

RULE_TEST(R18, keep_on_failure_keeps_the_leaves_alive_through_a_failed_run) {
  NX_NEEDS_CALLBACK();
  JitOptions o = options("kept");
  o.keep_on_failure = true;
  const auto f = jit(advance, o);
  const Late late(options("late"), on_device(full({512, 512}, 1.f)));
  const Tensor s = vector_of(64);
  for (const Tensor& x : {vector_of(64, -1), late(-1), late(-1)}) {
    EXPECT_HAS(error_of<BackendError>([&] { f(donatable(s), x); }), kRefusal);
    EXPECT_FALSE(s.is_consumed());
    EXPECT_EQ(s.to_flat_list<float>()[63], 63);
  }
  const auto [next, twice] = f(donatable(s), late(1));
  EXPECT_TRUE(s.is_consumed());
  EXPECT_EQ(next.to_flat_list<float>()[63], 64);
  EXPECT_EQ(twice.to_flat_list<float>()[63], 2);
}

RULE_TEST(R18, keep_on_failure_keeps_the_leaves_alive_when_there_is_no_memory) {
  if (is_xla() && kSanitized)
    GTEST_SKIP() << "a sanitizer's allocator ends the process instead of failing";
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

/// What `work` gives in a forked child: what it returns, 1 for a BackendError, 2 for another error;
/// -1 when the child hangs.
int in_forked_child(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    int code = 2;
    try {
      code = work();
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
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

RULE_TEST(R29, a_forked_child_gets_an_error_from_an_xla_client_and_does_not_hang) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  const Tensor x = vector_of(4), gone = vector_of(4);
  f(x);
  f(donatable(gone));
  const int refused = is_xla() ? 1 : 0;
  EXPECT_EQ(in_forked_child([&] { return f(x).has_value() ? 0 : 3; }), refused);
  EXPECT_EQ(in_forked_child([&] { return f(donatable(x)).has_value() ? 0 : 3; }), refused);
  EXPECT_EQ(in_forked_child([&] { return x.to_flat_list<float>()[3] == 3 ? 0 : 3; }), refused);
  EXPECT_EQ(in_forked_child([&] {
              // What is known without the client is said as ever.
              try {
                gone.to_flat_list<float>();
              } catch (const DonatedError&) {
                return 0;
              }
              return 3;
            }),
            0);
  EXPECT_EQ(f(x).to_flat_list<float>()[3], 4) << "the parent goes on";
}

RULE_TEST(R29, a_forked_child_of_a_parent_with_threads_does_not_hang) {
  if (kThreadSanitized) GTEST_SKIP() << "the sanitizer lets no such child start a thread";
  const auto f = jit([](Tensor x) { return dot(x, x) + tanh(x); }, options());
  const auto make = [&] { return on_device(full({384, 384}, 1.f)); };
  for (int i = 0; i < 3; ++i) f(make()).to_flat_list<float>();
  const Tensor x = make();
  EXPECT_EQ(in_forked_child([&] { return f(x).to_flat_list<float>()[7] > 384 ? 0 : 3; }),
            is_xla() ? 1 : 0);
  EXPECT_GT(f(x).to_flat_list<float>()[7], 384);
}

/// Runs `work` on another thread; fails when it takes longer than ten seconds.
template <class F>
void expect_prompt(F&& work, const char* what) {
  auto done = std::async(std::launch::async, std::forward<F>(work));
  ASSERT_EQ(done.wait_for(std::chrono::seconds(10)), std::future_status::ready) << what;
  done.get();
}

/// Every error of the rules, by its rule: each leaves `x` alive.
class Errors {
 public:
  using List = std::vector<std::pair<std::string, std::function<void()>>>;

  Errors(const JitOptions& options, Tensor x, Tensor other, bool with_callback)
      : x_(std::move(x)), other_(std::move(other)), options_(options) {
    const auto both = [](Tensor a, Tensor b) { return std::pair(a + b, a - b); };
    const auto f = jit(both, options_);
    const Tensor shape = make_template({64}, f32);
    const auto compiled = compile(both, options_, donatable(shape), shape);
    const Tensor gone = x_ + 0;
    f(donatable(gone), other_);
    const Tensor base = iota({64}, {.type = f32}), view = reshape(base, {8, 8});
    add("R5 a mark is missing", [=, this] { compiled(x_, other_); });
    add("R5 a mark too many", [=, this] { compiled(donatable(x_), donatable(other_)); });
    add("R7 read", [=] { gone.to_flat_list<float>(); });
    add("R7 an operation", [=] { (void)(gone * 2); });
    add("R7 an argument", [=, this] { f(x_, gone); });
    add("R7 donated again", [=, this] { f(donatable(gone), donatable(x_)); });
    add("R10 no taker", [this] {
      jit([](Tensor t) { return sum(t); }, options_)(donatable(x_));
    });
    add("R10 not used", [this] {
      jit([](Tensor, Tensor t) { return t + 1; }, options_)(donatable(x_), other_);
    });
    add("R13 one buffer twice", [=, this] { f(donatable(x_), x_); });
    add("R14 a span is held", [=, this] {
      const auto span = x_.host<float>();
      f(donatable(x_), other_);
    });
    add("R14 borrowed", [=, this] {
      alignas(64) float lent[64] = {};
      f(donatable(x_), donatable(from_pointer(lent, f32, {64})));
    });
    add("R15 shared", [=, this] { f(donatable(x_), donatable(base)); (void)view; });
    add("R16 captured", [this] {
      jit([c = x_](Tensor t) { return t + c; }, options_)(donatable(x_));
    });
    add("R17 another shape", [=, this] { compiled(donatable(x_), on_host_row()); });
    add("R17 empty", [=, this] { f(donatable(x_), Tensor()); });
    add("R17 a template", [=, this] { f(donatable(x_), shape); });
    if (with_callback)
      add("R18 the run fails", [this] {
        const auto fails = jit([](Tensor s, Tensor t) { return std::pair(s + 1, callback(t)); },
                               options_);
        const Tensor lost = x_ + 0, result = fails(donatable(lost), x_ - 100).second;
        result.to_flat_list<float>();
      });
    add("R21 a copy in silence", [this] {
      JitOptions o = options_;
      o.compiler = add_mutant(options_.compiler, Fault::kCopiesSilently);
      jit([](Tensor t) { return t + 1; }, o)(donatable(x_ + 0));
    });
  }
  const List& list() const { return list_; }

 private:
  void add(std::string rule, std::function<void()> fail) {
    list_.emplace_back(std::move(rule), std::move(fail));
  }
  static Tensor on_host_row() { return iota({1, 64}, {.type = f32}); }

  Tensor x_, other_;
  JitOptions options_;
  List list_;
};

RULE_TEST(R30, after_errors_of_these_rules_in_any_order_a_good_call_returns) {
  const auto f = jit([](Tensor a, Tensor b) { return std::pair(a + b, a - b); }, options());
  const auto good = [&] {
    const auto [x, y] = f(donatable(vector_of(64)), vector_of(64));
    ASSERT_EQ(x.to_flat_list<float>()[63], 126);
    ASSERT_EQ(y.to_flat_list<float>()[63], 0);
  };
  expect_prompt(good, "the first call");
  const Tensor x = vector_of(64);
  const Errors errors(options(), x, vector_of(64), !is_xla() || register_callback());
  const auto fail = [&](std::size_t which) {
    const auto& chosen = errors.list()[which];
    const std::string& rule = chosen.first;
    const auto& error = chosen.second;
    expect_prompt([&] { EXPECT_THROW(error(), Error) << rule; }, rule.c_str());
    EXPECT_EQ(x.to_flat_list<float>()[63], 63) << rule;
  };
  for (std::size_t i = 0; i < errors.list().size(); ++i) {
    fail(i);
    expect_prompt(good, errors.list()[i].first.c_str());
  }
  std::mt19937 random(30);
  for (int i = 0; i < 40; ++i) fail(random() % errors.list().size());
  expect_prompt(good, "a sequence of errors");
  EXPECT_EQ(f(donatable(x), vector_of(64)).first.to_flat_list<float>()[63], 126);
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
