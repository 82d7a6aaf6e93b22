// Reports about the training loop: memory from epoch to epoch, resuming, metrics, checkpoints that
// fail, options that were ignored elsewhere.
#include <algorithm>
#include <filesystem>

#include "reports/report.h"
#include "temporary_folder.h"

namespace nx::test {

REPORT_SUITE(TrainReports);

using train::Action;
using train::Batch;
using train::Event;
using train::Progress;
using train::StepState;

nn::Model small_model(double dropout = 0) {
  auto m = nn::input("x", {-1, 6});
  m = nn::dense(m, 8, {.activation = "relu"});
  if (dropout > 0) m = nn::dropout(m, {.rate = dropout});
  return nn::dense(m, 3);
}

std::vector<Batch> batches(int count, int first = 0, std::int64_t rows = 4) {
  std::vector<Batch> list;
  for (int i = first; i < first + count; ++i) {
    std::vector<std::int32_t> y;
    for (std::int64_t k = 0; k < rows; ++k) y.push_back(static_cast<std::int32_t>((k + i) % 3));
    list.emplace_back(random::uniform(random::key(i), {.shape = {rows, 6}}).first, tensor(y));
  }
  return list;
}

train::Loop make_loop(double dropout = 0) {
  return train::trainer(small_model(dropout), "categorical_cross_entropy", optim::adam());
}

std::vector<std::byte> bits_of(const StepState& state) {
  std::vector<std::byte> all;
  const auto add = [&](const Tensor& t) {
    const auto bytes = to_binary(t);
    all.insert(all.end(), bytes.begin(), bytes.end());
  };
  detail::for_each_leaf(state.model_state, add);
  detail::for_each_leaf(state.optimizer_state, add);
  return all;
}

TEST_P(TrainReports, the_peak_of_every_epoch_is_that_of_the_first_with_validation_between) {
  for (const bool donate : {false, true}) {
    auto loop = make_loop();
    loop.metric("accuracy", nn::accuracy);
    loop.validate(train::source(batches(5, 100)));
    std::vector<std::size_t> peaks, live;
    loop.handle_event(Event::epoch_started, [&](const Progress&) {
      live.push_back(memory::stats(GetParam()).live);
      memory::reset_peak(GetParam());
      return Action::proceed;
    });
    loop.handle_event(Event::epoch_completed, [&](const Progress&) {
      peaks.push_back(memory::stats(GetParam()).peak);
      return Action::proceed;
    });
    const train::RunOptions o{.epochs = 2, .compiler = GetParam(), .donate_state = donate};
    const auto data = train::source(batches(20));
    StepState state = loop.run(data, o);  // compiles
    peaks.clear();
    live.clear();
    auto five = o;
    five.epochs = 5;
    state = loop.run(data, std::move(state), five);
    for (std::size_t e = 2; e < 5; ++e) {
      EXPECT_EQ(peaks[e], peaks[1]) << "donate " << donate << ", epoch " << e;
      EXPECT_EQ(live[e], live[1]) << "donate " << donate << ", epoch " << e;
    }
  }
}

TEST_P(TrainReports, a_thousand_short_epochs_leave_memory_flat) {
  auto model = nn::dense(nn::input("x", {-1, 1}), 1);
  auto loop = train::trainer(model, "mean_squared_error", optim::sgd());
  const Tensor x = reshape(iota({50}, {.type = f32}) * 0.01f, {50, 1});
  const auto data = train::source(std::vector<Batch>{{x, 2 * x + 1}});
  const train::RunOptions o{
      .epochs = is_xla() ? 200 : 1000, .compiler = GetParam(), .donate_state = true};
  StepState state = loop.run(data, o);
  expect_flat_memory(GetParam(), 1, 1 << 20,
                     [&](int) { state = loop.run(data, std::move(state), o); });
}

TEST_P(TrainReports, a_run_resumed_from_a_checkpoint_is_the_uninterrupted_run_to_the_bit) {
  const test::TemporaryFolder folder;
  for (const bool donate : {false, true}) {
    const auto data = [](std::int64_t shift) -> train::Source {
      return [shift](std::int64_t epoch) {
        return train::source(batches(4, static_cast<int>(10 * (epoch + shift))))(0);
      };
    };
    const train::RunOptions two{
        .epochs = 2, .compiler = GetParam(), .donate_state = donate, .seed = 3};
    auto four = two;
    four.epochs = 4;
    auto whole = make_loop(0.3), before = make_loop(0.3), after = make_loop(0.3);
    const StepState expected = whole.run(data(0), four);
    before.checkpoint(folder / "state.safetensors");
    (void)before.run(data(0), two);
    const StepState got = after.run(data(2), after.restore(folder / "state.safetensors"), two);
    EXPECT_EQ(bits_of(got), bits_of(expected)) << "donate " << donate;
  }
}

TEST_P(TrainReports, the_first_step_after_a_restore_has_the_peak_of_a_fresh_one) {
  const test::TemporaryFolder folder;
  auto loop = make_loop();
  const auto data = train::source(batches(1));
  const train::RunOptions o{.epochs = 1, .compiler = GetParam(), .donate_state = true};
  loop.checkpoint(folder / "state");
  (void)loop.run(data, o);
  const auto peak_of = [&](StepState state) {
    // Onto the device: what was loaded lies on the host, as what init made.
    const std::size_t before = memory::stats(GetParam()).live;
    memory::reset_peak(GetParam());
    state = loop.run(data, std::move(state), o);
    EXPECT_EQ(loop.counters().copied, 0u);
    return memory::stats(GetParam()).peak - before;
  };
  StepState restored = loop.restore(folder / "state");
  detail::for_each_leaf(restored, [](const Tensor& t) { EXPECT_FALSE(t.is_consumed()); });
  const std::size_t resumed = peak_of(std::move(restored));
  EXPECT_EQ(resumed, peak_of(loop.init(8)));
  for (const DonationRow& row : loop.donation_report().rows) EXPECT_NE(row.partner, "freed");
}

TEST_P(TrainReports, a_checkpoint_that_cannot_be_written_stops_the_run_and_keeps_the_old_one) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "kept/state";
  std::filesystem::create_directory(folder / "kept");
  const train::RunOptions o{.epochs = 3, .compiler = GetParam(), .donate_state = true};
  auto good = make_loop();
  good.checkpoint(path);
  (void)good.run(train::source(batches(2)), o);
  const std::string before = test::contents(path);
  ASSERT_FALSE(before.empty());

