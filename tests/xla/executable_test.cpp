// Graphs run through the compiler's interface: values, threads, refused arguments.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "xla/with_executable.h"

namespace nx::xla {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class XlaExecutable : public WithExecutable {};

TEST_F(XlaExecutable, a_graph_is_computed_and_its_arguments_stay) {
  const auto executable = compile(swapped());
  const Held a = store({1, 2, 3, 4}), b = store({5, 6, 7, 8});
  const Outcome outcome = call(*executable, 2, {&a, &b});
  EXPECT_THAT(outcome.results[0].values(), ElementsAre(6, 7, 8, 9));
  EXPECT_THAT(outcome.results[1].values(), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(a.values(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(outcome.aliased + outcome.copied + outcome.freed, 0u);
  EXPECT_EQ(a->device(), compiler().device());
  EXPECT_EQ(a->device().platform, 1);
}

// A guard: the plugin runs with subnormal numbers switched off, and no option of it changes that. The
// host compiler keeps them (README, "Two compilers"). When this fails, the two agree at last.
TEST_F(XlaExecutable, numbers_below_the_smallest_normal_one_are_zero) {
  Build sum("sum");
  const Edge x = sum.parameter(DType::f32, {4});
  sum.output(sum.op(kAdd, {x, x}));
  const Held a = store({1e-39f, -2e-39f, 1e-38f, 1e-37f});
  EXPECT_THAT(call(*compile(sum), 1, {&a}).results[0].values(),
              ElementsAre(0, 0, 0, 2e-37f));
}

TEST_F(XlaExecutable, a_function_without_results_or_with_one_twice_runs) {
  Build nothing("nothing");
  nothing.parameter(DType::f32, {4});
  const Held a = store({1, 2, 3, 4});
  EXPECT_THAT(call(*compile(nothing), 0, {&a}).results, IsEmpty());
  Build twice("twice");
  const Edge x = twice.parameter(DType::f32, {4});
  twice.output(x);
  twice.output(x);
  const Outcome outcome = call(*compile(twice), 2, {&a});
  EXPECT_THAT(outcome.results[0].values(), ElementsAre(1, 2, 3, 4));
  EXPECT_NE(outcome.results[0]->identity(), outcome.results[1]->identity());
  EXPECT_NE(outcome.results[0]->identity(), a->identity());
}

TEST_F(XlaExecutable, many_results_come_in_order) {
  Build build("many");
  const Edge x = build.parameter(DType::s32, {});
  Edge y = x;
  for (int i = 0; i < 40; ++i) build.output(y = build.plus_one(y));
  const Held a = store(std::vector<std::int32_t>{0}, DType::s32, {});
  const Outcome outcome = call(*compile(build), 40, {&a});
  for (int i = 0; i < 40; ++i)
    EXPECT_THAT(outcome.results[i].values<std::int32_t>(), ElementsAre(i + 1));
}

TEST_F(XlaExecutable, calls_from_many_threads_do_not_disturb_each_other) {
  Build build("threads");
  build.output(build.plus_one(build.parameter(DType::s32, {16})));
  const auto executable = compile(build, {{0, 0, PairKind::kInPlace}});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const Held a = store(std::vector<std::int32_t>(16, t * 1000 + i), DType::s32, {16});
        const Outcome outcome = call(*executable, 1, {&a}, {InputMode::kDonated});
        wrong += outcome.results[0].values<std::int32_t>() !=
                 std::vector<std::int32_t>(16, t * 1000 + i + 1);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(XlaExecutable, a_program_that_the_plugin_refuses_is_an_error_with_the_functions_name) {
  static const graph::OpRow kUnknown =
      testing::make_row("unknown", testing::first_type, [](const graph::LowerCall& call) {
        return std::vector{call.writer.op("no_such_operation", call.in, call.in[0].type)};
      });
  Build build("strange");
  build.output(build.op(kUnknown, {build.parameter(DType::f32, {4})}));
  EXPECT_THAT(backend_error([&] { compile(build); }), HasSubstr("strange: "));
  EXPECT_NO_THROW(compile(swapped()));
}

TEST_F(XlaExecutable, an_argument_of_another_device_is_refused) {
  class Foreign final : public detail::Storage {
   public:
    Foreign() : Storage({2, 0}, 16, nullptr) {}
    void free_memory() noexcept override {}
  };
  const auto executable = compile(swapped());
  const Held b = store({5, 6, 7, 8});
  Foreign foreign;
  detail::Storage* const in[] = {&foreign, &*b};
  const InputMode modes[] = {InputMode::kRead, InputMode::kRead};
  detail::Storage* out[2] = {};
  CallFrame frame{in, modes, out};
  EXPECT_THROW(executable->run(frame), InternalError);
}

TEST_F(XlaExecutable, identities_tell_buffers_apart) {
  const Held a = store({1, 2, 3, 4}), b = store({1, 2, 3, 4});
  const Held empty = store(std::vector<float>{}, DType::f32, {0});
  const Held empty2 = store(std::vector<float>{}, DType::f32, {0});
  EXPECT_NE(a->identity(), b->identity());
  EXPECT_NE(empty->identity(), empty2->identity());
  EXPECT_EQ(a->identity(), a->buffer().device_pointer());
}

}  // namespace
}  // namespace nx::xla
