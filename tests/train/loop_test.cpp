// The loop: events in order, filters, metrics, early stop, and what donation does to its state
// (rules R24 to R28).
#include <gtest/gtest.h>

#include <cstring>

#include "nx/nx.h"

namespace nx {
namespace {

using train::Action;
using train::Event;
using train::Progress;

nn::Model small_model() {
  auto m = nn::input("x", {-1, 6});
  m = nn::dense(m, 8, {.activation = "relu"});
  return nn::dense(m, 3);
}

std::vector<train::Batch> batches(int count, std::int64_t rows = 4) {
  std::vector<train::Batch> list;
  for (int i = 0; i < count; ++i) {
    auto x = random::uniform(random::key(i), {.shape = {rows, 6}}).first;
    std::vector<std::int32_t> y;
    for (std::int64_t k = 0; k < rows; ++k) y.push_back(static_cast<std::int32_t>((k + i) % 3));
    list.emplace_back(x, tensor(y));
  }
  return list;
}

train::Loop make_loop() {
  return train::trainer(small_model(), "categorical_cross_entropy", optim::adam());
}

std::vector<std::byte> bits_of(const train::StepState& state) {
  std::vector<std::byte> all;
  detail::for_each_leaf(state, [&](const Tensor& t) {
    const auto bytes = to_binary(t);
    all.insert(all.end(), bytes.begin(), bytes.end());
  });
  return all;
}

std::vector<std::string> events_of(train::Loop& loop, train::RunOptions options, int count) {
  auto names = std::make_shared<std::vector<std::string>>();
  for (int e = 0; e <= static_cast<int>(Event::completed); ++e)
    loop.handle_event(static_cast<Event>(e), [=](const Progress& p) {
      names->push_back(std::string(train::name_of(static_cast<Event>(e))) + " " +
                       std::to_string(p.epoch));
      return Action::proceed;
    });
  (void)loop.run(train::source(batches(count)), options);
  return *names;
}

TEST(Loop, FiresEventsInOrder) {
  auto loop = make_loop();
  const auto names = events_of(loop, {.epochs = 2}, 1);
  const std::vector<std::string> want{
      "started 0",       "epoch_started 0",   "iteration_started 0", "iteration_completed 0",
      "epoch_completed 0", "epoch_started 1", "iteration_started 1", "iteration_completed 1",
      "epoch_completed 1", "completed 2"};
  EXPECT_EQ(names, want);
}

TEST(Loop, StopsAnEpochAfterTheIterationsAskedFor) {
  auto loop = make_loop();
  int steps = 0;
  loop.handle_event(Event::iteration_completed, [&](const Progress&) {
    ++steps;
    return Action::proceed;
  });
  (void)loop.run(train::source(batches(5)), {.epochs = 2, .iterations = 3});
  EXPECT_EQ(steps, 6);
}

TEST(Loop, HaltsAnEpochOrTheWholeRunWhenAHandlerAsks) {
  for (const Action action : {Action::halt_epoch, Action::halt_loop}) {
    auto loop = make_loop();
    int steps = 0, halted = 0, epochs_halted = 0, completed = 0;
    loop.handle_event(Event::iteration_completed, [&](const Progress& p) {
      ++steps;
      return p.iteration == 2 ? action : Action::proceed;
    });
    loop.handle_event(Event::epoch_halted, [&](const Progress&) { ++epochs_halted; return Action::proceed; });
    loop.handle_event(Event::halted, [&](const Progress&) { ++halted; return Action::proceed; });
    loop.handle_event(Event::completed, [&](const Progress&) { ++completed; return Action::proceed; });
    (void)loop.run(train::source(batches(4)), {.epochs = 3});
    EXPECT_EQ(steps, action == Action::halt_loop ? 2 : 6);
    EXPECT_EQ(epochs_halted, action == Action::halt_loop ? 1 : 3);
    EXPECT_EQ(halted, action == Action::halt_loop ? 1 : 0);
    EXPECT_EQ(completed, action == Action::halt_loop ? 0 : 1);
  }
}

TEST(Loop, EveryNFiresAtTheFirstAndEachNthAfterIt) {
  // As recorded from the reference for every: 2 and three iterations in each of two epochs.
  auto loop = make_loop();
  std::vector<std::int64_t> fired;
  loop.handle_event(Event::iteration_completed,
                    [&](const Progress& p) {
                      fired.push_back(p.total_iterations);
                      return Action::proceed;
                    },
                    train::every(2));
  (void)loop.run(train::source(batches(3)), {.epochs = 2});
  EXPECT_EQ(fired, (std::vector<std::int64_t>{1, 3, 5}));
}

TEST(Loop, WeighsMetricsByTheRowsOfABatch) {
  auto list = batches(1, 6);
  list.push_back(batches(2, 2)[1]);
  auto loop = make_loop();
  loop.metric("first", [](const Tensor& y, const Tensor&) { return mean(y * 1.0f); });
  const auto state = loop.run(train::source(list), {.epochs = 1});
  const float a = mean(list[0].second).to_number<float>(), b = mean(list[1].second).to_number<float>();
  EXPECT_NEAR(state.metrics.at("first").to_number<float>(), (6 * a + 2 * b) / 8, 1e-5f);
}

TEST(Loop, StopsEarlyWhenTheMetricNoLongerImproves) {
  // The values of the reference's case: patience 2 ends after the fourth epoch.
  auto loop = make_loop();
  loop.metric("still", [](const Tensor&, const Tensor& p) { return sum(p * 0.0f); });
  loop.early_stop("still", 2);
  int epochs = 0;
  loop.handle_event(Event::epoch_started, [&](const Progress&) { ++epochs; return Action::proceed; });
  (void)loop.run(train::source(batches(2)), {.epochs = 9});
  EXPECT_EQ(epochs, 3);
}

TEST(Loop, RefusesBadOptions) {
  auto loop = make_loop();
  const auto data = train::source(batches(1));
  EXPECT_THROW((void)loop.run(data, {.epochs = -1}), ArgumentError);
  EXPECT_THROW((void)loop.run(data, {.iterations = -2}), ArgumentError);
  EXPECT_THROW((void)loop.run(data, {.steps_per_call = 0}), ArgumentError);
  EXPECT_THROW((void)loop.run(data, {.compiler = "nonesuch"}), Error);
  EXPECT_THROW((void)train::trainer(small_model(), "nonesuch", optim::adam()), ArgumentError);
  EXPECT_THROW((void)train::every(0), ArgumentError);
}

TEST(Loop, RefusesAModelWhoseOutputDoesNotFitTheLoss) {
  auto loop = train::trainer(small_model(), "mean_squared_error", optim::sgd());
  EXPECT_THROW((void)loop.run(train::source(batches(1)), {.epochs = 1}), Error);
}

TEST(Loop, TakesSeveralStepsInOneCallWithTheSameResult) {
  auto one = make_loop(), three = make_loop();
  const auto a = one.run(train::source(batches(7)), {.epochs = 2, .donate_state = true});
  const auto b = three.run(train::source(batches(7)),
                           {.epochs = 2, .donate_state = true, .steps_per_call = 3});
  EXPECT_EQ(bits_of(a), bits_of(b));
}

TEST(DonationR24, TheLoopDonatesModelAndOptimizerStateAndNothingElse) {
  auto loop = make_loop();
  const auto state = loop.run(train::source(batches(3)), {.epochs = 1, .donate_state = true});
  std::size_t leaves = 0;
  detail::for_each_leaf(state.model_state, [&](const Tensor&) { ++leaves; });
  detail::for_each_leaf(state.optimizer_state, [&](const Tensor&) { ++leaves; });
  const DonationReport report = loop.donation_report();
  EXPECT_EQ(report.rows.size(), leaves);
  for (const DonationRow& row : report.rows) {
    EXPECT_TRUE(row.leaf.find("model_state") != std::string::npos ||
                row.leaf.find("optimizer_state") != std::string::npos)
        << row.leaf;
    EXPECT_NE(row.partner, "freed") << row.leaf;
  }
  detail::for_each_leaf(state, [](const Tensor& t) {
    EXPECT_FALSE(is_donatable(t));
    EXPECT_FALSE(t.is_consumed());
  });
}

TEST(DonationR24, TrainingGivesTheSameBitsWithAndWithoutDonation) {
  auto plain = make_loop(), donated = make_loop();
  const auto data = train::source(batches(6));
  EXPECT_EQ(bits_of(plain.run(data, {.epochs = 3})),
            bits_of(donated.run(data, {.epochs = 3, .donate_state = true})));
}

TEST(DonationR25, AnLvalueStateIsCopiedAndAnRvalueIsConsumed) {
  auto loop = make_loop();
  const auto data = train::source(batches(2));
  train::StepState state = loop.init(5);
  const auto before = bits_of(state);
  (void)loop.run(data, state, {.epochs = 1, .donate_state = true});
  EXPECT_EQ(bits_of(state), before);
  const Tensor handle = state.model_state.parameters.at("dense_0").at("kernel").tensor;
  (void)loop.run(data, std::move(state), {.epochs = 1, .donate_state = true});
  EXPECT_TRUE(handle.is_consumed());
}

TEST(DonationR26, AHandlerSeesLiveStateAndWhatItKeepsDiesWithTheNextStep) {
  auto loop = make_loop();
  Tensor kept;
  loop.handle_event(Event::iteration_completed, [&](const Progress& p) {
    if (kept.has_value()) {
      EXPECT_THROW((void)kept.to_flat_list<float>(), DonatedError);
    }
    kept = p.state.model_state.parameters.at("dense_0").at("kernel").tensor;
    EXPECT_EQ(kept.to_flat_list<float>().size(), 48u);
    return Action::proceed;
  });
  (void)loop.run(train::source(batches(3)), {.epochs = 1, .donate_state = true});
}

TEST(DonationR26, LastStateIsAliveAfterAHandlerOrAReaderThrows) {
  for (const bool reader_throws : {false, true}) {
    auto loop = make_loop();
    if (!reader_throws)
      loop.handle_event(Event::iteration_completed, [](const Progress& p) {
        if (p.iteration == 2) throw std::runtime_error("handler");
        return Action::proceed;
      });
    const train::Source data = [&](std::int64_t) -> train::Reader {
      auto left = std::make_shared<int>(2);
      return [=]() -> std::optional<train::Batch> {
        if ((*left)-- == 0) throw std::runtime_error("reader");
        return batches(1)[0];
      };
    };
    EXPECT_THROW((void)loop.run(data, {.epochs = 1, .donate_state = true}), std::runtime_error);
    auto other = make_loop();
    const auto want = other.run(train::source({batches(1)[0], batches(1)[0]}), {.epochs = 1});
    EXPECT_EQ(bits_of(loop.last_state()), bits_of(want));
  }
}

TEST(DonationR27, EvaluationLeavesTheStateAliveAndRefusesToDonate) {
  const nn::Model model = small_model();
  const nn::ModelState state = model.init(4);
  const auto values =
      train::evaluate(model, state, train::source(batches(3)), {{"accuracy", nn::accuracy}});
  EXPECT_GE(values.at("accuracy"), 0.0);
  detail::for_each_leaf(state, [](const Tensor& t) { EXPECT_FALSE(t.is_consumed()); });
  auto loop = train::evaluator(model);
  EXPECT_THROW((void)loop.run(train::source(batches(1)), {.donate_state = true}), ArgumentError);
}

TEST(DonationR28, PeakAndLiveBytesStayTheSameFromEpochToEpoch) {
  for (const bool donate : {false, true}) {
    auto loop = make_loop();
    const auto data = train::source(batches(20));
    std::vector<std::size_t> peaks;
    loop.handle_event(Event::epoch_started, [](const Progress&) {
      memory::reset_peak();
      return Action::proceed;
    });
    loop.handle_event(Event::epoch_completed, [&](const Progress&) {
      peaks.push_back(memory::stats().peak);
      return Action::proceed;
    });
    train::StepState state = loop.init(1);
    state = loop.run(data, std::move(state), {.epochs = 1, .donate_state = donate});
    const std::size_t live = memory::stats().live;
    peaks.clear();
    state = loop.run(data, std::move(state), {.epochs = 4, .donate_state = donate});
    EXPECT_EQ(memory::stats().live, live);
    for (const std::size_t peak : peaks) EXPECT_EQ(peak, peaks[0]) << "donate " << donate;
  }
}

}  // namespace
}  // namespace nx
