// Functions of initialisers: a call makes the initialiser of the options and calls it with a shape,
// a type and a key. Examples of random ones were recorded from the reference.
#include "nn/families.h"
#include "nx/initializers.h"
#include "ops/row_values.h"

namespace nx::nn {
namespace {

using ops::Accepts;
using ops::Accuracy;
using ops::Examples;
using ops::f;
using ops::FunctionRow;
using ops::list;
using ops::NamesRule;
using ops::Options;
using ops::RowMaker;
using ops::t;
using ops::types;
using ops::Value;

/// What the initialisers take, by the names of the reference's options.
struct NoOptions {
  template <class F>
  static void fields(F&&) {}
};
struct ValueOptions {
  double value = 0;
  template <class F>
  static void fields(F&& f) {
    f("value", &ValueOptions::value);
  }
};
struct ScaleOptions {
  std::optional<double> scale;
  template <class F>
  static void fields(F&& f) {
    f("scale", &ScaleOptions::scale);
  }
};
struct NormalOptions {
  double mean = 0, scale = 1e-2;
  template <class F>
  static void fields(F&& f) {
    f("mean", &NormalOptions::mean);
    f("scale", &NormalOptions::scale);
  }
};

template <Initializer (*kMake)()>
Initializer plain(const NoOptions&) {
  return kMake();
}
template <Initializer (*kMake)(double)>
Initializer scaled(const ScaleOptions& o, double otherwise) {
  return kMake(o.scale.value_or(otherwise));
}
Initializer full_of(const ValueOptions& o) { return full_initializer(o.value); }
Initializer normal_of(const NormalOptions& o) { return normal_initializer(o.mean, o.scale); }
Initializer uniform_of(const ScaleOptions& o) { return scaled<uniform_initializer>(o, 1e-2); }
Initializer glorot_uniform_of(const ScaleOptions& o) { return scaled<glorot_uniform>(o, 1); }
Initializer glorot_normal_of(const ScaleOptions& o) { return scaled<glorot_normal>(o, 1); }
Initializer he_uniform_of(const ScaleOptions& o) { return scaled<he_uniform>(o, 2); }
Initializer he_normal_of(const ScaleOptions& o) { return scaled<he_normal>(o, 2); }
Initializer lecun_uniform_of(const ScaleOptions& o) { return scaled<lecun_uniform>(o, 1); }
Initializer lecun_normal_of(const ScaleOptions& o) { return scaled<lecun_normal>(o, 1); }

template <class O, Initializer (*kMake)(const O&)>
Value draw(std::span<const Value> args, const Options& options) {
  ops::expect_arguments(args, 3, 3);
  const Dims shape = ops::FromValue<Dims>::get(args[0]);
  return kMake(ops::options_from<O>(options))(shape, ops::FromValue<DType>::get(args[1]),
                                              ops::FromValue<Tensor>::get(args[2]));
}

constexpr RowMaker initializer{.module = "Axon.Initializers",
                               .accepts = Accepts::kSpecial,
                               .names = NamesRule::kDrop,
                               .accuracy = Accuracy{8},
                               .differentiable = false};

std::vector<Value> arguments(Value shape) {
  return {std::move(shape), types(DType::f32), t({0, 42}, {.type = u32})};
}

const FunctionRow kFunctions[] = {
    initializer(
        "zeros", "Zeros.", draw<NoOptions, plain<zeros_initializer>>,
        +[]() -> Examples {
          return {{arguments(list(3)), {}, f({0, 0, 0})}};
        }),
    initializer(
        "ones", "Ones.", draw<NoOptions, plain<ones_initializer>>,
        +[]() -> Examples {
          return {{arguments(list(3)), {}, f({1, 1, 1})}};
        }),
    initializer(
        "full", "One value, repeated.", draw<ValueOptions, full_of>,
        +[]() -> Examples {
          return {{arguments(list(2)), {{"value", 0.25}}, f({0.25, 0.25})}};
        }),
    initializer(
        "identity", "The identity matrix.", draw<NoOptions, plain<identity_initializer>>,
        +[]() -> Examples {
          return {{arguments(list(2, 2)), {}, f({{1, 0}, {0, 1}})}};
        }),
    initializer(
        "uniform", "Drawn evenly from [-scale, scale).", draw<ScaleOptions, uniform_of>,
        +[]() -> Examples {
          return {{arguments(list(2, 2)),
                   {{"scale", 0.5}},
                   f({{0.0741443634, 0.356637478}, {-0.440538883, -0.437644482}})}};
        }),
    initializer(
        "normal", "Normally distributed around the mean.", draw<NormalOptions, normal_of>,
        +[]() -> Examples {
          return {{arguments(list(2, 2)),
                   {{"mean", 1.0}, {"scale", 0.5}},
                   f({{1.09346771, 1.5326668}, {0.220343411, 0.232351899}})}};
        }),
    initializer(
        "variance_scaling",
        "Drawn with a variance of scale over the number of inputs, outputs or their mean.",
        draw<VarianceScalingOptions, variance_scaling>,
        +[]() -> Examples {
          return {{arguments(list(2, 3)),
                   {},
                   f({{0.432936877, 0.793789864, 0.804214954},
                      {-0.574688673, -0.629611373, 0.0892591104}})}};
        }),
    initializer(
        "glorot_uniform",
        "Even with a variance of scale over the mean of inputs and outputs (Glorot and Bengio "
        "2010).",
        draw<ScaleOptions, glorot_uniform_of>,
        +[]() -> Examples {
          return {{arguments(list(3)), {}, f({0.256843567, -1.3850925, -1.52607143})}};
        }),
    initializer(
        "glorot_normal",
        "Normal, cut at two deviations, with a variance of scale over the mean of inputs and "
        "outputs (Glorot and Bengio 2010).",
        draw<ScaleOptions, glorot_normal_of>,
        +[]() -> Examples {
          return {{arguments(list(2, 3)),
                   {},
                   f({{0.417704195, 0.752627492, 0.76193285},
                      {-0.551664293, -0.602865696, 0.0866108239}})}};
        }),
    initializer(
        "he_uniform", "Even with a variance of scale over the number of inputs (He et al. 2015).",
        draw<ScaleOptions, he_uniform_of>,
        +[]() -> Examples {
          return {{arguments(list(3)), {}, f({0.363231659, -1.95881677, -2.15819097})}};
        }),
    initializer(
        "he_normal",
        "Normal, cut at two deviations, with a variance of scale over the number of inputs (He et "
        "al. 2015).",
        draw<ScaleOptions, he_normal_of>,
        +[]() -> Examples {
          return {{arguments(list(3)), {}, f({0.286720216, -1.90239584, -2.26435375})}};
        }),
    initializer(
        "lecun_uniform",
        "Even with a variance of scale over the number of inputs (LeCun et al. 1998).",
        draw<ScaleOptions, lecun_uniform_of>,
        +[]() -> Examples {
          return {{arguments(list(3)), {}, f({0.256843567, -1.3850925, -1.52607143})}};
        }),
    initializer(
        "lecun_normal",
        "Normal, cut at two deviations, with a variance of scale over the number of inputs (LeCun "
        "et al. 1998).",
        draw<ScaleOptions, lecun_normal_of>,
        +[]() -> Examples {
          return {{arguments(list(3)), {}, f({0.202741817, -1.34519708, -1.60114002})}};
        }),
};

}  // namespace

const ops::Family kInitializersFamily{"initializers", {}, kFunctions};

}  // namespace nx::nn
