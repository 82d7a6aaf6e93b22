// Programs as StableHLO text: compiled, run, asked; and errors with a good call after them.
#include "xla/execute.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "xla/with_plugin.h"

namespace nx::xla {
namespace {

using testing::backend_error;
using ::testing::AllOf;
using ::testing::HasSubstr;

class XlaProgram : public testing::WithPlugin {
 protected:
  Program add_scalars() {
    return compile("%a: tensor<f32>, %b: tensor<f32>", "tensor<f32>",
                   "%0 = stablehlo.add %a, %b : tensor<f32>\n return %0 : tensor<f32>");
  }
  Buffer scalar(float value) { return Buffer::from_host(client(), 0, &value, DType::f32, {}); }
  static float value_of(const Buffer& buffer) {
    float value = 0;
    buffer.read(&value, sizeof value);
    return value;
  }
};

TEST_F(XlaProgram, adds_two_scalars) {
  const Program add = add_scalars();
  const Buffer a = scalar(2), b = scalar(3);
  for (const Completion completion : {Completion::kAsync, Completion::kWait}) {
    const auto results = call(add, {&a, &b}, {.completion = completion});
    EXPECT_EQ(value_of(results.at(0)), 5);
  }
}

TEST_F(XlaProgram, multiplies_matrices) {
  const Program dot = compile(
      "%a: tensor<2x3xf32>, %b: tensor<3x2xf32>", "tensor<2x2xf32>",
      "%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : "
      "(tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>\n return %0 : tensor<2x2xf32>");
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::int64_t dims_a[2] = {2, 3}, dims_b[2] = {3, 2};
  const Buffer a = Buffer::from_host(client(), 0, values.data(), DType::f32, dims_a);
  const Buffer b = Buffer::from_host(client(), 0, values.data(), DType::f32, dims_b);
  const auto results = call(dot, {&a, &b});
  EXPECT_EQ(download(results.at(0)), (std::vector<float>{22, 28, 49, 64}));
}

TEST_F(XlaProgram, knows_the_types_of_its_results) {
  const Program two = compile("%a: tensor<2x3xf32>", "tensor<3x2xf32>, tensor<ui8>",
                              "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> "
                              "tensor<3x2xf32>\n %1 = stablehlo.constant dense<7> : tensor<ui8>\n "
                              "return %0, %1 : tensor<3x2xf32>, tensor<ui8>");
  ASSERT_EQ(two.output_count(), 2u);
  EXPECT_EQ(two.outputs()[0], (graph::TensorType{DType::f32, {3, 2}}));
  EXPECT_EQ(two.outputs()[1], (graph::TensorType{DType::u8, {}}));
}

TEST_F(XlaProgram, a_transposed_result_is_read_row_major) {
  const Program transpose = compile("%a: tensor<2x3xf32>", "tensor<3x2xf32>",
                                    "%0 = stablehlo.transpose %a, dims = [1, 0] : "
                                    "(tensor<2x3xf32>) -> tensor<3x2xf32>\n"
                                    "return %0 : tensor<3x2xf32>");
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::int64_t dims[2] = {2, 3};
  const Buffer a = Buffer::from_host(client(), 0, values.data(), DType::f32, dims);
  const auto results = call(transpose, {&a});
  EXPECT_EQ(download(results.at(0)), (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST_F(XlaProgram, more_results_than_fit_on_the_stack_come_out_in_order) {
  constexpr int kCount = 40;
  std::string results, body, names;
  for (int i = 0; i < kCount; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    results += comma + "tensor<f32>";
    names += comma + "%r" + std::to_string(i);
    body += "%c" + std::to_string(i) + " = stablehlo.constant dense<" + std::to_string(i) +
            ".0> : tensor<f32>\n%r" + std::to_string(i) + " = stablehlo.add %a, %c" +
            std::to_string(i) + " : tensor<f32>\n";
  }
  const Program many =
      compile("%a: tensor<f32>", results, body + "return " + names + " : " + results);
  const Buffer a = scalar(100);
  const auto outputs = call(many, {&a});
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(value_of(outputs.at(static_cast<std::size_t>(i))), 100.0f + static_cast<float>(i));
  }
}

TEST_F(XlaProgram, memory_statistics_count_results_without_their_table) {
  const Program two = compile("%a: tensor<8xf32>", "tensor<8xf32>, tensor<8xf32>",
                              "%0 = stablehlo.add %a, %a : tensor<8xf32>\n"
                              "%1 = stablehlo.multiply %a, %a : tensor<8xf32>\n"
                              "return %0, %1 : tensor<8xf32>, tensor<8xf32>");
  const MemoryStats stats = two.memory();
  EXPECT_EQ(stats.arguments, 32u);
  EXPECT_EQ(stats.results, 64u);
  EXPECT_EQ(stats.aliased, 0u);
}

TEST_F(XlaProgram, live_programs_are_counted) {
  const std::int64_t before = client().live_programs();
  {
    Program add = add_scalars();
    EXPECT_EQ(client().live_programs(), before + 1);
    const Program moved = std::move(add);
    EXPECT_EQ(client().live_programs(), before + 1);
  }
  EXPECT_EQ(client().live_programs(), before);
}

TEST_F(XlaProgram, text_that_does_not_parse_is_reported_with_line_and_column) {
  EXPECT_THAT(backend_error([&] { Program::compile(client(), "garbage"); }),
              AllOf(HasSubstr("xla compile"), HasSubstr("1:1")));
  EXPECT_THROW(Program::compile(client(), ""), BackendError);
  EXPECT_THROW(compile("%a: tensor<f32>", "tensor<2xf32>",
                       "%0 = stablehlo.add %a, %a : tensor<2xf32>\n return %0 : tensor<2xf32>"),
               BackendError);
  const Buffer a = scalar(1), b = scalar(2);
  EXPECT_EQ(value_of(call(add_scalars(), {&a, &b}).at(0)), 3);
}

TEST_F(XlaProgram, an_unknown_override_is_refused_and_a_known_one_is_taken) {
  const std::string text =
      module("%a: tensor<f32>", "tensor<f32>",
             "%0 = stablehlo.add %a, %a : tensor<f32>\n return %0 : tensor<f32>");
  EXPECT_THROW(Program::compile(client(), text, {.overrides = {{"xla_no_such_option", true}}}),
               BackendError);
  const Program fast =
      Program::compile(client(), text, {.overrides = {{"xla_cpu_enable_fast_math", false}}});
  const Buffer a = scalar(4);
  EXPECT_EQ(value_of(call(fast, {&a}).at(0)), 8);
}

TEST_F(XlaProgram, a_wrong_count_or_size_of_arguments_is_reported_and_a_good_call_follows) {
  const Program add = add_scalars();
  const Buffer a = scalar(1), b = scalar(2), wide = upload({1, 2, 3});
  EXPECT_THAT(backend_error([&] { call(add, {&a}); }), HasSubstr("expected 2"));
  EXPECT_THROW(call(add, {&a, &wide}), BackendError);
  Buffer places[2];
  PJRT_Buffer* handles[2] = {a.handle(), b.handle()};
  EXPECT_THROW(run(add, handles, places), InternalError);
  EXPECT_FALSE(a.is_deleted());
  EXPECT_EQ(value_of(call(add, {&a, &b}).at(0)), 3);
}

TEST_F(XlaProgram, many_threads_may_run_it_at_once) {
  const Program add = add_scalars();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      const float value = static_cast<float>(t);
      const Buffer a = scalar(value), b = scalar(1);
      for (int i = 0; i < 200; ++i) {
        if (value_of(call(add, {&a, &b}).at(0)) != value + 1) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(XlaProgram, runs_on_the_device_it_was_compiled_for) {
  Client& four = Client::get({.device_count = 4});
  ASSERT_EQ(four.device_count(), 4);
  const Program twice = Program::compile(
      four,
      module("%a: tensor<f32>", "tensor<f32>",
             "%0 = stablehlo.add %a, %a : tensor<f32>\n return %0 : tensor<f32>"),
      {.device = 2});
  const float value = 21;
  const Buffer a = Buffer::from_host(four, 2, &value, DType::f32, {});
  const auto results = call(twice, {&a});
  EXPECT_EQ(results.at(0).device(), 2);
  EXPECT_EQ(value_of(results.at(0)), 42);
}

class DonationXlaProcess : public XlaProgram {};

TEST_F(DonationXlaProcess, R29_every_call_in_a_forked_child_raises_and_the_parent_goes_on) {
  const Program add = add_scalars();
  const Buffer a = scalar(1), b = scalar(2);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int refused = 0;
    const auto expect_refusal = [&](auto&& action) {
      try {
        action();
      } catch (const BackendError&) {
        ++refused;
      }
    };
    float value = 0;
    expect_refusal([&] { call(add, {&a, &b}); });
    expect_refusal([&] { a.read(&value, sizeof value); });
    expect_refusal([&] { static_cast<void>(a.is_deleted()); });
    expect_refusal([&] { static_cast<void>(scalar(1)); });
    expect_refusal([&] { add_scalars(); });
    expect_refusal([&] { Client::get(); });
    expect_refusal([&] { Client::get({.device_count = 2}); });
    expect_refusal([&] { Plugin::load(client().plugin().path()); });
    _exit(refused);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 8);
  EXPECT_EQ(value_of(call(add, {&a, &b}).at(0)), 3);
}

}  // namespace
}  // namespace nx::xla
