// What stages do with the leaves of trees.
#pragma once

#include "nx/ops.h"
#include "nx/tree.h"

namespace nx::optim {

/// The type of a moment: a parameter's, but at least f32.
inline DType moment_type(DType type) { return byte_size_of(type) < 4 ? DType::f32 : type; }

/// A value like the parameters, each leaf in a buffer of its own: a state may be donated (R13).
inline Tree filled_like(const Tree& params, double value) {
  return map_leaves(params, [&](const Tensor& t) {
    return nx::full(t.shape(), value, {.type = moment_type(t.type()), .names = t.names()});
  });
}

/// decay * moment + (1 - decay) * update^order, in the moment's type.
inline Tree moment(const Tree& old, const Tree& updates, double decay, int order) {
  return zip_leaves(
      [&](const Tensor& m, const Tensor& update) {
        const Tensor g = as_type(update, m.type());
        return m * decay + (order == 1 ? g : g * g) * (1 - decay);
      },
      old, updates);
}

inline Tree scaled(const Tree& tree, const Tensor& factor) {
  return map_leaves(tree, [&](const Tensor& t) { return t * factor; });
}

}  // namespace nx::optim
