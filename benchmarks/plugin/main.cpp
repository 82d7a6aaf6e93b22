// What the bare PJRT plugin takes for the programs of the suite, driven through its C interface
// alone: the least that the XLA compiler can take. Prints lines like the suite's.
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "../suite/mlp.h"
#include "../suite/suite.h"
#include "xla/buffer.h"
#include "xla/compile.h"
#include "xla/execute.h"
#include "xla/pjrt.h"

namespace bench {
namespace {

using nx::DType;
using nx::xla::Buffer;
using nx::xla::Client;
using nx::xla::Program;

/// Memory that outlives every run.
std::shared_ptr<const void> kept(const void* data) { return {data, [](const void*) {}}; }

/// x -> x + 1, again and again.
Results scalar_add() {
  Client& client = Client::get();
  const Program add = Program::compile(
      client,
      "module @add { func.func public @main(%x: tensor<f32>) -> tensor<f32> {\n"
      "  %one = stablehlo.constant dense<1.0> : tensor<f32>\n"
      "  %y = stablehlo.add %x, %one : tensor<f32>\n"
      "  return %y : tensor<f32>\n} }");
  const float zero = 0;
  Buffer x = Buffer::from_host(client, 0, &zero, DType::f32, {});
  const auto call = [&] {
    PJRT_Buffer* const in = x.handle();
    std::array<Buffer, 1> out;
    nx::xla::run(add, {&in, 1}, out);
    x = std::move(out[0]);
  };
  call();
  const double us = best_us(20000, 7, call);
  x.wait();
  return {{"jit_scalar_add_plugin_us", us}};
}

/// The training step with donated state, on batches that lie in host memory.
Results training_step() {
  mlp::Data data;
  Client& client = Client::get();
  const auto compiled = nx::jit(mlp::step, {.name = "mlp_adam", .compiler = "xla"});
  mlp::State s = mlp::new_state();
  compiled(nx::donatable(s), data.x(0), data.y(0));
  const Program step = Program::compile(client, compiled.explain());
  std::vector<Buffer> state, results(step.output_count());
  nx::map_leaves(mlp::new_state(), [&](const nx::Tensor& leaf) {
    const auto values = leaf.to_flat_list<float>();
    state.push_back(Buffer::from_host(client, 0, values.data(), DType::f32, leaf.shape()));
    return leaf;
  });
  const std::array<std::int64_t, 2> x{mlp::kBatch, mlp::kSizes[0]};
  const std::array<std::int64_t, 1> y{mlp::kBatch};
  const double us = mlp::epochs_us([&](std::int64_t batch, bool last) {
    const Buffer pixels =
        Buffer::from_shared(client, 0, kept(data.pixels(batch)), DType::f32, x);
    const Buffer labels =
        Buffer::from_shared(client, 0, kept(data.labels(batch)), DType::s32, y);
    std::vector<PJRT_Buffer*> in;
    for (const Buffer& leaf : state) in.push_back(leaf.handle());
    in.insert(in.end(), {pixels.handle(), labels.handle()});
    nx::xla::run(step, in, results);
    for (std::size_t i = 0; i < state.size(); ++i) state[i] = std::move(results[i]);
    if (last) state[0].wait();
  });
  return {{"step_plugin_us", us}};
}

}  // namespace
}  // namespace bench

int main(int count, char** arguments) {
  const std::map<std::string, std::function<bench::Results()>> workloads = {
      {"mlp_adam", bench::training_step}, {"dispatch", bench::scalar_add}};
  for (int i = 1; i < count; ++i) {
    const auto found = workloads.find(arguments[i]);
    const bench::Results results = found == workloads.end() ? bench::Results() : found->second();
    std::puts(nlohmann::json{{"workload", arguments[i]}, {"results", results}}.dump().c_str());
  }
}
