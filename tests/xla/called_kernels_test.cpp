// Kernels of our own that programs of XLA call.
#include "xla/called_kernels.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <tuple>

#include "nx/nx.h"
#include "nx/testing.h"
#include "xla/emitter.h"
#include "xla/ffi.h"
#include "xla/with_executable.h"

namespace nx::xla {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::atomic<int> runs{0}, misaligned{0};

/// x + x by way of a scratch.
class Doubled final : public kernels::PreparedKernel {
 public:
  explicit Doubled(std::size_t bytes) : bytes_(bytes) {}
  std::size_t scratch_bytes() const override { return bytes_; }
  void run(const kernels::KernelCall& call) const override {
    ++runs;
    if (reinterpret_cast<std::uintptr_t>(call.scratch) % 64 != 0) ++misaligned;
    std::memcpy(call.scratch, call.in[0], bytes_);
    const auto* const from = static_cast<const float*>(call.scratch);
    for (std::size_t i = 0; i < bytes_ / sizeof(float); ++i)
      static_cast<float*>(call.out[0])[i] = from[i] + from[i];
  }

 private:
  std::size_t bytes_;
};

graph::OpRow doubled_row() {
  graph::OpRow row = make_row("doubled", first_type, [](const graph::LowerCall& call) {
    return std::vector{call.writer.op("add", {call.in[0], call.in[0]}, call.in[0].type)};
  });
  row.host = graph::HostRule(graph::KernelRule{
      .prepare = [](const graph::KernelSpec& spec) -> std::unique_ptr<kernels::PreparedKernel> {
        return std::make_unique<Doubled>(spec.in[0].bytes());
      },
      .outruns_xla = [](const graph::KernelSpec& spec) { return spec.out[0].count() >= 4; }});
  return row;
}
const graph::OpRow kDoubled = doubled_row();

Build doubled(std::int64_t count) {
  Build build("doubled");
  build.output(build.op(kDoubled, {build.parameter(DType::f32, {count})}));
  return build;
}

class XlaCalledKernels : public WithExecutable {
  void SetUp() override {
    WithExecutable::SetUp();
    runs = misaligned = 0;
  }
};

TEST(XlaEmitter, an_operation_that_its_kernel_outruns_is_a_call_and_others_are_not) {
  CalledKernels kernels;
  const std::string text = emit_module(doubled(4).graph, {}, &kernels);
  EXPECT_THAT(text, HasSubstr(R"(%0:2 = "stablehlo.custom_call"(%arg0) {)"));
  EXPECT_THAT(text, HasSubstr(R"_(kernel = "doubled(f32[4])")_"));
  EXPECT_THAT(text, HasSubstr("-> (tensor<4xf32>, tensor<16xui8>)"));
  EXPECT_THAT(text, Not(HasSubstr("stablehlo.add")));
  EXPECT_THAT(emit_module(doubled(4).graph, {}), Not(HasSubstr("custom_call")));
  EXPECT_THAT(emit_module(doubled(3).graph, {}, &kernels), Not(HasSubstr("custom_call")));
}

TEST_F(XlaCalledKernels, a_program_calls_its_kernel_once_a_run_and_plans_its_scratch) {
  ASSERT_TRUE(can_call_kernels(client()));
  const auto executable = compile(doubled(4)), small = compile(doubled(3));
  const Held a = store({1, 2, 3, 4}), b = store({1, 2, 3});
  EXPECT_THAT(call(*executable, 1, {&a}).results[0].values(), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(call(*executable, 1, {&a}).results[0].values(), ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(misaligned, 0);
  EXPECT_GE(executable->memory().temporaries, 16u);
  EXPECT_THAT(call(*small, 1, {&b}).results[0].values(), ElementsAre(2, 4, 6));
  EXPECT_EQ(runs, 2);
}

TEST_F(XlaCalledKernels, R9_the_result_of_a_kernel_takes_over_a_donated_leaf) {
  const auto executable = compile(doubled(4), {{0, 0, PairKind::kInPlace}});
  const Held a = store({1, 2, 3, 4});
  const void* const address = a->identity();
  const Outcome outcome = call(*executable, 1, {&a}, {InputMode::kDonated});
  EXPECT_THAT(outcome.results[0].values(), ElementsAre(2, 4, 6, 8));
  EXPECT_EQ(outcome.results[0]->identity(), address);
  EXPECT_EQ(outcome.aliased, 1u);
}

TEST_F(XlaCalledKernels, a_run_that_outlives_its_program_finds_the_kernel) {
  for (int i = 0; i < 50; ++i) {
    Build build("chain");
    Edge x = build.parameter(DType::f32, {4});
    for (int k = 0; k < 20; ++k) x = build.op(kDoubled, {x});
    build.output(x);
    const Held a = store({1, 2, 3, 4});
    auto executable = compile(build);
    Outcome outcome = call(*executable, 1, {&a});
    executable.reset();
    EXPECT_EQ(outcome.results[0].values()[0], 1 << 20);
  }
}

TEST_F(XlaCalledKernels, threads_may_run_a_program_that_calls_a_kernel_at_once) {
  const auto executable = compile(doubled(4));
  const Held a = store({1, 2, 3, 4});
  call(*executable, 1, {&a});
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        if (call(*executable, 1, {&a}).results[0].values()[3] != 8) ++wrong;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(runs, 401);
}

TEST_F(XlaCalledKernels, a_call_of_no_kernel_is_an_error_that_names_it) {
  ASSERT_TRUE(can_call_kernels(client()));
  const Program program =
      Program::compile(client(), module("", "tensor<f32>", R"mlir(%0 = "stablehlo.custom_call"() {
          call_target_name = "nxpp_kernel", api_version = 4 : i32,
          backend_config = {kernel = "none(f32[])"}} : () -> tensor<f32>
        return %0 : tensor<f32>)mlir"));
  std::vector<Buffer> result(1);
  EXPECT_THAT(backend_error([&] { run(program, {}, result, {.completion = Completion::kWait}); }),
              HasSubstr("no kernel is called none(f32[])"));
}

TEST_F(XlaCalledKernels, a_large_product_is_the_hosts_to_the_bit_and_that_of_xla_nearly) {
  const auto product = [](const Tensor& a, const Tensor& b) { return dot(a, b); };
  const auto key = random::key(1);
  const Tensor a = random::normal(key, {.shape = {60, 200}}).first;
  const Tensor b = random::normal(key, {.shape = {200, 70}}).first;
  const auto on_xla = jit(product, {.compiler = "xla"});
  const Tensor called = on_xla(a, b), host = jit(product, {.compiler = "host"})(a, b);
  EXPECT_EQ(called.to_flat_list<float>(), host.to_flat_list<float>());
  const Tensor tiny = a * 1e-38f;  // many of the numbers, and of the results, are subnormal
  EXPECT_EQ(on_xla(tiny, b).to_flat_list<float>(), dot(tiny, b).to_flat_list<float>());
  EXPECT_THAT(on_xla.explain(), HasSubstr("nxpp_kernel"));
  // Computed by XLA: each row by itself is too small a product to be called.
  const auto row_by_row = jit(product, {.compiler = "xla"});
  for (std::int64_t i = 0; i < 60; ++i) {
    const Tensor row = row_by_row(slice(a, {i, 0}, {1, 200}), b);
    nx::testing::assert_all_close(row, slice(called, {i, 0}, {1, 70}),
                                  {.rtol = 1e-4, .atol = 1e-4});
  }
  EXPECT_THAT(row_by_row.explain(), Not(HasSubstr("nxpp_kernel")));
}

TEST_F(XlaCalledKernels, long_axes_are_sorted_and_summed_up_as_on_the_host) {
  const Tensor x = random::normal(random::key(2), {.shape = {4, 2000}}).first;
  const auto all = [](const Tensor& t) {
    return std::tuple(sort(t, {.axis = 1}), argsort(t, {.axis = 0}), cumulative_sum(t, {.axis = 1}),
                      cumulative_max(as_type(t * 100, s16)));
  };
  const auto on_xla = jit(all, {.compiler = "xla"}), on_host = jit(all, {.compiler = "host"});
  const auto got = on_xla(x), expected = on_host(x);
  EXPECT_EQ(std::get<0>(got).to_flat_list<float>(), std::get<0>(expected).to_flat_list<float>());
  EXPECT_EQ(std::get<1>(got).to_flat_list<int>(), std::get<1>(expected).to_flat_list<int>());
  EXPECT_EQ(std::get<2>(got).to_flat_list<float>(), std::get<2>(expected).to_flat_list<float>());
  EXPECT_TRUE(all_close(std::get<3>(got), std::get<3>(expected)).to_number<bool>());
  const std::string text = on_xla.explain();
  for (const char* name : {"kernel = \"sort(", "kernel = \"argsort(", "kernel = \"cumulative_sum("})
    EXPECT_THAT(text, HasSubstr(name));
}

}  // namespace
}  // namespace nx::xla
