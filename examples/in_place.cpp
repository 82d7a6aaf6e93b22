// The example of the README: a training step whose two arrays are updated in place.
#include <cstdio>
#include <utility>
#include <vector>

// [readme]
#include <nx/nx.h>

struct State { nx::Tensor w, m; };
NX_CONTAINER(State, w, m)                  // makes any aggregate an argument, a result, a carry

auto loss = [](nx::Tensor w, nx::Tensor x, nx::Tensor y) {
  return nx::mean(nx::pow(nx::dot(x, w) - y, 2));
};
auto step = nx::jit([](State s, nx::Tensor x, nx::Tensor y) {
  auto g = nx::grad(loss)(s.w, x, y);
  auto m = 0.9f * s.m + g;
  return State{s.w - 0.01f * m, m};
});

State train(State s, const std::vector<std::pair<nx::Tensor, nx::Tensor>>& batches) {
  for (auto& [x, y] : batches) s = step(nx::donatable(s), x, y);   // both arrays updated in place
  return s;
}
// [/readme]

int main() {
  auto [x, key] = nx::random::uniform(nx::random::key(1), {.shape = nx::Dims{64, 3}});
  nx::Tensor y = nx::sum(x, {.axes = {1}, .keep_axes = true});
  std::vector<std::pair<nx::Tensor, nx::Tensor>> batches(400, {x, y});
  State s = train({nx::broadcast(0.0f, {3, 1}), nx::broadcast(0.0f, {3, 1})}, batches);
  const float error = loss(s.w, x, y).to_number<float>();
  std::printf("mean squared error: %g\n", static_cast<double>(error));
  return error < 1e-3f ? 0 : 1;
}
