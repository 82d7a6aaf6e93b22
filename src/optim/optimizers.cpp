// Optimizers: what each is made of.
#include "nx/optim.h"

namespace nx::optim {

Update adam(const AdamOptions& o) {
  return compose(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root}), scale(-o.learning_rate));
}

Update adamw(const AdamWOptions& o) {
  return compose(compose(scale_by_adam({o.b1, o.b2, o.eps, o.eps_root}),
                         add_decayed_weights({o.decay})),
                 scale(-o.learning_rate));
}

Update sgd(const SgdOptions& o) {
  const Update step = scale(-o.learning_rate);
  if (o.momentum == 0) return step;
  return compose(trace({o.momentum, o.nesterov}), step);
}

}  // namespace nx::optim
