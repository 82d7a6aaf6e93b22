// The training step of mlp.h: time of a step with donated state, of the first call, and how much
// memory it takes.
#include "mlp.h"

#include <algorithm>
#include <string>

namespace {

using namespace bench::mlp;  // NOLINT(google-build-using-namespace): the file is about it

using Step = decltype(nx::jit(step));

double epochs(const Step& f, State& s, Data& data, bool donate) {
  return epochs_us([&](std::int64_t batch, bool last) {
    Tensor value;
    const Tensor x = data.x(batch), y = data.y(batch);
    std::tie(s, value) = donate ? f(nx::donatable(s), x, y) : f(s, x, y);
    if (last) nx::wait(value);
  });
}

/// The largest growth of live bytes over three epochs, from state and one batch on.
double peak_growth(const Step& f, Data& data, bool donate) {
  State s = new_state();
  const std::size_t batch = (kBatch * kSizes[0] + kBatch) * sizeof(float);
  const std::size_t before = nx::memory::stats().live + batch;
  nx::memory::reset_peak();
  epochs(f, s, data, donate);
  return static_cast<double>(nx::memory::stats().peak - before);
}

double first_call_us(const std::string& compiler, State& s, Data& data) {
  const auto f = nx::jit(step, {.compiler = compiler});
  return bench::best_us(1, 1, [&] { s = f(nx::donatable(s), data.x(0), data.y(0)).first; });
}

}  // namespace

namespace bench {

Results mlp_adam() {
  Results results;
  Data data;
  State s = new_state();
  const Step f = nx::jit(step, {.name = "mlp_adam", .compiler = "host"});
  results["step_us"] = epochs(f, s, data, true);
  // The first call compiles; the step itself is small beside it and taken off.
  double compile = 1e300;
  for (int i = 0; i < 5; ++i) compile = std::min(compile, first_call_us("host", s, data));
  results["compile_us"] = compile - results["step_us"];
  results["peak_growth_bytes"] = peak_growth(f, data, true);
  results["peak_growth_plain_bytes"] = peak_growth(f, data, false);
  if (has_xla()) {
    State state = new_state();
    const Step g = nx::jit(step, {.name = "mlp_adam", .compiler = "xla"});
    results["step_xla_us"] = epochs(g, state, data, true);
  }
  return results;
}

}  // namespace bench
