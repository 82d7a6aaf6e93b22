// Checkpoints of the loop: whole at any time, and good to go on from.
#include <gtest/gtest.h>

#include "data/file_size_limit.h"
#include "donation/rule.h"
#include "temporary_folder.h"
#include "train/small.h"

namespace nx::test {
namespace {

using train::Event;
using train::Progress;

class CheckpointTest : public ::testing::Test {
 protected:
  std::string bytes() const { return contents(path_); }
  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "state.safetensors";
};

TEST_F(CheckpointTest, IsWholeAfterEachEpochAndHoldsTheStateOfThatEpoch) {
  auto loop = small_loop();
  loop.checkpoint(path_);
  int epochs = 0;
  on(loop, Event::epoch_completed, [&](const Progress& p) {
    const auto kept = small_loop().restore(path_);
    EXPECT_EQ(bits_of(kept.model_state), bits_of(p.state.model_state));
    EXPECT_EQ(bits_of(kept.optimizer_state), bits_of(p.state.optimizer_state));
    ++epochs;
  });
  (void)loop.run(train::source(batches(3)), {.epochs = 3, .donate_state = true});
  EXPECT_EQ(epochs, 3);
}

TEST_F(CheckpointTest, TrainingGoesOnFromItAsIfItHadNotStopped) {
  const auto data = train::source(batches(4));
  auto whole = small_loop(), first = small_loop(), second = small_loop();
  const auto want = whole.run(data, {.epochs = 4, .donate_state = true});
  first.checkpoint(path_);
  (void)first.run(data, {.epochs = 2, .donate_state = true});
  const auto got = second.run(data, second.restore(path_), {.epochs = 2, .donate_state = true});
  EXPECT_EQ(bits_of(got.model_state), bits_of(want.model_state));
  EXPECT_EQ(bits_of(got.optimizer_state), bits_of(want.optimizer_state));
}

TEST_F(CheckpointTest, AFailedSaveLeavesTheFileAndTheStateWhole) {
  auto loop = small_loop();
  loop.checkpoint(path_);
  (void)loop.run(train::source(batches(2)));
  const std::string before = bytes();
  std::vector<std::byte> live;
  on(loop, Event::iteration_completed,
     [&](const Progress& p) { live = bits_of(p.state.model_state); });
  const auto text = error_of<IoError>([&] {
    const FileSizeLimit limit(500);
    (void)loop.run(train::source(batches(2)), {.donate_state = true});
  });
  EXPECT_HAS(text, path_);
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(bits_of(loop.last_state().model_state), live);
  (void)loop.run(train::source(batches(2)), loop.last_state());
  EXPECT_NE(bytes(), before);
}

TEST_F(CheckpointTest, IsRefusedForAnotherModelOrOptimizer) {
  auto loop = small_loop();
  loop.checkpoint(path_);
  (void)loop.run(train::source(batches(1)));
  const auto other = train::trainer(nn::dense(nn::input("x", {-1, 6}), 3),
                                    "categorical_cross_entropy", optim::adam());
  EXPECT_HAS(error_of<IoError>([&] { (void)other.restore(path_); }), "dense_0.bias");
  const auto sgd = train::trainer(small_model(), "categorical_cross_entropy", optim::sgd());
  EXPECT_HAS(error_of<IoError>([&] { (void)sgd.restore(path_); }), "optimizer_state");
  EXPECT_THROW((void)loop.restore(folder_ / "missing"), IoError);
}

}  // namespace
}  // namespace nx::test
