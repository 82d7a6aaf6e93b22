// layer: optim
// Optimizers as chains of updates. An update turns gradients into other gradients and keeps a state
// that mirrors the parameters; the last one of an optimizer scales by minus the learning rate.
//
//   const auto adam = nx::optim::adam({.learning_rate = 1e-3});
//   auto state = adam.init(params);
//   auto [updates, next] = adam.update(gradients, state, params);   // inside a jitted step
//   params = nx::optim::apply_updates(params, updates);
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "nx/config.h"
#include "nx/tree.h"

namespace nx::optim {

/// A tree for each stage that keeps something, the last stage first.
using State = std::vector<Tree>;

/// One stage: what it keeps, and how it changes the updates. `init` is empty when it keeps nothing.
struct Stage {
  std::function<Tree(const Tree& params)> init;
  std::function<Tree(const Tree& updates, Tree& state, const Tree& params)> apply;
};

/// A chain of stages.
class NX_API Update {
 public:
  Update() = default;
  explicit Update(Stage stage) : stages_{std::move(stage)} {}

  /// The state for these parameters: zeros in buffers of their own.
  State init(const Tree& params) const;
  /// {updates, next state}. Throws ArgumentError when state, gradients and parameters differ in
  /// structure.
  std::pair<Tree, State> update(const Tree& gradients, const State& state,
                                const Tree& params) const;
  /// This chain, then `next`.
  Update then(const Update& next) const;

 private:
  std::vector<Stage> stages_;
};

/// `a`, then `b`.
NX_API Update compose(const Update& a, const Update& b);
/// params + updates, each leaf in the parameter's type.
NX_API Tree apply_updates(const Tree& params, const Tree& updates);

// -- updates ----------------------------------------------------------------------------------
NX_API Update identity();
/// updates * step_size; keeps the step size as a tensor, so that it may be changed between steps.
NX_API Update scale(double step_size);

#define NX_FIELDS_BEGIN_ \
  template <class F>     \
  static void fields(F&& f)

struct AdamScaleOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 1e-15;
  NX_FIELDS_BEGIN_ {
    f("b1", &AdamScaleOptions::b1);
    f("b2", &AdamScaleOptions::b2);
    f("eps", &AdamScaleOptions::eps);
    f("eps_root", &AdamScaleOptions::eps_root);
  }
};
/// m / (sqrt(v + eps_root) + eps) with bias-corrected moments (Kingma and Ba 2015, algorithm 1).
NX_API Update scale_by_adam(const AdamScaleOptions& options = {});

struct TraceOptions {
  double decay = 0.9;
  bool nesterov = false;
  NX_FIELDS_BEGIN_ {
    f("decay", &TraceOptions::decay);
    f("nesterov", &TraceOptions::nesterov);
  }
};
/// Momentum: trace = update + decay * trace.
NX_API Update trace(const TraceOptions& options = {});

struct ClipOptions {
  double delta = 2.0;
  NX_FIELDS_BEGIN_ { f("delta", &ClipOptions::delta); }
};
/// Each element into [-delta, delta].
NX_API Update clip(const ClipOptions& options = {});

struct ClipNormOptions {
  double max_norm = 1.0;
  NX_FIELDS_BEGIN_ { f("max_norm", &ClipNormOptions::max_norm); }
};
/// All updates together onto a Euclidean norm of at most max_norm.
NX_API Update clip_by_global_norm(const ClipNormOptions& options = {});

/// Subtracts from each leaf of rank above 1 its mean over all axes but the first.
NX_API Update centralize();

struct DecayOptions {
  double decay = 0.0;
  NX_FIELDS_BEGIN_ { f("decay", &DecayOptions::decay); }
};
/// updates + decay * params.
NX_API Update add_decayed_weights(const DecayOptions& options = {});

// -- optimizers -------------------------------------------------------------------------------
struct AdamOptions {
  double learning_rate = 1e-3, b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 1e-15;
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
  double learning_rate = 1e-3, b1 = 0.9, b2 = 0.999, eps = 1e-8, eps_root = 1e-15, decay = 0.0;
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

struct SgdOptions {
  double learning_rate = 1e-2;
  double momentum = 0;  ///< 0: plain gradient descent
  bool nesterov = false;
  NX_FIELDS_BEGIN_ {
    f("learning_rate", &SgdOptions::learning_rate);
    f("momentum", &SgdOptions::momentum);
    f("nesterov", &SgdOptions::nesterov);
  }
};
NX_API Update sgd(const SgdOptions& options = {});

#undef NX_FIELDS_BEGIN_

}  // namespace nx::optim
