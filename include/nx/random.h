// layer: ops
// Random numbers from explicit keys (threefry2x32): the same key gives the same numbers, on every
// machine and compiler, and every function also returns the key to go on with.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx::random {

/// The key of a seed: u32[2].
NX_API Tensor key(const Operand& seed);

struct SplitOptions {
  std::int64_t parts = 2;
  template <class F>
  static void fields(F&& f) {
    f("parts", &SplitOptions::parts);
  }
};
/// `parts` independent keys: u32[parts, 2].
NX_API Tensor split(const Tensor& key, const SplitOptions& options = {});
/// The key mixed with a number, such as a step's.
NX_API Tensor fold_in(const Tensor& key, const Operand& data);

struct DrawOptions {
  Dims shape = {};
  DType type = DType::f32;
  Names names = {};
  template <class F>
  static void fields(F&& f) {
    f("shape", &DrawOptions::shape);
    f("type", &DrawOptions::type);
    f("names", &DrawOptions::names);
  }
};
using UniformOptions = DrawOptions;
using NormalOptions = DrawOptions;
using GumbelOptions = DrawOptions;
/// Values in [0, 1), or in [min, max), and the next key.
NX_API std::pair<Tensor, Tensor> uniform(const Tensor& key, const UniformOptions& options = {});
NX_API std::pair<Tensor, Tensor> uniform(const Tensor& key, const Operand& min, const Operand& max,
                                         const UniformOptions& options = {});
/// Values drawn from the key itself, without splitting it first: for a key that is used once.
NX_API Tensor uniform_split(const Tensor& key, const Operand& min, const Operand& max,
                            const UniformOptions& options = {});
NX_API Tensor normal_split(const Tensor& key, const Operand& mean,
                           const Operand& standard_deviation, const NormalOptions& options = {});
/// Normally distributed values of that mean and standard deviation, and the next key.
NX_API std::pair<Tensor, Tensor> normal(const Tensor& key, const NormalOptions& options = {});
NX_API std::pair<Tensor, Tensor> normal(const Tensor& key, const Operand& mean,
                                        const Operand& standard_deviation,
                                        const NormalOptions& options = {});

struct RandintOptions {
  Dims shape = {};
  DType type = DType::s32;
  Names names = {};
  template <class F>
  static void fields(F&& f) {
    f("shape", &RandintOptions::shape);
    f("type", &RandintOptions::type);
    f("names", &RandintOptions::names);
  }
};
/// Integers in [min, max), and the next key.
NX_API std::pair<Tensor, Tensor> randint(const Tensor& key, const Operand& min, const Operand& max,
                                         const RandintOptions& options = {});

NX_API Tensor randint_split(const Tensor& key, const Operand& min, const Operand& max,
                            const RandintOptions& options = {});

/// Values of the standard Gumbel distribution, -log(-log(u)) with u even in (0, 1), and the next key:
/// the largest of logits + gumbel is a draw from softmax(logits).
NX_API std::pair<Tensor, Tensor> gumbel(const Tensor& key, const GumbelOptions& options = {});
NX_API Tensor gumbel_split(const Tensor& key, const GumbelOptions& options = {});

struct ShuffleOptions {
  Axis axis = 0;
  bool independent = false;  ///< Each line along the axis in an order of its own.
  template <class F>
  static void fields(F&& f) {
    f("axis", &ShuffleOptions::axis);
    f("independent", &ShuffleOptions::independent);
  }
};
/// The slices along an axis in random order, and the next key.
NX_API std::pair<Tensor, Tensor> shuffle(const Tensor& key, const Operand& x,
                                         const ShuffleOptions& options = {});

struct ChoiceOptions {
  std::int64_t samples = 1;
  std::optional<Axis> axis = {};  ///< Without it single elements, from all of them.
  bool replace = true;            ///< Whether one may be drawn twice.
  template <class F>
  static void fields(F&& f) {
    f("samples", &ChoiceOptions::samples);
    f("axis", &ChoiceOptions::axis);
    f("replace", &ChoiceOptions::replace);
  }
};
/// Random slices along an axis, all equally likely or with probabilities `p` (one for each), and the
/// next key. Throws ArgumentError for more samples than there are, without replacement.
NX_API std::pair<Tensor, Tensor> choice(const Tensor& key, const Operand& x,
                                        const ChoiceOptions& options = {});
NX_API std::pair<Tensor, Tensor> choice(const Tensor& key, const Operand& x, const Operand& p,
                                        const ChoiceOptions& options = {});

}  // namespace nx::random
