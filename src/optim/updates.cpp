// Stages without a state, each a few lines over the leaves of a tree.
#include "nx/update.h"

#include "ops/reduce.h"
#include "optim/leaves.h"

namespace nx::optim {
namespace {

/// A stage that changes each leaf by itself.
template <class F>
Update leafwise(F f) {
  return stateless([f](const Tree& updates, const Tree&) { return map_leaves(updates, f); });
}

/// The Euclidean norm, at least `least`. In f32 or wider: squares of small types overflow early.
Tensor norm_of(const Tensor& t, double least) {
  const Tensor wide = as_type(t, moment_type(t.type()));
  return max(ops::root_of_squares(sum(wide * wide)), least);
}

}  // namespace

Update stateless(std::function<Tree(const Tree& updates, const Tree& params)> apply) {
  return Update(
      Stage{nullptr, [apply = std::move(apply)](const Tree& updates, Tree&, const Tree& params) {
              return apply(updates, params);
            }});
}

Update identity() {
  return leafwise([](const Tensor& t) { return t; });
}

Update scale(double step_size) {
  return leafwise([step_size](const Tensor& t) { return t * step_size; });
}

Update clip(const ClipOptions& o) {
  return leafwise([o](const Tensor& t) { return nx::clip(t, -o.delta, o.delta); });
}

Update clip_by_global_norm(const ClipNormOptions& o) {
  return stateless([o](const Tree& updates, const Tree&) {
    Tensor squares;
    detail::for_each_leaf(updates, [&](const Tensor& t) {
      const Tensor wide = as_type(t, moment_type(t.type()));
      const Tensor own = sum(wide * wide);
      squares = squares.has_value() ? squares + own : own;
    });
    if (!squares.has_value()) return updates;
    const Tensor norm = ops::root_of_squares(squares), divisor = select(equal(norm, 0), 1, norm);
    return map_leaves(updates, [&](const Tensor& t) {
      return select(norm < o.max_norm, t, t / divisor * o.max_norm);
    });
  });
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
  return stateless([o](const Tree& updates, const Tree& params) {
    return zip_leaves([&](const Tensor& u, const Tensor& p) { return u + p * o.decay; }, updates,
                      params);
  });
}

Update scale_by_trust_ratio(const TrustRatioOptions& o) {
  return stateless([o](const Tree& updates, const Tree& params) {
    return zip_leaves(
        [&](const Tensor& u, const Tensor& p) {
          const Tensor of_p = norm_of(p, o.min_norm), of_u = norm_of(u, o.min_norm);
          const Tensor none = logical_or(equal(of_p, 0), equal(of_u, 0));
          const Tensor ratio = of_p * o.trust_coefficient / select(none, 1, of_u + o.eps);
          return u * select(none, 1, ratio);
        },
        updates, params);
  });
}

}  // namespace nx::optim
