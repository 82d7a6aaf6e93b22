// Batches of a data set, and the thread that prepares them.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "nx/nx.h"

namespace nx {
namespace {

data::Labelled numbered(std::int64_t rows) {
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(rows) * 2),
      labels(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    pixels[2 * i] = static_cast<std::uint8_t>(i);
    pixels[2 * i + 1] = 255;
    labels[i] = static_cast<std::uint8_t>(i);
  }
  return {reshape(tensor(pixels), {rows, 2}), tensor(labels)};
}

std::vector<int> labels_of(const data::Batches& batches, std::int64_t epoch) {
  std::vector<int> all;
  for (std::int64_t i = 0; i < batches.count(); ++i)
    for (const int y : batches.get(epoch, i).second.to_flat_list<int>()) all.push_back(y);
  return all;
}

TEST(Batches, GiveEveryExampleOnceWithItsLabel) {
  const data::Batches batches(numbered(10), {.batch_size = 4, .drop_last = false});
  EXPECT_EQ(batches.count(), 3);
  std::set<int> seen;
  for (std::int64_t i = 0; i < 3; ++i) {
    const auto [x, y] = batches.get(0, i);
    EXPECT_EQ(x.type(), DType::f32);
    const auto pixels = x.to_flat_list<float>();
    const auto labels = y.to_flat_list<int>();
    for (std::size_t k = 0; k < labels.size(); ++k) {
      EXPECT_NEAR(pixels[2 * k] * 255, static_cast<float>(labels[k]), 1e-3f);
      EXPECT_NEAR(pixels[2 * k + 1], 1.f, 1e-6f);
      EXPECT_TRUE(seen.insert(labels[k]).second);
    }
  }
  EXPECT_EQ(seen.size(), 10u);
}

TEST(Batches, LeaveOutOrKeepTheLastPart) {
  EXPECT_EQ(data::Batches(numbered(10), {.batch_size = 4}).count(), 2);
  const data::Batches kept(numbered(10), {.batch_size = 4, .drop_last = false});
  EXPECT_EQ(kept.get(0, 2).first.shape(), (Shape{2, 2}));
}

TEST(Batches, OrderDependsOnSeedAndEpochAlone) {
  const data::Batches a(numbered(50), {.batch_size = 5, .seed = 7});
  const data::Batches b(numbered(50), {.batch_size = 5, .seed = 7});
  const data::Batches c(numbered(50), {.batch_size = 5, .seed = 8});
  const auto second = labels_of(b, 1);
  EXPECT_EQ(labels_of(a, 0), labels_of(b, 0));
  EXPECT_EQ(labels_of(a, 1), second);
  EXPECT_NE(labels_of(a, 0), labels_of(a, 1));
  EXPECT_NE(labels_of(a, 0), labels_of(c, 0));
  const data::Batches plain(numbered(50), {.batch_size = 5, .shuffle = false});
  std::vector<int> ascending(50);
  std::iota(ascending.begin(), ascending.end(), 0);
  EXPECT_EQ(labels_of(plain, 3), ascending);
}

TEST(Batches, RefuseNoDataAndABatchLargerThanTheData) {
  const auto refusal = [](const data::Labelled& data, const data::BatchOptions& options) {
    try {
      const data::Batches batches(data, options);
    } catch (const ArgumentError& e) {
      return std::string(e.what());
    }
    ADD_FAILURE() << "expected an ArgumentError";
    return std::string();
  };
  const auto has = [](const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(refusal({zeros({0, 2}, {.type = u8}), zeros({0}, {.type = u8})}, {.batch_size = 1}),
      {"empty", "got u8[0, 2]"});
  has(refusal(numbered(3), {.batch_size = 4}), {"expected a batch size of 1 to 3", "got 4"});
  has(refusal(numbered(3), {.batch_size = 0}), {"expected a batch size of 1 to 3", "got 0"});
  has(refusal({numbered(3).images, numbered(2).labels}, {.batch_size = 1}),
      {"expected 3", "got 2"});
  has(refusal({ones({3, 2}), numbered(3).labels}, {.batch_size = 1}), {"type u8", "got f32[3, 2]"});
}

TEST(Prefetch, RefusesToPrepareNothing) {
  const data::Batches batches(numbered(4), {.batch_size = 2});
  EXPECT_THROW(data::Prefetch(batches, 0, 0), ArgumentError);
}

TEST(Prefetch, GivesTheSameBatchesInTheSameOrder) {
  const data::Batches batches(numbered(40), {.batch_size = 3, .drop_last = false});
  data::Prefetch ahead(batches, 2, 3);
  for (std::int64_t i = 0; i < batches.count(); ++i) {
    const auto got = ahead.next();
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->second.to_flat_list<int>(), batches.get(2, i).second.to_flat_list<int>());
  }
  EXPECT_FALSE(ahead.next().has_value());
  EXPECT_FALSE(ahead.next().has_value());
}

TEST(Prefetch, StopsCleanlyInTheMiddleAndLeavesNoMemory) {
  const data::Batches batches(numbered(200), {.batch_size = 2});
  (void)batches.get(0, 0);
  const std::size_t live = memory::stats().live;
  for (int round = 0; round < 50; ++round) {
    data::Prefetch ahead(batches, round, 4);
    for (int i = 0; i < round % 5; ++i) (void)ahead.next();
  }
  EXPECT_EQ(memory::stats().live, live);
}

}  // namespace
}  // namespace nx
