// RunOptions::debug: what it tells, what it finds, and that it changes nothing else.
#include <gtest/gtest.h>

#include <sstream>

#include "donation/rule.h"
#include "train/small.h"

namespace nx::test {
namespace {

using train::Event;
using train::Progress;

TEST(LoopDebug, TellsAboutStateBatchesStepsAndHandlers) {
  auto loop = small_loop();
  on(loop, Event::epoch_completed, [](const Progress&) {});
  std::ostringstream out;
  (void)loop.run(train::source(batches(3)), {.epochs = 2, .steps_per_call = 2, .debug = &out});
  const std::string text = out.str();
  for (const char* part :
       {"model_state.parameters.dense_0.kernel f32[6, 8]", "the state has", "training for 2 epochs",
        "2 steps a call", "epoch 0, batch 1: x f32[4, 6], y s32[4], read in",
        "epoch 0, batch 0: 2 steps in", "compiling included", "epoch 1, batch 2: 1 step in",
        "epoch_completed: 1 handler in", "epoch 1 ends after 3 batches"})
    EXPECT_HAS(text, part);
}

TEST(LoopDebug, SaysNothingWithoutAStream) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  (void)small_loop().run(train::source(batches(2)), {.epochs = 2});
  EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "");
}

TEST(LoopDebug, LeavesNoChecksInTheState) {
  auto loop = small_loop();
  std::ostringstream out;
  EXPECT_TRUE(loop.run(train::source(batches(2)), {.debug = &out}).checks.empty());
}

TEST(LoopDebug, NamesTheFirstStepAndWhatIsNotFiniteInIt) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    auto list = batches(3);
    list[1].first = full({4, 6}, bad);
    auto loop = small_loop();
    std::ostringstream out;
    const auto text =
        error_of<ArgumentError>([&] { (void)loop.run(train::source(list), {.debug = &out}); });
    for (const char* part : {"epoch 0", "batch 1", "in x (24 values), ", "gradient.dense_0.kernel"})
      EXPECT_HAS(text, part);
    EXPECT_HAS(out.str(), "not finite");
    EXPECT_EQ(loop.last_state().seen.to_number<float>(), 8.f) << "the newest live state";
  }
}

TEST(LoopDebug, FindsAGradientThatIsNotFiniteThoughTheLossIs) {
  // The square root of 0 is fine, its derivative is not.
  const train::LossFunction loss = [](const Tensor&, const Tensor& p) { return sqrt(p * 0.0f); };
  auto loop = train::trainer(small_model(), loss, optim::sgd());
  std::ostringstream out;
  const auto text =
      error_of<ArgumentError>([&] { (void)loop.run(train::source(batches(1)), {.debug = &out}); });
  EXPECT_HAS(text, "in gradient.");
}

TEST(LoopDebug, FindsWhatIsNotFiniteInTheMiddleOfACall) {
  auto list = batches(4);
  list[1].first = full({4, 6}, NAN);
  auto loop = small_loop();
  std::ostringstream out;
  EXPECT_HAS(error_of<ArgumentError>([&] {
               (void)loop.run(train::source(list), {.steps_per_call = 4, .debug = &out});
             }),
             "x (24 values)");
}

}  // namespace
}  // namespace nx::test
