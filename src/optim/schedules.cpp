// Schedules, each a formula of the step. All throw ArgumentError for a number of steps below 1.
#include "nx/schedules.h"

#include <algorithm>

#include "nx/ops.h"

namespace nx::optim {
namespace {

void check_steps(const char* schedule, std::int64_t steps) {
  if (steps < 1)
    throw ArgumentError(schedule, "expected at least 1 step, got " + std::to_string(steps));
}

Tensor as_f32(const Tensor& step) { return as_type(step, f32); }

}  // namespace

Schedule constant(double value) {
  return [value](const Tensor&) { return tensor(value, {.type = f32}); };
}

Schedule linear_decay(double value, const LinearDecayOptions& o) {
  check_steps("linear_decay", o.steps);
  return [value, o](const Tensor& step) {
    const auto rising = static_cast<double>(std::max<std::int64_t>(1, o.warmup));
    const auto falling = static_cast<double>(std::max<std::int64_t>(1, o.steps - o.warmup));
    const Tensor at = as_f32(step);
    const Tensor share = select(step < o.warmup, at / rising, max((o.steps - at) / falling, 0.0));
    return share * value;
  };
}

Schedule exponential_decay(double value, const ExponentialDecayOptions& o) {
  check_steps("exponential_decay", o.transition_steps);
  return [value, o](const Tensor& step) {
    const Tensor since = as_f32(step) - o.transition_begin;
    const Tensor factors = since / o.transition_steps;
    const Tensor decayed = pow(o.decay_rate, o.staircase ? floor(factors) : factors) * value;
    return select(since <= 0, value, decayed);
  };
}

Schedule cosine_decay(double value, const CosineDecayOptions& o) {
  check_steps("cosine_decay", o.decay_steps);
  return [value, o](const Tensor& step) {
    constexpr double kPi = 3.14159265358979323846;
    const Tensor angle = as_f32(min(step, o.decay_steps)) * (kPi / o.decay_steps);
    return ((cos(angle) + 1) / 2 * (1 - o.alpha) + o.alpha) * value;
  };
}

Schedule polynomial_decay(double value, const PolynomialDecayOptions& o) {
  check_steps("polynomial_decay", o.transition_steps);
  return [value, o](const Tensor& step) {
    const Tensor since = max(min(as_f32(step) - o.transition_begin, o.transition_steps), 0);
    return pow(1 - since / o.transition_steps, o.power) * (value - o.end_value) + o.end_value;
  };
}

}  // namespace nx::optim