  auto failing = make_loop();
  failing.checkpoint(folder / "no/such/folder/state");
  int epochs = 0;
  failing.handle_event(Event::epoch_started, [&](const Progress&) {
    ++epochs;
    return Action::proceed;
  });
  const std::string text =
      error_of<IoError>([&] { (void)failing.run(train::source(batches(2)), o); });
  EXPECT_HAS(text, "no/such/folder");
  EXPECT_EQ(epochs, 1) << "the failure surfaces at the end of the epoch";
  EXPECT_FALSE(bits_of(failing.last_state()).empty());
  EXPECT_EQ(test::contents(path), before);
  // And what was trained so far can be saved where there is room.
  save(folder / "elsewhere", failing.last_state());
  EXPECT_FALSE(test::contents(folder / "elsewhere").empty());
}

/// A loop whose loss is the mean of its targets, and batches for it.
train::Loop loop_with_loss_of_targets() {
  return train::trainer(
      nn::dense(nn::input("x", {-1, 2}), 1),
      [](const Tensor& y, const Tensor& p) { return mean(y + p * 0.f); }, optim::sgd());
}
Batch batch(std::int64_t rows, float loss) { return {ones({rows, 2}), full({rows, 1}, loss)}; }

TEST_P(TrainReports, metrics_weigh_batches_by_their_rows) {
  // 4, 4 and 1 rows with losses 1, 1 and 10: 18 / 9, not 12 / 3.
  auto loop = loop_with_loss_of_targets();
  for (const std::int64_t k : {1, 2, 3}) {
    const StepState s =
        loop.run(train::source(std::vector<Batch>{batch(4, 1), batch(4, 1), batch(1, 10)}),
                 {.epochs = 2, .compiler = GetParam(), .steps_per_call = k});
    EXPECT_FLOAT_EQ(s.metrics.at("loss").to_number<float>(), 2.f);
  }
}

