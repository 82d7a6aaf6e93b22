// Compiled functions against the same functions run operation by operation, with the library's own
// operations: to the bit, whatever the threads.
#include <gtest/gtest.h>
#include <omp.h>

#include <cstring>
#include <functional>

#include "nx/binary.h"
#include "nx/contract.h"
#include "nx/creation.h"
#include "nx/donation.h"
#include "nx/grad.h"
#include "nx/jit.h"
#include "nx/movement.h"
#include "nx/operators.h"
#include "nx/random.h"
#include "nx/reduce.h"
#include "nx/select.h"
#include "nx/type.h"
#include "nx/unary.h"

namespace nx {
namespace {

Tensor draw(int seed, const Dims& dims) {
  return random::uniform(random::key(seed), 0.1f, 2.0f, {.shape = dims}).first;
}

void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& what) {
  const auto x = a.host<float>(), y = b.host<float>();
  ASSERT_EQ(x.size(), y.size()) << what;
  EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(float)), 0) << what;
}

TEST(HostCompiled, elementwise_functions_have_the_bits_of_eager_ones) {
  const std::vector<std::function<Tensor(Tensor, Tensor)>> functions{
      [](Tensor a, Tensor b) { return exp(a) * log(b) + sqrt(a); },
      [](Tensor a, Tensor b) { return tanh(a - b) / sigmoid(b); },
      [](Tensor a, Tensor b) { return pow(a, b) - sin(a) * cos(b); },
      [](Tensor a, Tensor b) { return select(greater(a, b), expm1(a), log1p(b)); },
      [](Tensor a, Tensor b) { return as_type(as_type(a * 100, s32) / 7, f32) + erf(b); },
      [](Tensor a, Tensor b) { return max(a, b) - min(a, 1.0f) * rsqrt(b); },
  };
  const int most = omp_get_max_threads();
  for (std::size_t f = 0; f < functions.size(); ++f)
    for (const std::int64_t n : {1, 7, 31, 500, 1000, 1025, 5001, 40000}) {
      const Tensor a = draw(1, {n}), b = draw(2, {n});
      const Tensor expected = functions[f](a, b);
      for (const int threads : {1, 2}) {
        omp_set_num_threads(threads);
        expect_same_bits(jit([&](Tensor x, Tensor y) { return functions[f](x, y); })(a, b),
                         expected, "function " + std::to_string(f) + " of " + std::to_string(n));
      }
      omp_set_num_threads(most);
    }
}

TEST(HostCompiled, reductions_have_the_bits_of_eager_ones) {
  for (const Dims& dims :
       {Dims{128, 10}, Dims{3, 5000}, Dims{5000, 3}, Dims{40, 70, 6}, Dims{1, 90000}})
    for (int axis = -1; axis < static_cast<int>(dims.size()); ++axis) {
      const auto f = [&](Tensor x) {
        const Tensor y = exp(x) * x;
        return axis < 0 ? sum(y) : sum(y, {.axes = axis}) + reduce_max(x, {.axes = axis});
      };
      const Tensor x = draw(3, dims);
      expect_same_bits(jit(f)(x), f(x), to_string(dims) + " over " + std::to_string(axis));
    }
}

Tensor loss_of(Tensor w, Tensor x, Tensor y) {
  const Tensor z = dot(max(dot(x, w), 0), transpose(w));
  const Tensor s = z - reduce_max(z, {.axes = 1, .keep_axes = true});
  return mean(-sum((s - log(sum(exp(s), {.axes = 1, .keep_axes = true}))) * y, {.axes = 1}));
}

TEST(HostCompiled, a_training_step_has_the_same_bits_donated_and_on_any_number_of_threads) {
  const auto step = jit([](std::pair<Tensor, Tensor> state, Tensor x, Tensor y) {
    const Tensor g = grad(loss_of)(state.first, x, y);
    const Tensor m = 0.9f * state.second + 0.1f * g;
    return std::pair<Tensor, Tensor>(state.first - 0.01f * m / (sqrt(abs(m)) + 1e-3f), m);
  });
  const Tensor x = draw(4, {128, 300}), y = draw(5, {128, 300});
  const int most = omp_get_max_threads();
  std::pair<Tensor, Tensor> first;
  for (const int threads : {1, 2})
    for (const bool donate : {false, true}) {
      omp_set_num_threads(threads);
      std::pair<Tensor, Tensor> state{draw(6, {300, 60}) * 0.01f, broadcast(0.0f, {300, 60})};
      for (int i = 0; i < 5; ++i) state = donate ? step(donatable(state), x, y) : step(state, x, y);
      if (!first.first.has_value()) first = state;
      expect_same_bits(state.first, first.first, "w");
      expect_same_bits(state.second, first.second, "m");
    }
  omp_set_num_threads(most);
}

}  // namespace
}  // namespace nx
