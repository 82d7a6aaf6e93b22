// The training step of a 784-90-32-10 network (73,892 parameters) with Adam at batch 128, as in
// peers/jax_peer.py: the same arithmetic, three copies of the parameters; and its data.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "nx/nx.h"
#include "suite.h"

namespace bench::mlp {

using nx::Tensor;

struct Layer {
  Tensor kernel, bias;
};
NX_CONTAINER(Layer, kernel, bias)
using Params = std::array<Layer, 3>;

struct State {
  Params params, mu, nu;
  Tensor count;
};
NX_CONTAINER(State, params, mu, nu, count)

inline constexpr std::array<std::int64_t, 4> kSizes = {784, 90, 32, 10};
inline constexpr std::int64_t kBatch = 128, kRows = 60000;

inline Tensor loss(const Params& params, const Tensor& x, const Tensor& y) {
  Tensor h = x;
  for (std::size_t i = 0; i < 3; ++i) {
    h = nx::dot(h, params[i].kernel) + params[i].bias;
    if (i < 2) h = nx::max(h, 0.f);
  }
  const Tensor shifted = h - nx::stop_grad(nx::reduce_max(h, {.axes = {1}, .keep_axes = true}));
  const Tensor log_softmax =
      shifted - nx::log(nx::sum(nx::exp(shifted), {.axes = {1}, .keep_axes = true}));
  const Tensor one_hot = nx::equal(nx::new_axis(y, 1), nx::iota({1, 10}));
  return nx::negate(nx::mean(nx::sum(log_softmax * one_hot, {.axes = {1}})));
}

inline std::pair<State, Tensor> step(const State& s, const Tensor& x, const Tensor& y) {
  const auto [value, gradient] = nx::value_and_grad(
      [](Params p, Tensor a, Tensor b) { return loss(p, a, b); })(s.params, x, y);
  State next = s;
  next.count = s.count + 1.f;
  const Tensor c1 = 1.f - nx::pow(0.9f, next.count), c2 = 1.f - nx::pow(0.999f, next.count);
  next.mu = nx::zip_leaves([](const Tensor& m, const Tensor& g) { return 0.9f * m + 0.1f * g; },
                           s.mu, gradient);
  next.nu = nx::zip_leaves(
      [](const Tensor& v, const Tensor& g) { return 0.999f * v + 0.001f * g * g; }, s.nu, gradient);
  next.params = nx::zip_leaves(
      [&](const Tensor& p, const Tensor& m, const Tensor& v) {
        return p - 1e-3f * (m / c1) / (nx::sqrt(v / c2) + 1e-8f);
      },
      s.params, next.mu, next.nu);
  return {next, value};
}

inline State new_state() {
  State s;
  Tensor key = nx::random::key(0);
  for (std::size_t i = 0; i < 3; ++i) {
    Tensor normal;
    std::tie(normal, key) = nx::random::normal(key, {.shape = {kSizes[i], kSizes[i + 1]}});
    const float scale = std::sqrt(2.f / static_cast<float>(kSizes[i]));  // He: units stay alive
    s.params[i] = {normal * scale, nx::zeros({kSizes[i + 1]})};
  }
  s.mu = nx::map_leaves(s.params, [](const Tensor& t) { return nx::clone(t * 0.f); });
  s.nu = nx::map_leaves(s.params, [](const Tensor& t) { return nx::clone(t * 0.f); });
  s.count = nx::tensor(0.f);
  return s;
}

inline constexpr std::int64_t kBatches = kRows / kBatch;

/// The data set, in host memory for the whole run; a step takes a slice of it, without a copy.
class Data {
 public:
  Data() : memory_(kRows * kSizes[0] + 16), y_(kRows) {
    void* first = memory_.data();
    std::size_t room = memory_.size() * sizeof(float);
    x_ = static_cast<float*>(std::align(64, kRows * kSizes[0] * sizeof(float), first, room));
    std::mt19937 random(1);
    std::uniform_real_distribution<float> pixel;
    std::generate_n(x_, kRows * kSizes[0], [&] { return pixel(random); });
    for (std::int32_t& label : y_) label = static_cast<std::int32_t>(random() % 10);
  }
  float* pixels(std::int64_t batch) { return x_ + batch * kBatch * kSizes[0]; }
  std::int32_t* labels(std::int64_t batch) { return &y_[static_cast<std::size_t>(batch * kBatch)]; }
  Tensor x(std::int64_t batch) {
    return nx::from_pointer(pixels(batch), nx::f32, {kBatch, kSizes[0]}, {.deleter = kept});
  }
  Tensor y(std::int64_t batch) {
    return nx::from_pointer(labels(batch), nx::s32, {kBatch}, {.deleter = kept});
  }

 private:
  // Nobody writes to it: it may be lent for as long as it lives.
  static void kept(void*) {}
  std::vector<float> memory_;
  float* x_;
  std::vector<std::int32_t> y_;
};

inline constexpr int kWindows = 6, kSteps = kBatches / kWindows;

/// Microseconds a step: the best of the windows of three epochs. `run(batch, last)` runs the step
/// and, when it is the last of a window, waits for it.
template <class Run>
double epochs_us(Run&& run) {
  double best = 1e300;
  for (int window = 0; window < 3 * kWindows; ++window) {
    std::int64_t i = window % kWindows * kSteps;
    const std::int64_t last = i + kSteps;
    best = std::min(best, best_us(kSteps, 1, [&] {
                      run(i, i + 1 == last);
                      ++i;
                    }));
  }
  return best;
}

}  // namespace bench::mlp
