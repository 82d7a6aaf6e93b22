// R5 to R8: marks at compile time and at calls, and what a consumed buffer is.
#include <algorithm>
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

constexpr int kRaces = 10000;

/// Two threads that do their parts of many rounds at once: they meet before every fourth, since
/// meeting takes long where other processes have the cores.
template <class First, class Second>
void race(int rounds, First first, Second second) {
  std::atomic<int> arrived{0};
  const auto meet = [&](int round) {
    arrived.fetch_add(1);
    for (int spins = 0; arrived.load() < 2 * (round / 4 + 1); ++spins)
      if (spins > 200) std::this_thread::yield();
  };
  std::thread other([&] {
    for (int round = 0; round < rounds; ++round) {
      if (round % 4 == 0) meet(round);
      second(round);
    }
  });
  for (int round = 0; round < rounds; ++round) {
    if (round % 4 == 0) meet(round);
    first(round);
  }
  other.join();
}

RULE_TEST(R7, of_two_threads_that_donate_one_buffer_exactly_one_runs) {
  // Each donor also brings a buffer of its own, once before and once after the shared one.
  const auto f = jit([](Pair p) { return Pair{p.a + 1, p.b + 2}; }, options());
  const auto make = jit([](Tensor x) { return x + 0; }, options("make"));
  const Tensor zeros = on_device(full({64}, 0.f));
  struct Round {
    Tensor shared, own[2];
    bool ran[2] = {}, others = false;
  };
  constexpr int kBatch = 500;
  for (int batch = 0; batch < kRaces / kBatch; ++batch) {
    std::vector<Round> rounds(kBatch);
    for (Round& r : rounds) r = {make(zeros), {make(zeros), make(zeros)}};
    const auto donor = [&](int who) {
      return [&, who](int round) {
        Round& r = rounds[static_cast<std::size_t>(round)];
        const bool shared_first = (round + who) % 2 == 0;
        try {
          const Pair result = shared_first ? f(donatable(Pair{r.shared, r.own[who]}))
                                           : f(donatable(Pair{r.own[who], r.shared}));
          r.ran[who] = result.a.to_flat_list<float>()[63] == 1 &&
                       result.b.to_flat_list<float>()[63] == 2;
        } catch (const DonatedError&) {
        } catch (const std::exception&) {
          r.others = true;
        }
      };
    };
    race(kBatch, donor(0), donor(1));
    for (const Round& r : rounds) {
      ASSERT_NE(r.ran[0], r.ran[1]) << "exactly one runs";
      ASSERT_FALSE(r.others);
      ASSERT_TRUE(r.shared.is_consumed());
      const int loser = r.ran[0] ? 1 : 0;
      ASSERT_TRUE(r.own[1 - loser].is_consumed());
      ASSERT_FALSE(r.own[loser].is_consumed()) << "the loser has consumed nothing";
      ASSERT_EQ(r.own[loser].to_flat_list<float>()[63], 0);
    }
  }
}

RULE_TEST(R7, a_concurrent_reader_gets_the_old_value_or_an_error_and_never_garbage) {
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  const auto g = jit([](Tensor x) { return x * 2; }, options("reader"));
  const auto make = jit([](Tensor x) { return x + 0; }, options("make"));
  const Tensor values = vector_of(64);
  constexpr int kBatch = 500;
  int read = 0, donated = 0;
  for (int batch = 0; batch < kRaces / kBatch; ++batch) {
    std::vector<Tensor> tensors(kBatch);
    for (Tensor& t : tensors) t = make(values);
    std::vector<int> garbage(kBatch), other(kBatch);
    race(
        kBatch,
        [&](int round) {
          const auto at = static_cast<std::size_t>(round);
          try {
            f(donatable(tensors[at]));
            ++donated;
          } catch (const ArgumentError& error) {  // the reader holds it
            other[at] += std::string(error.what()).find("cannot be donated") == std::string::npos ||
                         tensors[at].is_consumed();
          }
        },
        [&](int round) {
          const auto at = static_cast<std::size_t>(round);
          const int factor = round % 2 ? 1 : 2;
          try {
            const std::vector<float> seen = factor == 1
                                                ? tensors[at].to_flat_list<float>()
                                                : g(tensors[at]).to_flat_list<float>();
            for (int i = 0; i < 64; ++i)
              garbage[at] += seen[static_cast<std::size_t>(i)] != static_cast<float>(factor * i);
            ++read;
          } catch (const DonatedError&) {
          } catch (const std::exception&) {
            ++other[at];
          }
        });
    for (int i = 0; i < kBatch; ++i) {
      const auto at = static_cast<std::size_t>(i);
      ASSERT_EQ(garbage[at], 0) << "round " << i;
      ASSERT_EQ(other[at], 0) << "round " << i;
    }
  }
  EXPECT_GT(read, 0);
  EXPECT_GT(donated, 0);
}

RULE_TEST(R7, work_queued_on_a_buffer_ends_before_it_is_overwritten) {
  const auto slow = jit(
      [](Tensor x) {
        Tensor m = x;
        for (int i = 0; i < 6; ++i) m = dot(m, m) * (1.f / 256);
        return m + x;
      },
      options("slow"));
  const auto overwrite = jit([](Tensor x) { return x * 0 - 7; }, options("overwrite"));
  const auto make = [&] { return on_device(full({256, 256}, 1.f)); };
  slow(make());
  overwrite(donatable(make()));
  for (int round = 0; round < 10; ++round) {
    const Tensor x = make();
    const void* const memory = memory_of(x);
    const Tensor read = slow(x);
    const Tensor written = overwrite(donatable(x));
    EXPECT_EQ(memory_of(written), memory);
    const std::vector<float> seen = read.to_flat_list<float>();
    ASSERT_EQ(std::count(seen.begin(), seen.end(), 2.f), 256 * 256) << "round " << round;
    EXPECT_EQ(written.to_flat_list<float>()[0], -7);
  }
}

RULE_TEST(R7, a_host_tensor_that_a_run_still_reads_may_be_donated_at_once) {
  const auto read = jit([](Tensor x) { return sum(tanh(tanh(tanh(x)))); }, options("read"));
  const auto overwrite = jit([](Tensor x) { return x * 0; }, {.compiler = "host"});
  const Tensor ones = iota({1 << 20}, {.type = f32}) * 0 + 1;
  const float expected = read(ones).to_number<float>();
  for (int i = 0; i < 20; ++i) {
    Tensor x = clone(ones);
    const Tensor total = read(x);
    const Tensor zeros = overwrite(donatable(x));
    EXPECT_TRUE(x.is_consumed());
    EXPECT_EQ(total.to_number<float>(), expected);
    EXPECT_EQ(zeros.to_flat_list<float>()[1 << 19], 0);
  }
}

RULE_TEST(R7, borrowed_memory_may_change_as_soon_as_the_call_has_returned) {
  const auto read = jit([](Tensor x) { return sum(tanh(tanh(tanh(x)))); }, options("read"));
  std::vector<float> values(1 << 20, 1.0f);
  const auto borrowed = [&] { return from_pointer(values.data(), f32, {1 << 20}); };
  const float expected = read(borrowed()).to_number<float>();
  for (int i = 0; i < 20; ++i) {
    const Tensor total = read(borrowed());
    std::fill(values.begin(), values.end(), 7.0f);
    EXPECT_EQ(total.to_number<float>(), expected);
    std::fill(values.begin(), values.end(), 1.0f);
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
