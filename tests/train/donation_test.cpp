// What donation does to a training loop (R24 to R28), on both compilers.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "donation/rule.h"
#include "sanitized.h"
#include "temporary_folder.h"
#include "train/small.h"

namespace nx::test {
namespace {

using train::Event;
using train::Progress;
using train::RunOptions;

class LoopRule : public Rule {
 protected:
  RunOptions donated(std::int64_t epochs = 1) const {
    RunOptions o;
    o.epochs = epochs;
    o.compiler = GetParam();
    o.donate_state = true;
    return o;
  }
  RunOptions plain(std::int64_t epochs = 1) const {
    RunOptions o = donated(epochs);
    o.donate_state = false;
    return o;
  }
  memory::Stats stats() const { return memory::stats(GetParam()); }
  void reset_peak() const { memory::reset_peak(GetParam()); }

  template <class T>
  T placed(const T& container) const {
    return jit([](T c) { return c; }, options("placed"))(container);
  }
  /// Batches that lie on the device already, so that only the steps use memory there.
  train::Source data(int count) const {
    auto list = batches(count);
    for (auto& batch : list) batch = placed(batch);
    return train::source(list);
  }
};

#define LOOP_RULE(name)                                                               \
  class Donation_##name : public LoopRule {};                                         \
  INSTANTIATE_TEST_SUITE_P(Donation, Donation_##name, testing::Values("host", "xla"), \
                           [](const auto& info) { return std::string(info.param); })

LOOP_RULE(R24);
LOOP_RULE(R25);
LOOP_RULE(R26);
LOOP_RULE(R27);
LOOP_RULE(R28);

// -- R24: the state of model and optimizer, and nothing else ----------------------------------

RULE_TEST(R24, the_loop_donates_model_and_optimizer_state_and_nothing_else) {
  auto loop = small_loop();
  loop.metric("accuracy", nn::accuracy);
  const auto state = loop.run(data(3), donated());
  std::size_t leaves = 0;
  detail::for_each_leaf(state.model_state, [&](const Tensor&) { ++leaves; });
  detail::for_each_leaf(state.optimizer_state, [&](const Tensor&) { ++leaves; });
  const DonationReport report = loop.donation_report();
  EXPECT_EQ(report.rows.size(), leaves);
  for (const DonationRow& row : report.rows) {
    EXPECT_TRUE(row.leaf.find("arg0.model_state.") == 0 ||
                row.leaf.find("arg0.optimizer_state") == 0)
        << row.leaf;
    EXPECT_EQ(row.leaf, "arg0." + row.partner);
  }
  EXPECT_EQ(loop.counters().aliased, 3 * leaves);
}

RULE_TEST(R24, what_the_loop_returns_is_unmarked_and_alive) {
  auto loop = small_loop();
  const auto state = loop.run(data(3), donated(2));
  detail::for_each_leaf(state, [](const Tensor& t) {
    EXPECT_FALSE(is_donatable(t));
    EXPECT_FALSE(t.is_consumed());
    EXPECT_NO_THROW((void)to_binary(t));
  });
}

RULE_TEST(R24, batches_and_metrics_stay_alive) {
  auto loop = small_loop();
  std::vector<train::Batch> list = batches(2);
  for (auto& batch : list) batch = placed(batch);
  Tensor loss;
  on(loop, Event::iteration_completed, [&](const Progress& p) {
    if (loss.has_value()) EXPECT_NO_THROW((void)loss.to_number<float>());
    loss = p.state.metrics.at("loss");
  });
  (void)loop.run(train::source(list), donated(2));
  for (const auto& [x, y] : list) {
    EXPECT_FALSE(x.is_consumed());
    EXPECT_FALSE(y.is_consumed());
  }
}

RULE_TEST(R24, training_gives_the_same_bits_with_and_without_donation) {
  auto plain_loop = small_loop(), donated_loop = small_loop();
  const auto want = plain_loop.run(data(6), plain(3));
  const auto got = donated_loop.run(data(6), donated(3));
  EXPECT_EQ(bits_of(got), bits_of(want));
  RunOptions collected = plain(3);
  collected.force_garbage_collection = true;
  EXPECT_EQ(bits_of(small_loop().run(data(6), collected)), bits_of(want));
}

RULE_TEST(R24, several_steps_in_one_call_carry_the_donated_state) {
  auto loop = small_loop();
  RunOptions several = donated(2);
  several.steps_per_call = 3;
  const auto state = loop.run(data(6), several);
  EXPECT_EQ(loop.counters().calls, 4u);
  for (const DonationRow& row : loop.donation_report().rows)
    EXPECT_NE(row.partner, "freed") << row.leaf;
  EXPECT_EQ(state.seen.to_number<float>(), 24.f);
}

// -- R25: whose state it is -------------------------------------------------------------------

RULE_TEST(R25, an_lvalue_state_is_copied_once_and_an_rvalue_is_consumed) {
  auto loop = small_loop();
  train::StepState state = placed(loop.init(5));
  const auto before = bits_of(state);
  (void)loop.run(data(2), state, donated());
  EXPECT_EQ(bits_of(state), before);
  const Tensor handle = first_kernel(state);
  (void)loop.run(data(2), std::move(state), donated());
  EXPECT_TRUE(handle.is_consumed());
}

RULE_TEST(R25, a_restored_state_has_the_peak_of_a_fresh_one) {
  const TemporaryFolder folder;
  const std::string path = folder / "state.safetensors";
  auto loop = small_loop();
  loop.checkpoint(path);
  (void)loop.run(data(1), plain());
  const auto growth = [&](train::StepState from) {
    auto again = small_loop();
    const auto source = data(2);
    const auto before = static_cast<std::int64_t>(stats().live);
    reset_peak();
    wait(again.run(source, std::move(from), donated()));
    return static_cast<std::int64_t>(stats().peak) - before;
  };
  const auto fresh = growth(small_loop().init(3)), restored = growth(small_loop().restore(path));
  EXPECT_EQ(restored, fresh);
}

RULE_TEST(R25, the_first_step_of_a_restored_state_takes_over_its_memory) {
  const TemporaryFolder folder;
  auto loop = small_loop();
  loop.checkpoint(folder / "s");
  (void)loop.run(data(1), plain());
  auto state = loop.restore(folder / "s");
  const Tensor handle = first_kernel(state);
  const void* const memory = memory_of(handle);
  auto again = small_loop();
  state = again.run(data(1), std::move(state), donated());
  EXPECT_TRUE(handle.is_consumed());
  EXPECT_EQ(again.counters().aliased, again.donation_report().rows.size());
  if (!is_xla()) {  // there the copy on the device is what is taken over
    EXPECT_EQ(memory_of(first_kernel(state)), memory);
  }
}

// -- R26: handlers, and what is left when something throws ------------------------------------

RULE_TEST(R26, a_handler_sees_live_state_and_what_it_keeps_dies_with_the_next_step) {
  for (const std::int64_t k : {1, 2}) {
    auto loop = small_loop();
    Tensor kept, cloned;
    int events = 0;
    on(loop, Event::iteration_completed, [&](const Progress& p) {
      if (kept.has_value()) {
        const auto text = error_of<DonatedError>([&] { (void)kept.to_flat_list<float>(); });
        for (const char* part : {"train_step", "dense_0.kernel", "clone"}) EXPECT_HAS(text, part);
        EXPECT_EQ(cloned.to_flat_list<float>().size(), 48u);
      }
      kept = first_kernel(p.state);
      cloned = clone(kept);
      EXPECT_EQ(kept.to_flat_list<float>().size(), 48u);
      ++events;
    });
    RunOptions o = donated();
    o.steps_per_call = k;
    (void)loop.run(data(4), o);
    EXPECT_EQ(events, 4 / k);
  }
}

RULE_TEST(R26, the_last_state_is_alive_after_a_handler_or_a_reader_throws) {
  for (const bool reader_throws : {false, true}) {
    auto loop = small_loop();
    if (!reader_throws)
      on(loop, Event::iteration_completed, [](const Progress& p) {
        if (p.iteration == 2) throw std::runtime_error("handler");
      });
    const train::Source source = [&](std::int64_t) -> train::Reader {
      return [left = 2]() mutable -> std::optional<train::Batch> {
        if (left-- == 0) throw std::runtime_error("reader");
        return batches(1)[0];
      };
    };
    EXPECT_THROW((void)loop.run(source, donated()), std::runtime_error);
    auto other = small_loop();
    const auto want = other.run(train::source({batches(1)[0], batches(1)[0]}), plain());
    EXPECT_EQ(bits_of(loop.last_state()), bits_of(want));
  }
}

RULE_TEST(R26, the_last_state_is_alive_after_a_step_is_refused) {
  auto loop = small_loop();
  auto list = batches(2);
  list.emplace_back(ones({4, 7}), list[0].second);  // the model takes rows of 6
  EXPECT_THROW((void)loop.run(train::source(list), donated()), ShapeError);
  list.pop_back();
  auto other = small_loop();
  EXPECT_EQ(bits_of(loop.last_state()), bits_of(other.run(train::source(list), plain())));
  EXPECT_NO_THROW((void)loop.run(train::source(list), loop.last_state(), donated()));
}

RULE_TEST(R26, after_a_failed_step_the_state_says_where_it_was_lost) {
  if (is_xla() && kSanitized)
    GTEST_SKIP() << "a sanitizer's allocator ends the process instead of failing";
  auto loop = small_loop();
  loop.metric("too large", [](const Tensor&, const Tensor& p) {
    return broadcast(sum(p), {std::int64_t{1} << 24, std::int64_t{1} << 20});  // 64 TiB
  });
  EXPECT_THROW((void)loop.run(data(2), donated()), BackendError);
  const auto text =
      error_of<DonatedError>([&] { (void)first_kernel(loop.last_state()).to_flat_list<float>(); });
  EXPECT_HAS(text, "lost in failed call #1 of train_step");
  EXPECT_EQ(small_loop().run(data(2), donated()).seen.to_number<float>(), 8.f);
}

// -- R27: evaluation and debugging ------------------------------------------------------------

RULE_TEST(R27, evaluation_leaves_the_state_alive_and_refuses_to_donate) {
  const nn::Model model = small_model();
  const nn::ModelState state = placed(model.init(4));
  const auto before = bits_of(state);
  const auto values =
      train::evaluate(model, state, data(3), {{"accuracy", nn::accuracy}}, GetParam());
  EXPECT_GE(values.at("accuracy"), 0.0);
  EXPECT_EQ(bits_of(state), before);
  auto loop = train::evaluator(model);
  EXPECT_THROW((void)loop.run(data(1), donated()), ArgumentError);
}

RULE_TEST(R27, validation_between_donated_epochs_consumes_nothing) {
  auto loop = small_loop(), plain_loop = small_loop();
  loop.validate(data(2));
  const auto state = loop.run(data(4), donated(3));
  EXPECT_EQ(bits_of(state.model_state), bits_of(plain_loop.run(data(4), plain(3)).model_state));
  EXPECT_EQ(loop.counters().aliased, 12 * loop.donation_report().rows.size());
}

RULE_TEST(R27, debugging_checks_inside_the_graph_and_keeps_donation_on) {
  auto loop = small_loop(), plain_loop = small_loop();
  std::ostringstream out;
  RunOptions debugged = donated(2);
  debugged.debug = &out;
  const auto state = loop.run(data(3), debugged);
  const auto want = plain_loop.run(data(3), plain(2));
  if (is_xla()) {  // compiled separately: LLVM may contract a multiply-add differently (R19)
    const auto got = first_kernel(state).to_flat_list<float>();
    const auto expected = first_kernel(want).to_flat_list<float>();
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6f);
  } else {
    EXPECT_EQ(bits_of(state), bits_of(want));
  }
  for (const DonationRow& row : loop.donation_report().rows)
    EXPECT_NE(row.partner, "freed") << row.leaf;
  EXPECT_EQ(loop.counters().aliased, 6 * loop.donation_report().rows.size());
  auto list = batches(2);
  list[1].first = full({4, 6}, NAN);
  EXPECT_HAS(error_of<ArgumentError>([&] { (void)loop.run(train::source(list), debugged); }),
             "batch 1");
}

// -- R28: memory over time --------------------------------------------------------------------

RULE_TEST(R28, peak_and_live_bytes_stay_the_same_from_epoch_to_epoch) {
  for (const bool donate : {false, true}) {
    auto loop = small_loop();
    const auto source = data(20);
    std::vector<std::size_t> peaks;
    on(loop, Event::epoch_started, [&](const Progress&) { reset_peak(); });
    on(loop, Event::epoch_completed, [&](const Progress& p) {
      wait(p.state);
      peaks.push_back(stats().peak);
    });
    const RunOptions one = donate ? donated(1) : plain(1), four = donate ? donated(4) : plain(4);
    train::StepState state = loop.run(source, placed(loop.init(1)), one);
    const std::size_t live = stats().live;
    peaks.clear();
    state = loop.run(source, std::move(state), four);
    wait(state);
    EXPECT_EQ(stats().live, live) << "donate " << donate;
    ASSERT_EQ(peaks.size(), 4u);
    for (const std::size_t peak : peaks) EXPECT_EQ(peak, peaks[0]) << "donate " << donate;
  }
}

RULE_TEST(R28, what_is_live_after_a_run_is_its_result) {
  const auto source = data(3);
  const auto bytes = [&] {
    wait(small_loop().run(source, donated()));  // caches of the process are warm
    const std::size_t before = stats().live, host_before = memory::stats().live;
    const auto loop = std::make_unique<train::Loop>(small_loop());
    const auto state = std::make_unique<train::StepState>(loop->run(source, donated(2)));
    wait(*state);
    std::size_t result = 0;
    detail::for_each_leaf(*state, [&](const Tensor& t) {
      result += static_cast<std::size_t>(t.size()) * byte_size_of(t.type());
    });
    const std::size_t grown =
        stats().live - before + (is_xla() ? memory::stats().live - host_before : 0);
    return std::pair(grown, result);
  }();
  EXPECT_EQ(bytes.first, bytes.second);
}

RULE_TEST(R28, a_long_run_leaves_live_bytes_flat) {
  // A step of 4 x 4 numbers, a million times on the host.
  const auto step = jit(
      [](Pair s, Tensor x) {
        return Pair{s.a * 0.5f + x, s.b + s.a};
      },
      options("step"));
  Pair state{vector_of(16), vector_of(16, 1)};
  const Tensor x = vector_of(16, 2);
  const int calls = is_xla() ? 20'000 : 1'000'000;
  for (int i = 0; i < 10; ++i) state = step(donatable(state), x);
  wait(state);
  const memory::Stats before = stats();
  reset_peak();
  for (int i = 0; i < calls; ++i) state = step(donatable(state), x);
  wait(state);
  EXPECT_EQ(stats().live, before.live);
  EXPECT_LE(stats().peak, before.live + 1024);
  EXPECT_EQ(step.counters().calls, static_cast<std::uint64_t>(calls) + 10);
  EXPECT_NEAR(state.a.to_flat_list<float>()[0], 4.f, 1e-5f);
}

RULE_TEST(R28, a_long_training_run_leaves_live_bytes_flat) {
  auto loop = small_loop();
  const auto source = data(50);
  train::StepState state = loop.run(source, placed(loop.init(1)), donated(2));
  wait(state);
  const std::size_t live = stats().live, host_live = memory::stats().live;
  state = loop.run(source, std::move(state), donated(is_xla() ? 40 : 400));
  wait(state);
  EXPECT_EQ(stats().live, live);
  EXPECT_EQ(memory::stats().live, host_live);
}

/// Pieces of the address space; a process may have some 65,000 of them.
std::int64_t memory_maps() {
  std::ifstream maps("/proc/self/maps");
  return std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
}

RULE_TEST(R28, thousands_of_jitted_functions_do_not_end_the_process) {
  // Compiling with XLA takes long: there a few show that each gives back what it took.
  const int warm = is_xla() ? 10 : 100, functions = is_xla() ? 40 : 5000;
  const Tensor x = vector_of(4);
  const auto compile_and_call = [&](int i) {
    const auto f = jit([i](Tensor t) { return t * static_cast<float>(i); }, options());
    return f(x).to_flat_list<float>()[1];
  };
  for (int i = 0; i < warm; ++i) ASSERT_EQ(compile_and_call(i), static_cast<float>(i));
  const std::size_t live = stats().live;
  const std::int64_t maps = memory_maps();
  for (int i = 0; i < functions; ++i) ASSERT_EQ(compile_and_call(i), static_cast<float>(i));
  EXPECT_EQ(stats().live, live);
  EXPECT_LT(memory_maps(), maps + functions / 2);
}

}  // namespace
}  // namespace nx::test
