// What donation rests on: aliases asked for by attribute, proven by addresses and by the table that
// the compiler gives back.
#include <gmock/gmock.h>

#include "xla/execute.h"
#include "xla/with_plugin.h"
#include "sanitized.h"

namespace nx::xla {
namespace {

using testing::backend_error;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DonationXlaAlias : public testing::WithPlugin {
 protected:
  // (a, b) -> (b * 2, a + 1), each in its own place.
  Program swapped() {
    return compile(
        "%a: tensor<4xf32> {tf.aliasing_output = 1 : i32}, "
        "%b: tensor<4xf32> {tf.aliasing_output = 0 : i32}",
        "tensor<4xf32>, tensor<4xf32>",
        "%one = stablehlo.constant dense<1.0> : tensor<4xf32>\n"
        "%0 = stablehlo.add %b, %b : tensor<4xf32>\n"
        "%1 = stablehlo.add %a, %one : tensor<4xf32>\n"
        "return %0, %1 : tensor<4xf32>, tensor<4xf32>");
  }
  Program twice() {
    return compile("%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}", "tensor<4xf32>",
                   "%0 = stablehlo.add %a, %a : tensor<4xf32>\n return %0 : tensor<4xf32>");
  }
};

TEST_F(DonationXlaAlias, R9_a_result_comes_out_at_the_address_of_its_partner) {
  const Program program = swapped();
  const Buffer a = upload({1, 2, 3, 4}), b = upload({5, 6, 7, 8});
  const void* at_a = a.device_pointer();
  const void* at_b = b.device_pointer();
  const auto results = call(program, {&a, &b});
  EXPECT_EQ(results[0].device_pointer(), at_b);
  EXPECT_EQ(results[1].device_pointer(), at_a);
  EXPECT_THAT(download(results[0]), ElementsAre(10, 12, 14, 16));
  EXPECT_THAT(download(results[1]), ElementsAre(2, 3, 4, 5));
}

TEST_F(DonationXlaAlias, R7_a_donated_input_is_deleted_and_reading_it_is_an_error) {
  const Program program = twice();
  const Buffer a = upload({1, 2, 3, 4});
  const auto results = call(program, {&a});
  EXPECT_TRUE(a.is_deleted());
  float values[4];
  EXPECT_THAT(backend_error([&] { a.read(values, sizeof values); }), HasSubstr("eleted"));
  EXPECT_THROW(call(program, {&a}), BackendError);
  EXPECT_THAT(download(results[0]), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(download(call(program, {&results[0]})[0]), ElementsAre(4, 8, 12, 16));
}

TEST_F(DonationXlaAlias, R21_the_alias_table_read_back_is_the_one_asked_for) {
  EXPECT_THAT(swapped().alias_table(), ElementsAre(Alias{1, 0}, Alias{0, 1}));
  EXPECT_THAT(twice().alias_table(), ElementsAre(Alias{0, 0}));
  const Program plain =
      compile("%a: tensor<4xf32>", "tensor<4xf32>",
              "%0 = stablehlo.add %a, %a : tensor<4xf32>\n return %0 : tensor<4xf32>");
  EXPECT_THAT(plain.alias_table(), IsEmpty());
}

TEST_F(DonationXlaAlias, R21_outputs_beyond_one_byte_of_index_are_read_back) {
  constexpr int kCount = 200;
  std::string parameters, results, names;
  for (int i = 0; i < kCount; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    parameters += comma + "%a" + std::to_string(i) + ": tensor<f32> {tf.aliasing_output = " +
                  std::to_string(kCount - 1 - i) + " : i32}";
    results += comma + "tensor<f32>";
    names += comma + "%a" + std::to_string(kCount - 1 - i);
  }
  const Program program = compile(parameters, results, "return " + names + " : " + results);
  std::vector<Alias> expected;
  for (std::uint32_t i = 0; i < kCount; ++i) expected.push_back({kCount - 1 - i, i});
  EXPECT_EQ(program.alias_table(), expected);
}

TEST_F(DonationXlaAlias, R21_a_damaged_description_of_the_program_is_an_error) {
  const std::string module = twice().optimized_module();
  EXPECT_THROW(read_alias_table(module.substr(0, module.size() / 2)), BackendError);
  EXPECT_THROW(read_alias_table("\xff\xff"), BackendError);
  EXPECT_THAT(read_alias_table(""), IsEmpty());
}

TEST_F(DonationXlaAlias, R12_a_protected_input_stays_alive_and_the_bits_are_the_same) {
  const Program program = swapped();
  const Buffer a = upload({1, 2, 3, 4}), b = upload({5, 6, 7, 8});
  const std::int64_t all[2] = {0, 1};
  const auto results = call(program, {&a, &b}, {.protected_inputs = all});
  EXPECT_FALSE(a.is_deleted());
  EXPECT_FALSE(b.is_deleted());
  EXPECT_NE(results[1].device_pointer(), a.device_pointer());
  EXPECT_THAT(download(a), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(download(b), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(download(results[0]), ElementsAre(10, 12, 14, 16));
  EXPECT_THAT(download(results[1]), ElementsAre(2, 3, 4, 5));
}

TEST_F(DonationXlaAlias, R20_the_statistics_tell_what_is_aliased) {
  EXPECT_EQ(twice().memory().aliased, 16u);
  EXPECT_EQ(swapped().memory().aliased, 32u);
}

TEST_F(DonationXlaAlias, R13_one_buffer_twice_is_an_error_that_consumes_nothing) {
  const Program program = swapped();
  const Buffer a = upload({1, 2, 3, 4}), b = upload({5, 6, 7, 8});
  EXPECT_THROW(call(program, {&a, &a}), BackendError);
  EXPECT_FALSE(a.is_deleted());
  EXPECT_THAT(download(call(program, {&a, &b})[1]), ElementsAre(2, 3, 4, 5));
}

// 64 TiB cannot be had, which is found out while running.
TEST_F(DonationXlaAlias, R18_a_failed_run_is_reported_to_whoever_waits_and_a_good_call_follows) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer's allocator ends the process instead of failing";
  const Program huge = compile(
      "%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}",
      "tensor<4xf32>, tensor<16777216x1048576xf32>",
      "%0 = stablehlo.add %a, %a : tensor<4xf32>\n"
      "%1 = stablehlo.slice %a [0:1] : (tensor<4xf32>) -> tensor<1xf32>\n"
      "%2 = stablehlo.reshape %1 : (tensor<1xf32>) -> tensor<f32>\n"
      "%3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> "
      "tensor<16777216x1048576xf32>\n"
      "return %0, %3 : tensor<4xf32>, tensor<16777216x1048576xf32>");
  for (const Completion completion : {Completion::kAsync, Completion::kWait}) {
    const Buffer a = upload({1, 2, 3, 4});
    EXPECT_THAT(backend_error([&] { call(huge, {&a}, {.completion = completion})[1].wait(); }),
                HasSubstr("RESOURCE_EXHAUSTED"));
  }
  const Buffer b = upload({1, 2, 3, 4});
  EXPECT_THAT(download(call(twice(), {&b})[0]), ElementsAre(2, 4, 6, 8));
}

TEST_F(DonationXlaAlias, R28_a_chain_of_donated_calls_keeps_one_buffer) {
  const Program program = compile(
      "%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}", "tensor<4xf32>",
      "%one = stablehlo.constant dense<1.0> : tensor<4xf32>\n"
      "%0 = stablehlo.add %a, %one : tensor<4xf32>\n return %0 : tensor<4xf32>");
  Buffer state = upload({0, 0, 0, 0});
  const void* home = state.device_pointer();
  const std::int64_t before = client().live_buffers();
  for (int i = 0; i < 1000; ++i) {
    PJRT_Buffer* input[1] = {state.handle()};
    run(program, input, {&state, 1});
  }
  EXPECT_EQ(state.device_pointer(), home);
  EXPECT_EQ(client().live_buffers(), before);
  EXPECT_THAT(download(state), ElementsAre(1000, 1000, 1000, 1000));
}

}  // namespace
}  // namespace nx::xla
