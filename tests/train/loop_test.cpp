// The loop: events in order, filters, metrics, validation, early stop, and its options.
#include <gtest/gtest.h>

#include <sstream>

#include "donation/rule.h"
#include "train/small.h"

namespace nx::test {
namespace {

using train::Action;
using train::Event;
using train::Progress;

train::Source one_batch(const Tensor& x, const Tensor& y) {
  return train::source(std::vector<train::Batch>{{x, y}});
}

std::vector<std::string> events_of(train::Loop& loop, train::RunOptions options, int count) {
  auto names = std::make_shared<std::vector<std::string>>();
  for (int e = 0; e <= static_cast<int>(Event::completed); ++e)
    on(loop, static_cast<Event>(e), [=](const Progress& p) {
      names->push_back(std::string(train::name_of(static_cast<Event>(e))) + " " +
                       std::to_string(p.epoch));
    });
  (void)loop.run(train::source(batches(count)), options);
  return *names;
}

TEST(Loop, FiresEventsInOrder) {
  auto loop = small_loop();
  const auto names = events_of(loop, {.epochs = 2}, 1);
  const std::vector<std::string> want{
      "started 0",         "epoch_started 0", "iteration_started 0", "iteration_completed 0",
      "epoch_completed 0", "epoch_started 1", "iteration_started 1", "iteration_completed 1",
      "epoch_completed 1", "completed 2"};
  EXPECT_EQ(names, want);
}

TEST(Loop, StopsAnEpochAfterTheIterationsAskedFor) {
  for (const std::int64_t k : {1, 2}) {
    auto loop = small_loop();
    std::vector<std::int64_t> done;
    on(loop, Event::iteration_completed, [&](const Progress& p) { done.push_back(p.iteration); });
    (void)loop.run(train::source(batches(5)), {.epochs = 2, .iterations = 3, .steps_per_call = k});
    EXPECT_EQ(done, k == 1 ? (std::vector<std::int64_t>{1, 2, 3, 1, 2, 3})
                           : (std::vector<std::int64_t>{2, 3, 2, 3}));
  }
}

TEST(Loop, HaltsAnEpochOrTheWholeRunWhenAHandlerAsks) {
  for (const Action action : {Action::halt_epoch, Action::halt_loop}) {
    auto loop = small_loop();
    int steps = 0, halted = 0, epochs_halted = 0, completed = 0;  // as in the recorded cases
    loop.handle_event(Event::iteration_completed, [&](const Progress& p) {
      ++steps;
      return p.iteration == 2 ? action : Action::proceed;
    });
    on(loop, Event::epoch_halted, [&](const Progress&) { ++epochs_halted; });
    on(loop, Event::halted, [&](const Progress&) { ++halted; });
    on(loop, Event::completed, [&](const Progress&) { ++completed; });
    (void)loop.run(train::source(batches(4)), {.epochs = 3});
    EXPECT_EQ(steps, action == Action::halt_loop ? 2 : 6);
    EXPECT_EQ(epochs_halted, action == Action::halt_loop ? 0 : 3);
    EXPECT_EQ(halted, action == Action::halt_loop ? 1 : 0);
    EXPECT_EQ(completed, action == Action::halt_loop ? 0 : 1);
  }
}

TEST(Loop, TellsOfAHaltTheEpochAndIterationItHappenedIn) {
  struct Halt {
    Event event;
    std::int64_t epoch, iteration;  // as the handler that halts sees them
    std::int64_t steps;             // of the whole run
  };
  for (const Halt& halt :
       {Halt{Event::started, 0, 0, 0}, Halt{Event::epoch_started, 1, 0, 4},
        Halt{Event::iteration_started, 1, 2, 6}, Halt{Event::iteration_completed, 1, 2, 6},
        Halt{Event::epoch_completed, 1, 4, 8}, Halt{Event::epoch_completed, 2, 4, 12}}) {
    auto loop = small_loop();
    loop.handle_event(halt.event, [&](const Progress& p) {
      const bool here = p.epoch == halt.epoch && p.iteration == halt.iteration;
      return here ? Action::halt_loop : Action::proceed;
    });
    std::vector<std::int64_t> told;
    on(loop, Event::halted, [&](const Progress& p) {
      told = {p.epoch, p.iteration, p.total_iterations};
    });
    const auto names = events_of(loop, {.epochs = 3}, 4);
    const std::string what(train::name_of(halt.event));
    EXPECT_EQ(told, (std::vector<std::int64_t>{halt.epoch, halt.iteration, halt.steps})) << what;
    const auto epoch = " " + std::to_string(halt.epoch);
    ASSERT_GE(names.size(), 2u);
    EXPECT_EQ(names.back(), "halted" + epoch);
    EXPECT_EQ(names[names.size() - 2], what + epoch) << "nothing between the halt and its end";
  }
}

TEST(Loop, HaltsWhenAHandlerOfAHaltedEpochAsks) {
  auto loop = small_loop();
  loop.handle_event(Event::epoch_started, [](const Progress&) { return Action::halt_epoch; });
  loop.handle_event(Event::epoch_halted, [](const Progress& p) {
    return p.epoch == 1 ? Action::halt_loop : Action::proceed;
  });
  const std::vector<std::string> want{"started 0",      "epoch_started 0", "epoch_halted 0",
                                      "epoch_started 1", "epoch_halted 1",  "halted 1"};
  EXPECT_EQ(events_of(loop, {.epochs = 3}, 1), want);
}

TEST(Loop, EveryNFiresAtTheFirstAndEachNthAfterIt) {
  // As recorded from the reference for every: 2 and three iterations in each of two epochs.
  auto loop = small_loop();
  std::vector<std::int64_t> fired;
  loop.handle_event(
      Event::iteration_completed,
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
  auto loop = small_loop();
  loop.metric("first", [](const Tensor& y, const Tensor&) { return mean(y * 1.0f); });
  const auto state = loop.run(train::source(list), {.epochs = 1});
  const float a = mean(list[0].second).to_number<float>(),
              b = mean(list[1].second).to_number<float>();
  EXPECT_NEAR(state.metrics.at("first").to_number<float>(), (6 * a + 2 * b) / 8, 1e-5f);
}

TEST(Loop, MeasuresAMetricThatIsAddedAfterARun) {
  auto loop = small_loop();
  const auto data = train::source(batches(2));
  (void)loop.run(data);
  loop.metric("two", [](const Tensor&, const Tensor& p) { return mean(p * 0.0f + 2); });
  EXPECT_EQ(loop.run(data).metrics.at("two").to_number<float>(), 2.f);
}

// -- progress ---------------------------------------------------------------------------------

std::vector<std::string> logged(train::Loop& loop) {
  testing::internal::CaptureStderr();
  (void)loop.run(train::source(batches(5)), {.epochs = 2});
  std::istringstream text(testing::internal::GetCapturedStderr());
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(Loop, LogsEveryNIterationsAndTheEndOfAnEpoch) {
  auto loop = small_loop();
  loop.metric("accuracy", nn::accuracy).log(3);
  const auto lines = logged(loop);
  ASSERT_EQ(lines.size(), 6u);  // batches 1, 4, 7 and 10 of the run, and two ends
  EXPECT_HAS(lines[0], "epoch 1/2  batch 1  ");
  EXPECT_HAS(lines[1], "epoch 1/2  batch 4  ");
  EXPECT_HAS(lines[2], "epoch 1/2  batch 5  ");
  EXPECT_HAS(lines[5], "epoch 2/2  batch 5  ");
  for (const char* part : {" steps/s  ", "  accuracy 0.", "  loss "}) EXPECT_HAS(lines[5], part);
}

TEST(Loop, LogsOnlyTheEndOfAnEpochWhenAsked) {
  auto loop = small_loop();
  loop.log(0).validate(train::source(batches(1)));
  const auto lines = logged(loop);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_HAS(lines[1], "validation_loss ");
}

// -- validation -------------------------------------------------------------------------------

TEST(Loop, PutsMeasuresOfOtherDataBesideItsOwn) {
  auto loop = small_loop();
  loop.metric("accuracy", nn::accuracy).validate(train::source(batches(3, 5)));
  std::vector<double> seen;
  on(loop, Event::epoch_completed, [&](const Progress& p) {
    const auto alone = train::evaluate(small_model(), p.state.model_state,
                                       train::source(batches(3, 5)), {{"accuracy", nn::accuracy}});
    EXPECT_EQ(p.metric("validation_accuracy"), alone.at("accuracy"));
    seen.push_back(p.metric("validation_loss"));
  });
  on(loop, Event::iteration_completed, [](const Progress& p) {
    EXPECT_EQ(p.state.metrics.count("validation_loss"), 0u) << "left over from the last epoch";
  });
  const auto state = loop.run(train::source(batches(4)), {.epochs = 3, .donate_state = true});
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_NE(seen[0], seen[2]);
  EXPECT_EQ(state.metrics.at("validation_loss").to_number<double>(), seen[2]);
  EXPECT_EQ(state.metrics.count("accuracy"), 1u);
  EXPECT_EQ(loop.counters().calls, 12u) << "validating must not change the trained step";
}

TEST(Loop, GoesOnFromAStateWithMeasuresOfOtherData) {
  auto loop = small_loop(), plain = small_loop();
  loop.validate(train::source(batches(1)));
  const auto data = train::source(batches(2));
  const auto validated = loop.run(data, loop.run(data));
  EXPECT_EQ(bits_of(validated.model_state), bits_of(plain.run(data, plain.run(data)).model_state));
}

TEST(Loop, ComputesItsLossOnOtherDataWithoutDropout) {
  auto model = nn::dense(nn::dropout(nn::input("x", {-1, 6}), {.rate = 0.5}), 3);
  auto loop = train::trainer(model, "categorical_cross_entropy", optim::sgd());
  loop.validate(train::source(batches(2)));
  const auto state = loop.run(train::source(batches(2)));
  const auto loss = [](const Tensor& y, const Tensor& p) {
    return nn::categorical_cross_entropy(
        y, p, {.reduction = "mean", .from_logits = true, .sparse = true});
  };
  const auto alone =
      train::evaluate(model, state.model_state, train::source(batches(2)), {{"l", loss}});
  EXPECT_NEAR(state.metrics.at("validation_loss").to_number<double>(), alone.at("l"), 1e-6);
}

// -- early stop -------------------------------------------------------------------------------

int epochs_until_stopped(const std::vector<double>& values, std::int64_t patience,
                         double min_delta = 0, bool larger_is_better = false) {
  auto loop = small_loop();
  on(loop, Event::epoch_completed,
     [=](const Progress& p) { p.add_metric("given", values[static_cast<std::size_t>(p.epoch)]); });
  loop.early_stop("given", patience, min_delta, larger_is_better);
  int epochs = 0;
  on(loop, Event::epoch_completed, [&](const Progress&) { ++epochs; });
  (void)loop.run(train::source(batches(1)), {.epochs = static_cast<std::int64_t>(values.size())});
  return epochs;
}

TEST(Loop, StopsEarlyAsRecordedFromTheReference) {
  EXPECT_EQ(epochs_until_stopped({3.0, 2.0, 2.5, 2.6, 2.7, 1.0}, 2), 4);
  EXPECT_EQ(epochs_until_stopped({3.0, 2.0, 2.5, 2.6, 2.7, 1.0}, 3), 5);
  EXPECT_EQ(epochs_until_stopped({3.0, 2.0, 2.5, 1.6, 2.7, 2.8}, 2), 6);
  EXPECT_EQ(epochs_until_stopped({3.0, 3.5, 3.6, 3.7, 3.8, 3.9}, 3), 4);
  EXPECT_EQ(epochs_until_stopped({1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, 1), 2);
}

TEST(Loop, StopsEarlyOnAConstantMetricOnlyWhenAskedToSeeItImprove) {
  EXPECT_EQ(epochs_until_stopped({1, 1, 1, 1, 1}, 2), 5);
  EXPECT_EQ(epochs_until_stopped({1, 1, 1, 1, 1}, 2, 1e-3), 3);
  EXPECT_EQ(epochs_until_stopped({1, 2, 3, 4, 5}, 2, 0.5, true), 5);
  EXPECT_EQ(epochs_until_stopped({1, 2, 1, 1, 5}, 2, 0, true), 4);
}

TEST(Loop, NamesTheKnownMetricsWhenAskedForAnother) {
  auto loop = small_loop();
  loop.early_stop("validation_loss");
  const auto text = error_of<ArgumentError>([&] { (void)loop.run(train::source(batches(1))); });
  EXPECT_HAS(text, "loss");
  EXPECT_HAS(text, "validation_loss");
  EXPECT_THROW((void)small_loop().early_stop("loss", 0), ArgumentError);
}

TEST(Loop, AHandlerMayNotReplaceAMetricOfTheStep) {
  auto loop = small_loop();
  on(loop, Event::iteration_completed, [](const Progress& p) { p.add_metric("loss", 1); });
  EXPECT_THROW((void)loop.run(train::source(batches(1))), ArgumentError);
}

// -- options ----------------------------------------------------------------------------------

TEST(Loop, RefusesBadOptions) {
  auto loop = small_loop();
  const auto data = train::source(batches(1));
  EXPECT_THROW((void)loop.run(data, {.epochs = -1}), ArgumentError);
  EXPECT_THROW((void)loop.run(data, {.iterations = -2}), ArgumentError);
  EXPECT_THROW((void)loop.run(data, {.steps_per_call = 0}), ArgumentError);
  EXPECT_HAS(error_of<ArgumentError>([&] { (void)loop.run(data, {.compiler = "nonesuch"}); }),
             "nonesuch");
  EXPECT_HAS(error_of<ArgumentError>(
                 [] { (void)train::trainer(small_model(), "nonesuch", optim::adam()); }),
             "nonesuch");
  EXPECT_THROW((void)train::every(0), ArgumentError);
  EXPECT_THROW((void)small_loop().log(-1), ArgumentError);
  EXPECT_THROW((void)small_loop().metric("loss", nn::accuracy), ArgumentError);
  EXPECT_THROW((void)small_loop().metric("a", nn::accuracy).metric("a", nn::accuracy),
               ArgumentError);
  EXPECT_THROW((void)small_loop().validate(data).validate(data), ArgumentError);
  EXPECT_THROW((void)small_loop().metric("a", nullptr), ArgumentError);
  EXPECT_THROW((void)small_loop().handle_event(Event::started, nullptr), ArgumentError);
  EXPECT_THROW((void)train::trainer(small_model(), train::LossFunction(), optim::sgd()),
               ArgumentError);
  EXPECT_THROW((void)loop.run(train::Source()), ArgumentError);
  EXPECT_EQ(loop.run(data).model_state.parameters.children.size(), 2u) << "after all the errors";
}

TEST(Loop, StrictRefusesABatchOfAnotherShapeThatItOtherwiseCompilesFor) {
  auto list = batches(2, 4);
  list.push_back(batches(1, 3)[0]);
  auto loop = small_loop();
  (void)loop.run(train::source(list));
  const auto text =
      error_of<ArgumentError>([&] { (void)loop.run(train::source(list), {.strict = true}); });
  for (const char* part : {"epoch 0", "batch 2", "f32[4, 6]", "f32[3, 6]"}) EXPECT_HAS(text, part);
  list.pop_back();
  (void)loop.run(train::source(list), {.strict = true, .steps_per_call = 2});
}

TEST(Loop, RefusesNoBatchesAndBatchesWithoutMatchingRows) {
  auto loop = small_loop();
  EXPECT_THROW((void)train::source(std::vector<train::Batch>{}), ArgumentError);
  const train::Source none = [](std::int64_t) {
    return [] { return std::optional<train::Batch>(); };
  };
  EXPECT_HAS(error_of<ArgumentError>([&] { (void)loop.run(none); }), "at least one batch");
  const auto refusal = [&](const Tensor& x, const Tensor& y) {
    return error_of<ArgumentError>([&] { (void)loop.run(one_batch(x, y)); });
  };
  EXPECT_HAS(refusal(ones({4, 6}), zeros({5}, {.type = s32})), "s32[5]");
  EXPECT_HAS(refusal(tensor(1.f), zeros({1}, {.type = s32})), "f32[]");
  EXPECT_HAS(refusal(zeros({0, 6}), zeros({0}, {.type = s32})), "f32[0, 6]");
  EXPECT_HAS(refusal(ones({4, 6}), tensor(1)), "s32[]");
}

TEST(Loop, RefusesAModelWhoseOutputDoesNotFitTheLoss) {
  const auto run = [](const std::string& loss, const Tensor& y) {
    auto loop = train::trainer(small_model(), loss, optim::sgd());
    return error_of<ShapeError>([&] { (void)loop.run(one_batch(ones({4, 6}), y)); });
  };
  const auto squared = run("mean_squared_error", zeros({4, 2}));
  for (const char* part : {"mean_squared_error", "[4, 3]", "[4, 2]"}) EXPECT_HAS(squared, part);
  const auto one_hot = run("categorical_cross_entropy", zeros({4, 2}));
  for (const char* part : {"categorical_cross_entropy", "[4, 3]", "[4, 2]"})
    EXPECT_HAS(one_hot, part);
  auto loop = small_loop();
  EXPECT_THROW((void)loop.run(one_batch(ones({4, 7}), zeros({4}, {.type = s32}))), ShapeError);
}

TEST(Loop, TakesSeveralStepsInOneCallWithTheSameResult) {
  auto one = small_loop(), three = small_loop();
  const auto a = one.run(train::source(batches(7)), {.epochs = 2, .donate_state = true});
  const auto b = three.run(train::source(batches(7)),
                           {.epochs = 2, .donate_state = true, .steps_per_call = 3});
  EXPECT_EQ(bits_of(a), bits_of(b));
}

TEST(Loop, GivesCachedMemoryBackWhenCollectionIsForced) {
  auto loop = small_loop(), plain = small_loop();
  std::vector<std::size_t> cached;
  const auto state = loop.run(train::source(batches(3)), {.force_garbage_collection = true});
  on(loop, Event::iteration_completed,
     [&](const Progress&) { cached.push_back(memory::stats().cached); });
  (void)loop.run(train::source(batches(3, 200)), {.force_garbage_collection = true});
  EXPECT_EQ(cached, (std::vector<std::size_t>{0, 0, 0}));
  EXPECT_EQ(bits_of(state), bits_of(plain.run(train::source(batches(3)))));
}

TEST(Loop, ReadsTheSameBatchesWithAndWithoutAThreadAhead) {
  const data::Labelled set{iota({50, 6}, {.type = u8}), zeros({50}, {.type = u8})};
  const data::Batches data(set, {.batch_size = 8, .seed = 3});
  auto ahead = small_loop(), one_by_one = small_loop();
  EXPECT_EQ(bits_of(ahead.run(train::source(data), {.epochs = 2})),
            bits_of(one_by_one.run(train::source(data, 0), {.epochs = 2})));
  EXPECT_THROW((void)train::source(data, -1), ArgumentError);
}

}  // namespace
}  // namespace nx::test
