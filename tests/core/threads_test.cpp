// What a thread leaves behind when it ends.
#include <gtest/gtest.h>
#include <malloc.h>

#include <thread>
#include <vector>

#include "nx/nx.h"

namespace nx {
namespace {

/// Many tensors at a time, on a thread of its own.
void work() {
  std::vector<Tensor> list;
  for (int i = 0; i < 100; ++i) list.push_back(tensor({1.f, 2.f}) + static_cast<float>(i));
}

TEST(Threads, LeaveNothingInMemoryWhenTheyEnd) {
  const auto run = [](int threads) {
    for (int i = 0; i < threads; ++i) std::thread(work).join();
  };
  run(20);
  const std::size_t before = ::mallinfo2().uordblks, live = memory::stats().live;
  run(300);
  EXPECT_LT(::mallinfo2().uordblks, before + 100'000);
  EXPECT_EQ(memory::stats().live, live);
}

Tensor dies_last;

TEST(Threads, MayHoldTensorsThatOutliveThem) {
  Tensor kept;
  std::thread([&] { kept = tensor({1.f, 2.f}) + 1.f; }).join();
  EXPECT_EQ(kept.to_flat_list<float>(), (std::vector<float>{2, 3}));
  std::thread([&] {
    thread_local Tensor of_the_thread;  // dies after the thread's list of bodies, or before it
    of_the_thread = kept + 1.f;
  }).join();
  dies_last = kept;
}

}  // namespace
}  // namespace nx