TEST_P(TrainReports, the_loss_of_a_run_is_of_its_own_batches_alone) {
  auto loop = loop_with_loss_of_targets();
  const train::RunOptions o{.compiler = GetParam()};
  StepState s = loop.run(train::source(std::vector<Batch>{batch(4, 1)}), o);
  EXPECT_FLOAT_EQ(s.metrics.at("loss").to_number<float>(), 1.f);
  s = loop.run(train::source(std::vector<Batch>{batch(4, 3)}), s, o);
  EXPECT_FLOAT_EQ(s.metrics.at("loss").to_number<float>(), 3.f);
}

TEST_P(TrainReports, patience_is_honoured) {
  for (const std::int64_t patience : {1, 2, 5}) {
    auto loop = make_loop();
    loop.metric("still", [](const Tensor&, const Tensor& p) { return sum(p * 0.f); });
    loop.early_stop("still", patience, 1e-3);
    std::int64_t epochs = 0;
    loop.handle_event(Event::epoch_started, [&](const Progress&) {
      ++epochs;
      return Action::proceed;
    });
    (void)loop.run(train::source(batches(1)), {.epochs = 20, .compiler = GetParam()});
    EXPECT_EQ(epochs, patience + 1);
  }
}

TEST_P(TrainReports, the_time_of_an_epoch_does_not_depend_on_how_many_are_asked_for) {
  auto loop = make_loop();
  loop.handle_event(Event::epoch_completed, [](const Progress&) { return Action::halt_loop; });
  const auto data = train::source(batches(50));
  const auto first_epoch = [&](std::int64_t epochs) {
    return shortest_seconds(5, [&] {
      (void)loop.run(data, {.epochs = epochs, .compiler = GetParam(), .donate_state = true});
    });
  };
  (void)first_epoch(1);
  const double few = first_epoch(100), many = first_epoch(1'000'000);
  EXPECT_LT(many, 3 * few + 1e-3);
}

TEST_P(TrainReports, parameters_held_over_a_run_stay_valid_or_say_what_took_them) {
  auto loop = make_loop();
  const auto data = train::source(batches(2));
  const train::RunOptions o{.compiler = GetParam(), .donate_state = true};
  StepState state = loop.init(5);
  const Tensor held = state.model_state.parameters.at("dense_0").at("kernel").tensor;
  const std::vector<float> values = values_of(held);
  (void)loop.run(data, state, o);  // an lvalue: a copy is trained
  EXPECT_EQ(values_of(held), values);
  (void)loop.run(data, std::move(state), o);
  const std::string text = error_of<DonatedError>([&] { (void)values_of(held); });
  EXPECT_HAS(text, "train_step");
  EXPECT_HAS(text, "dense_0.kernel");
  EXPECT_HAS(text, "clone");
}

TEST_P(TrainReports, a_fresh_state_has_a_buffer_of_its_own_for_every_leaf) {
  for (const optim::Update& update : {optim::adam(), optim::adamw(), optim::sgd({.momentum = 0.9}),
                                      optim::clip().then(optim::trace()).then(optim::scale(-1))}) {
    const auto loop = train::trainer(small_model(0.5), "categorical_cross_entropy", update);
    std::vector<const void*> addresses;
    const StepState state = loop.init(1);
    detail::for_each_leaf(state, [&](const Tensor& t) { addresses.push_back(memory_of(t)); });
    std::sort(addresses.begin(), addresses.end());
    EXPECT_EQ(std::adjacent_find(addresses.begin(), addresses.end()), addresses.end());
  }
}

}  // namespace nx::test
