// The stages, each a few lines over the leaves of a tree.
#include "nx/optim.h"
#include "nx/ops.h"

namespace nx::optim {
namespace {

/// A stage without state that changes each leaf by itself.
template <class F>
Update leafwise(F f) {
  return Update(Stage{nullptr, [f](const Tree& updates, Tree&, const Tree&) {
                        return map_leaves(updates, f);
                      }});
}

/// Zeros like the parameters, each in a buffer of its own: a state may be donated (R13).
Tree zeros_like(const Tree& params) {
  return map_leaves(params, [](const Tensor& t) {
    return nx::full(t.shape(), 0, {.type = t.type(), .names = t.names()});
  });
}

/// decay * moment + (1 - decay) * update^order
Tree moment(const Tree& old, const Tree& updates, double decay, int order) {
  return zip_leaves(
      [&](const Tensor& m, const Tensor& g) {
        return m * decay + (order == 1 ? g : g * g) * (1 - decay);
      },
      old, updates);
}

Tree scaled(const Tree& tree, const Tensor& factor) {
  return map_leaves(tree, [&](const Tensor& t) { return t * factor; });
}

}  // namespace

Update identity() {
  return leafwise([](const Tensor& t) { return t; });
}

Update scale(double step_size) {
  return Update(Stage{[step_size](const Tree&) {
                        Tree state;
                        state["scale"] = tensor(step_size, {.type = f32});
                        return state;
                      },
                      [](const Tree& updates, Tree& state, const Tree&) {
                        return scaled(updates, state.at("scale").tensor);
                      }});
}

Update scale_by_adam(const AdamScaleOptions& o) {
  return Update(Stage{
      [](const Tree& params) {
        Tree state;
        state["mu"] = zeros_like(params);
        state["nu"] = zeros_like(params);
        state["count"] = tensor(0);
        return state;
      },
      [o](const Tree& updates, Tree& state, const Tree&) {
        state["mu"] = moment(state.at("mu"), updates, o.b1, 1);
        state["nu"] = moment(state.at("nu"), updates, o.b2, 2);
        const Tensor count = state.at("count").tensor + 1;
        state["count"] = count;
        // The corrections are scalars: one division each, whatever the size of the leaves.
        const Tensor m_factor = 1.0f / (1.0f - pow(o.b1, count));
        const Tensor v_factor = 1.0f / (1.0f - pow(o.b2, count));
        return zip_leaves(
            [&](const Tensor& m, const Tensor& v) {
              return m * m_factor / (sqrt(v * v_factor + o.eps_root) + o.eps);
            },
            state.at("mu"), state.at("nu"));
      }});
}

Update trace(const TraceOptions& o) {
  return Update(Stage{[](const Tree& params) {
                        Tree state;
                        state["trace"] = zeros_like(params);
                        return state;
                      },
                      [o](const Tree& updates, Tree& state, const Tree&) {
                        const auto add_decayed = [&](const Tensor& g, const Tensor& t) {
                          return g + t * o.decay;
                        };
                        state["trace"] = zip_leaves(add_decayed, updates, state.at("trace"));
                        return o.nesterov ? zip_leaves(add_decayed, updates, state.at("trace"))
                                          : state.at("trace");
                      }});
}

Update clip(const ClipOptions& o) {
  return leafwise([o](const Tensor& t) { return nx::clip(t, -o.delta, o.delta); });
}

Update clip_by_global_norm(const ClipNormOptions& o) {
  return Update(Stage{nullptr, [o](const Tree& updates, Tree&, const Tree&) {
                        Tensor squares;
                        detail::for_each_leaf(updates, [&](const Tensor& t) {
                          const Tensor own = sum(t * t);
                          squares = squares.has_value() ? squares + own : own;
                        });
                        if (!squares.has_value()) return updates;
                        const Tensor norm = sqrt(squares);
                        return map_leaves(updates, [&](const Tensor& t) {
                          return select(norm < o.max_norm, t, t / norm * o.max_norm);
                        });
                      }});
}

Update centralize() {
  return leafwise([](const Tensor& t) {
    if (t.rank() < 2) return t;
    std::vector<Axis> axes;
    for (int i = 1; i < t.rank(); ++i) axes.emplace_back(i);
    return t - mean(t, {.axes = Axes(std::move(axes)), .keep_axes = true});
  });
}

Update add_decayed_weights(const DecayOptions& o) {
  return Update(Stage{nullptr, [o](const Tree& updates, Tree&, const Tree& params) {
                        return zip_leaves(
                            [&](const Tensor& u, const Tensor& p) { return u + p * o.decay; },
                            updates, params);
                      }});
}

}  // namespace nx::optim
