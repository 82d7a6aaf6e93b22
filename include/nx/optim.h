// layer: optim
// Optimizers: chains of updates, of which the one that scales by minus the learning rate keeps it
// as a tensor.
//
//   const auto adam = nx::optim::adam({.learning_rate = 1e-3});
//   auto state = adam.init(params);
//   auto [updates, next] = adam.update(gradients, state, params);   // inside a jitted step
//   params = nx::optim::apply_updates(params, updates);
#pragma once

#include <variant>

#include "nx/schedules.h"
#include "nx/update.h"

namespace nx::optim {

/// A number, or a schedule of the steps.
struct LearningRate {
  std::variant<double, Schedule> value;
  LearningRate(double rate) : value(rate) {}
  LearningRate(Schedule schedule) : value(std::move(schedule)) {}
};

#define NX_FIELDS_BEGIN_ \
  template <class F>     \
  static void fields(F&& f)

struct AdagradOptions {
  LearningRate learning_rate = 1e-3;
  double initial_accumulator_value = 0.1, eps = 1e-7;
  NX_FIELDS_BEGIN_ {
    f("learning_rate", &AdagradOptions::learning_rate);
    f("initial_accumulator_value", &AdagradOptions::initial_accumulator_value);
    f("eps", &AdagradOptions::eps);
  }
};
NX_API Update adagrad(const AdagradOptions& options = {});

struct AdamOptions {
  LearningRate learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 1e-15;
  NX_FIELDS_BEGIN_ {
    f("learning_rate", &AdamOptions::learning_rate);
    f("b1", &AdamOptions::b1);
    f("b2", &AdamOptions::b2);
    f("eps", &AdamOptions::eps);
    f("eps_root", &AdamOptions::eps_root);
  }
};
NX_API Update adam(const AdamOptions& options = {});

struct AdamWOptions {
  LearningRate learning_rate = 1e-3;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 1e-15, decay = 0.0;
  NX_FIELDS_BEGIN_ {
    f("learning_rate", &AdamWOptions::learning_rate);
    f("b1", &AdamWOptions::b1);
    f("b2", &AdamWOptions::b2);
    f("eps", &AdamWOptions::eps);
    f("eps_root", &AdamWOptions::eps_root);
    f("decay", &AdamWOptions::decay);
  }
};
/// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
NX_API Update adamw(const AdamWOptions& options = {});

struct LambOptions {
  LearningRate learning_rate = 1e-2;
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 1e-15, decay = 0.0, min_norm = 0.0;
  NX_FIELDS_BEGIN_ {
    f("learning_rate", &LambOptions::learning_rate);
    f("b1", &LambOptions::b1);
    f("b2", &LambOptions::b2);
    f("eps", &LambOptions::eps);
    f("eps_root", &LambOptions::eps_root);
    f("decay", &LambOptions::decay);
    f("min_norm", &LambOptions::min_norm);
  }
};
/// adamw, each leaf scaled by its trust ratio (You et al. 2020).
NX_API Update lamb(const LambOptions& options = {});

struct NoisySgdOptions {
  LearningRate learning_rate = 1e-2;
  std::int64_t seed = 0;
  double eta = 0.01, gamma = 0.55;
  NX_FIELDS_BEGIN_ {
    f("learning_rate", &NoisySgdOptions::learning_rate);
    f("seed", &NoisySgdOptions::seed);
    f("eta", &NoisySgdOptions::eta);
    f("gamma", &NoisySgdOptions::gamma);
  }
};
/// Gradient descent, then add_noise.
NX_API Update noisy_sgd(const NoisySgdOptions& options = {});

struct RmspropOptions {
  LearningRate learning_rate = 1e-2;
  bool centered = false;
  double momentum = 0;  ///< 0: none
  bool nesterov = false;
  double initial_scale = 0, decay = 0.9, eps = 1e-8;
  NX_FIELDS_BEGIN_ {
    f("learning_rate", &RmspropOptions::learning_rate);
    f("centered", &RmspropOptions::centered);
    f("momentum", &RmspropOptions::momentum);
    f("nesterov", &RmspropOptions::nesterov);
    f("initial_scale", &RmspropOptions::initial_scale);
    f("decay", &RmspropOptions::decay);
    f("eps", &RmspropOptions::eps);
  }
};
/// scale_by_rms, or scale_by_stddev when centered; the momentum comes after the learning rate.
NX_API Update rmsprop(const RmspropOptions& options = {});

struct SgdOptions {
  LearningRate learning_rate = 1e-2;
  double momentum = 0;  ///< 0: plain gradient descent
  bool nesterov = false;
  NX_FIELDS_BEGIN_ {
    f("learning_rate", &SgdOptions::learning_rate);
    f("momentum", &SgdOptions::momentum);
    f("nesterov", &SgdOptions::nesterov);
  }
};
NX_API Update sgd(const SgdOptions& options = {});

struct YogiOptions {
  LearningRate learning_rate = 1e-2;
  double b1 = 0.9, b2 = 0.999, eps = 1e-3, eps_root = 0, initial_accumulator_value = 1e-6;
  NX_FIELDS_BEGIN_ {
    f("learning_rate", &YogiOptions::learning_rate);
    f("b1", &YogiOptions::b1);
    f("b2", &YogiOptions::b2);
    f("eps", &YogiOptions::eps);
    f("eps_root", &YogiOptions::eps_root);
    f("initial_accumulator_value", &YogiOptions::initial_accumulator_value);
  }
};
NX_API Update yogi(const YogiOptions& options = {});

#undef NX_FIELDS_BEGIN_

}  // namespace nx::optim
