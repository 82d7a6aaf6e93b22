// layer: optim
// Updates: what optimizers are made of. An update turns gradients into other gradients, and may
// keep a state that mirrors the parameters. Moments are kept in f32 or wider, whatever the
// parameters are.
//
//   const auto update = nx::optim::compose(nx::optim::trace(), nx::optim::scale(-0.1));
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "nx/config.h"
#include "nx/schedules.h"
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

  /// The state for these parameters, in buffers of its own.
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
/// The same, then `state` in place of the leaves it has: statistics that a model keeps among its
/// parameters.
NX_API Tree apply_updates(const Tree& params, const Tree& updates, const Tree& state);

#define NX_FIELDS_BEGIN_ \
  template <class F>     \
  static void fields(F&& f)

// -- without a state --------------------------------------------------------------------------
NX_API Update stateless(std::function<Tree(const Tree& updates, const Tree& params)> apply);
NX_API Update identity();
NX_API Update scale(double step_size);  ///< updates * step_size

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

struct TrustRatioOptions {
  double min_norm = 0.0, trust_coefficient = 1.0, eps = 0.0;
  NX_FIELDS_BEGIN_ {
    f("min_norm", &TrustRatioOptions::min_norm);
    f("trust_coefficient", &TrustRatioOptions::trust_coefficient);
    f("eps", &TrustRatioOptions::eps);
  }
};
/// Each leaf times trust_coefficient |p| / (|u| + eps), norms at least min_norm; by 1 where one of
/// them is 0 (You et al. 2020).
NX_API Update scale_by_trust_ratio(const TrustRatioOptions& options = {});

// -- with a state -----------------------------------------------------------------------------
NX_API Update
stateful(std::function<Tree(const Tree& params)> init,
         std::function<Tree(const Tree& updates, Tree& state, const Tree& params)> apply);
/// updates * step_size; keeps the step size as a tensor, so that it may be changed between steps.
NX_API Update scale_by_state(double step_size);
/// updates * schedule(count), where count is the number of steps before this one.
NX_API Update scale_by_schedule(Schedule schedule);

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

struct YogiScaleOptions {
  double b1 = 0.9, b2 = 0.999, eps = 1e-3, eps_root = 0, initial_accumulator_value = 1e-6;
  NX_FIELDS_BEGIN_ {
    f("b1", &YogiScaleOptions::b1);
    f("b2", &YogiScaleOptions::b2);
    f("eps", &YogiScaleOptions::eps);
    f("eps_root", &YogiScaleOptions::eps_root);
    f("initial_accumulator_value", &YogiScaleOptions::initial_accumulator_value);
  }
};
/// As Adam, but v moves towards u^2 by (1 - b2) u^2 at most (Zaheer et al. 2018).
NX_API Update scale_by_yogi(const YogiScaleOptions& options = {});

struct RssScaleOptions {
  double initial_accumulator_value = 0.1, eps = 1e-7;
  NX_FIELDS_BEGIN_ {
    f("initial_accumulator_value", &RssScaleOptions::initial_accumulator_value);
    f("eps", &RssScaleOptions::eps);
  }
};
/// u / sqrt(sum of all u^2 so far + eps) (Duchi et al. 2011).
NX_API Update scale_by_rss(const RssScaleOptions& options = {});

struct RmsScaleOptions {
  double decay = 0.9, eps = 1e-8, initial_scale = 0;
  NX_FIELDS_BEGIN_ {
    f("decay", &RmsScaleOptions::decay);
    f("eps", &RmsScaleOptions::eps);
    f("initial_scale", &RmsScaleOptions::initial_scale);
  }
};
/// u / sqrt(moving average of u^2 + eps) (Tieleman and Hinton 2012).
NX_API Update scale_by_rms(const RmsScaleOptions& options = {});
/// u / sqrt(moving variance of u + eps) (Graves 2013).
NX_API Update scale_by_stddev(const RmsScaleOptions& options = {});

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

struct NoiseOptions {
  std::int64_t seed = 0;
  double eta = 0.01, gamma = 0.55;
  NX_FIELDS_BEGIN_ {
    f("seed", &NoiseOptions::seed);
    f("eta", &NoiseOptions::eta);
    f("gamma", &NoiseOptions::gamma);
  }
};
/// Adds normal noise times eta / step^gamma (Neelakantan et al. 2015).
NX_API Update add_noise(const NoiseOptions& options = {});

#undef NX_FIELDS_BEGIN_

}  // namespace nx::optim
