// Two 4 MiB leaves, (a, b) -> (b, a + 1), on XLA: with donation one is passed on and the other
// changed in place.
#include "nx/nx.h"
#include "suite.h"

namespace bench {
namespace {

using State = std::pair<nx::Tensor, nx::Tensor>;

double swapped_us(bool donate) {
  const auto f = nx::jit([](State s) { return State{s.second, s.first + 1.f}; },
                         {.name = "swapped", .compiler = "xla"});
  State s = f(State{nx::zeros({1 << 20}), nx::ones({1 << 20})});
  const double us = best_us(20, 15, [&] {
    for (int i = 0; i < 4; ++i) s = donate ? f(nx::donatable(s)) : f(s);
    nx::wait(s);
  });
  return us / 4;
}

}  // namespace

Results swapped() {
  if (!has_xla()) return {};
  return {{"donated_us", swapped_us(true)}, {"plain_us", swapped_us(false)}};
}

}  // namespace bench
