// Fits y = 3x + 2 with momentum. The state is donated: each step writes the new state over the old.
#include <nx/nx.h>

#include <cstdio>

struct State {
  nx::Tensor w, m;
};
NX_CONTAINER(State, w, m)

int main() {
  auto key = nx::random::key(42);
  auto [x, next] = nx::random::uniform(key, {.shape = nx::Dims{256, 1}});
  nx::Tensor ones = nx::broadcast(1.0f, {256, 1});
  nx::Tensor inputs = nx::concatenate({x, ones}, {.axis = 1});
  nx::Tensor targets = 3.0f * x + 2.0f;

  auto loss = [](nx::Tensor w, nx::Tensor a, nx::Tensor y) {
    return nx::mean(nx::pow(nx::dot(a, w) - y, 2));
  };
  auto step = nx::jit([&](State s, nx::Tensor a, nx::Tensor y) {
    auto g = nx::grad(loss)(s.w, a, y);
    auto m = 0.9f * s.m + g;
    return State{s.w - 0.05f * m, m};
  });

  State s{nx::broadcast(0.0f, {2, 1}), nx::broadcast(0.0f, {2, 1})};
  for (int i = 0; i < 500; ++i) s = step(nx::donatable(s), inputs, targets);

  const float error = loss(s.w, inputs, targets).to_number<float>();
  std::printf("mean squared error after 500 steps: %g\n", static_cast<double>(error));
  return error < 1e-4f ? 0 : 1;
}
