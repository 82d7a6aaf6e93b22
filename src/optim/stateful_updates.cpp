// Stages that keep something between steps.
#include "nx/random.h"
#include "nx/update.h"
#include "optim/leaves.h"

namespace nx::optim {
namespace {

/// Counts the step; both moments are divided by what they would be of gradients of 1. The factors
/// are scalars: one division each, whatever the size of the leaves.
Tree adaptive_step(Tree& state, double b1, double b2, double eps, double eps_root) {
  const Tensor count = state.at("count").tensor + 1;
  state["count"] = count;
  const Tensor m_factor = 1.0f / (1.0f - pow(b1, count));
  const Tensor v_factor = 1.0f / (1.0f - pow(b2, count));
  return zip_leaves(
      [&](const Tensor& m, const Tensor& v) {
        return m * m_factor / (sqrt(v * v_factor + eps_root) + eps);
      },
      state.at("mu"), state.at("nu"));
}

/// Updates times 1 / sqrt(squares).
Tree over_root(const Tree& updates, const Tree& squares, double eps) {
  return zip_leaves([&](const Tensor& u, const Tensor& s) { return u * rsqrt(s + eps); }, updates,
                    squares);
}

}  // namespace

Update stateful(std::function<Tree(const Tree& params)> init,
                std::function<Tree(const Tree& updates, Tree& state, const Tree& params)> apply) {
  return Update(Stage{std::move(init), std::move(apply)});
}

Update scale_by_state(double step_size) {
  return stateful(
      [step_size](const Tree&) {
        Tree state;
        state["scale"] = tensor(step_size, {.type = f32});
        return state;
      },
      [](const Tree& updates, Tree& state, const Tree&) {
        return scaled(updates, state.at("scale").tensor);
      });
}

Update scale_by_schedule(Schedule schedule) {
  return stateful(
      [](const Tree&) {
        Tree state;
        state["count"] = tensor(0);
        return state;
      },
      [schedule = std::move(schedule)](const Tree& updates, Tree& state, const Tree&) {
        const Tensor count = state.at("count").tensor;
        state["count"] = count + 1;
        return scaled(updates, schedule(count));
      });
}

Update scale_by_adam(const AdamScaleOptions& o) {
  return stateful(
      [](const Tree& params) {
        Tree state;
        state["mu"] = filled_like(params, 0);
        state["nu"] = filled_like(params, 0);
        state["count"] = tensor(0);
        return state;
      },
      [o](const Tree& updates, Tree& state, const Tree&) {
        state["mu"] = moment(state.at("mu"), updates, o.b1, 1);
        state["nu"] = moment(state.at("nu"), updates, o.b2, 2);
        return adaptive_step(state, o.b1, o.b2, o.eps, o.eps_root);
      });
}

Update scale_by_yogi(const YogiScaleOptions& o) {
  return stateful(
      [o](const Tree& params) {
        Tree state;
        state["mu"] = filled_like(params, o.initial_accumulator_value);
        state["nu"] = filled_like(params, o.initial_accumulator_value);
        state["count"] = tensor(0);
        return state;
      },
      [o](const Tree& updates, Tree& state, const Tree&) {
        state["mu"] = moment(state.at("mu"), updates, o.b1, 1);
        state["nu"] = zip_leaves(
            [&](const Tensor& v, const Tensor& update) {
              const Tensor g = as_type(update, v.type()), square = g * g;
              return v - sign(v - square) * square * (1 - o.b2);
            },
            state.at("nu"), updates);
        return adaptive_step(state, o.b1, o.b2, o.eps, o.eps_root);
      });
}

Update scale_by_rss(const RssScaleOptions& o) {
  return stateful(
      [o](const Tree& params) {
        Tree state;
        state["sum_of_squares"] = filled_like(params, o.initial_accumulator_value);
        return state;
      },
      [o](const Tree& updates, Tree& state, const Tree&) {
        state["sum_of_squares"] = zip_leaves(
            [](const Tensor& s, const Tensor& update) {
              const Tensor g = as_type(update, s.type());
              return s + g * g;
            },
            state.at("sum_of_squares"), updates);
        return zip_leaves([&](const Tensor& u,
                              const Tensor& s) { return u * select(s > 0, rsqrt(s + o.eps), 0); },
                          updates, state.at("sum_of_squares"));
      });
}

Update scale_by_rms(const RmsScaleOptions& o) {
  return stateful(
      [o](const Tree& params) {
        Tree state;
        state["nu"] = filled_like(params, o.initial_scale);
        return state;
      },
      [o](const Tree& updates, Tree& state, const Tree&) {
        state["nu"] = moment(state.at("nu"), updates, o.decay, 2);
        return over_root(updates, state.at("nu"), o.eps);
      });
}

Update scale_by_stddev(const RmsScaleOptions& o) {
  return stateful(
      [o](const Tree& params) {
        Tree state;
        state["mu"] = filled_like(params, 0);
        state["nu"] = filled_like(params, o.initial_scale);
        return state;
      },
      [o](const Tree& updates, Tree& state, const Tree&) {
        state["mu"] = moment(state.at("mu"), updates, o.decay, 1);
        state["nu"] = moment(state.at("nu"), updates, o.decay, 2);
        const Tree variance = zip_leaves([](const Tensor& m, const Tensor& v) { return v - m * m; },
                                         state.at("mu"), state.at("nu"));
        return over_root(updates, variance, o.eps);
      });
}

Update trace(const TraceOptions& o) {
  return stateful(
      [](const Tree& params) {
        Tree state;
        state["trace"] = filled_like(params, 0);
        return state;
      },
      [o](const Tree& updates, Tree& state, const Tree&) {
        const auto add_decayed = [&](const Tensor& g, const Tensor& t) { return g + t * o.decay; };
        state["trace"] = zip_leaves(add_decayed, updates, state.at("trace"));
        return o.nesterov ? zip_leaves(add_decayed, updates, state.at("trace")) : state.at("trace");
      });
}

Update add_noise(const NoiseOptions& o) {
  return stateful(
      [o](const Tree&) {
        Tree state;
        state["count"] = tensor(0);
        state["key"] = random::key(o.seed);
        return state;
      },
      [o](const Tree& updates, Tree& state, const Tree&) {
        const Tensor count = state.at("count").tensor + 1;
        const Tensor size = o.eta / pow(count, o.gamma);
        Tensor key = state.at("key");
        const Tree noisy = map_leaves(updates, [&](const Tensor& u) {
          const auto [noise, next] = random::normal(key, {.shape = u.shape(), .type = u.type()});
          key = next;
          return u + noise * size;
        });
        state["count"] = count;
        state["key"] = key;
        return noisy;
      });
}

}  // namespace nx::optim
