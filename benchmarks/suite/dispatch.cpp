// What a call costs beside its work: a jitted scalar add, and an eager add of 8 floats.
#include "nx/nx.h"
#include "suite.h"

namespace bench {
namespace {

double scalar_add_us(const char* compiler) {
  const auto f = nx::jit([](nx::Tensor x) { return x + 1.f; }, {.compiler = compiler});
  nx::Tensor x = f(nx::tensor(0.f));
  const double us = best_us(20000, 7, [&] { x = f(x); });
  nx::wait(x);
  return us;
}

}  // namespace

Results dispatch() {
  Results results;
  results["jit_scalar_add_us"] = scalar_add_us("host");
  if (has_xla()) results["jit_scalar_add_xla_us"] = scalar_add_us("xla");
  const nx::Tensor a = nx::iota({8}, {.type = nx::f32});
  results["eager_add_8_us"] = best_us(20000, 7, [&] { (void)(a + a); });
  return results;
}

}  // namespace bench
