// Optimizers: what each is made of.
#include "nx/optim.h"

#include "nx/ops.h"

namespace nx::optim {
namespace {

/// Steps against the gradient.
Update descend(const LearningRate& rate) {
  if (const auto* number = std::get_if<double>(&rate.value)) return scale_by_state(-*number);
  return scale_by_schedule(
      [schedule = std::get<Schedule>(rate.value)](const Tensor& step) { return -schedule(step); });
}

}  // namespace

Update adagrad(const AdagradOptions& o) {
  return scale_by_rss({o.initial_accumulator_value, o.eps}).then(descend(o.learning_rate));
}

Update adam(const AdamOptions& o) {
  return scale_by_adam({o.b1, o.b2, o.eps, o.eps_root}).then(descend(o.learning_rate));
}

Update adamw(const AdamWOptions& o) {
  return scale_by_adam({o.b1, o.b2, o.eps, o.eps_root})
      .then(add_decayed_weights({o.decay}))
      .then(descend(o.learning_rate));
}

Update lamb(const LambOptions& o) {
  return scale_by_adam({o.b1, o.b2, o.eps, o.eps_root})
      .then(add_decayed_weights({o.decay}))
      .then(scale_by_trust_ratio({o.min_norm}))
      .then(descend(o.learning_rate));
}

Update noisy_sgd(const NoisySgdOptions& o) {
  return descend(o.learning_rate).then(add_noise({o.seed, o.eta, o.gamma}));
}

Update rmsprop(const RmspropOptions& o) {
  const RmsScaleOptions scaling{o.decay, o.eps, o.initial_scale};
  const Update step = (o.centered ? scale_by_stddev(scaling) : scale_by_rms(scaling))
                          .then(descend(o.learning_rate));
  return o.momentum == 0 ? step : step.then(trace({o.momentum, o.nesterov}));
}

Update sgd(const SgdOptions& o) {
  const Update step = descend(o.learning_rate);
  return o.momentum == 0 ? step : trace({o.momentum, o.nesterov}).then(step);
}

Update yogi(const YogiOptions& o) {
  return scale_by_yogi({o.b1, o.b2, o.eps, o.eps_root, o.initial_accumulator_value})
      .then(descend(o.learning_rate));
}

}  // namespace nx::optim
