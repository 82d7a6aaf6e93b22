// layer: optim
// Schedules: functions from the step, a scalar tensor that counts from 0, to a value such as a
// learning rate.
#pragma once

#include <functional>

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx::optim {

using Schedule = std::function<Tensor(const Tensor& step)>;

/// The same value at each step.
NX_API Schedule constant(double value);

struct LinearDecayOptions {
  std::int64_t warmup = 0;    ///< Steps over which the value first grows from 0.
  std::int64_t steps = 1000;  ///< The step at which it is 0 again.
  template <class F>
  static void fields(F&& f) {
    f("warmup", &LinearDecayOptions::warmup);
    f("steps", &LinearDecayOptions::steps);
  }
};
NX_API Schedule linear_decay(double value, const LinearDecayOptions& options = {});

struct ExponentialDecayOptions {
  double decay_rate = 0.95;
  std::int64_t transition_steps = 10;  ///< Steps for one factor of decay_rate.
  std::int64_t transition_begin = 0;   ///< The last step with the value itself.
  bool staircase = false;              ///< Only whole factors.
  template <class F>
  static void fields(F&& f) {
    f("decay_rate", &ExponentialDecayOptions::decay_rate);
    f("transition_steps", &ExponentialDecayOptions::transition_steps);
    f("transition_begin", &ExponentialDecayOptions::transition_begin);
    f("staircase", &ExponentialDecayOptions::staircase);
  }
};
/// value * decay_rate^((step - transition_begin) / transition_steps)
NX_API Schedule exponential_decay(double value, const ExponentialDecayOptions& options = {});

struct CosineDecayOptions {
  std::int64_t decay_steps = 10;
  double alpha = 0.0;  ///< What is left of the value at the end, as a share.
  template <class F>
  static void fields(F&& f) {
    f("decay_steps", &CosineDecayOptions::decay_steps);
    f("alpha", &CosineDecayOptions::alpha);
  }
};
/// Half a period of the cosine (Loshchilov and Hutter 2017).
NX_API Schedule cosine_decay(double value, const CosineDecayOptions& options = {});

struct PolynomialDecayOptions {
  double end_value = 1e-3;
  double power = 2;
  std::int64_t transition_steps = 10;
  std::int64_t transition_begin = 0;
  template <class F>
  static void fields(F&& f) {
    f("end_value", &PolynomialDecayOptions::end_value);
    f("power", &PolynomialDecayOptions::power);
    f("transition_steps", &PolynomialDecayOptions::transition_steps);
    f("transition_begin", &PolynomialDecayOptions::transition_begin);
  }
};
/// (value - end_value) (1 - (step - begin) / steps)^power + end_value, kept within its two ends.
NX_API Schedule polynomial_decay(double value, const PolynomialDecayOptions& options = {});

}  // namespace nx::optim
