// Function rows of the constants.
#include <cmath>

#include "nx/constants.h"
#include "ops/families.h"
#include "ops/row_values.h"

namespace nx::ops {
namespace {

/// The type is optional, as it is in C++.
template <Tensor (*kFunction)(DType), DType kDefault>
Value call_constant(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 0, 1);
  if (!options.empty()) throw ArgumentError("call", "constants have no options");
  return kFunction(args.empty() ? kDefault : FromValue<DType>::get(args[0]));
}

template <Tensor (*kFunction)(DType)>
Value call_typed(std::span<const Value> args, const Options& options) {
  expect_arguments(args, 1, 1);
  return call_constant<kFunction, DType::f32>(args, options);
}

#define NX_CONSTANT_(function, call_, text, ...)                                             \
  {.name = #function, .module = "Nx.Constants", .doc = text, .accepts = Accepts::kSpecial,   \
   .names = NamesRule::kDrop, .accuracy = Accuracy{},                                        \
   .examples = +[]() -> Examples { return {__VA_ARGS__}; },                                  \
   .call = call_, .differentiable = false}
#define NX_FLOAT_CONSTANT_(function, text, ...) \
  NX_CONSTANT_(function, (call_constant<&constants::function, DType::f32>), text, __VA_ARGS__)
#define NX_TYPED_CONSTANT_(function, text, ...) \
  NX_CONSTANT_(function, (call_typed<&constants::function>), text, __VA_ARGS__)

const FunctionRow kFunctions[] = {
    NX_FLOAT_CONSTANT_(e, "Euler's number.", {{}, {}, f(2.718281828459045)}),
    NX_FLOAT_CONSTANT_(pi, "Half a turn.", {{}, {}, f(3.141592653589793)}),
    NX_FLOAT_CONSTANT_(euler_gamma, "Euler's constant.", {{}, {}, f(0.5772156649015329)}),
    NX_FLOAT_CONSTANT_(infinity, "Infinity.", {{}, {}, f(INFINITY)}),
    NX_FLOAT_CONSTANT_(neg_infinity, "Minus infinity.", {{}, {}, f(-INFINITY)}),
    NX_FLOAT_CONSTANT_(nan, "Not a number.", {{}, {}, f(NAN)}),
    NX_FLOAT_CONSTANT_(epsilon, "The step from 1 to the next number.",
                       {{}, {}, f(1.1920928955078125e-07)},
                       {{Value(DType::bf16)}, {}, t(0.0078125, {.type = bf16})}),
    NX_FLOAT_CONSTANT_(smallest_positive_normal, "The smallest normal number above 0.",
                       {{}, {}, f(1.1754943508222875e-38)}),
    NX_CONSTANT_(i, (call_constant<&constants::i, DType::c64>), "The imaginary unit.",
                 {{}, {}, t(std::complex<float>(0, 1))}),
    NX_TYPED_CONSTANT_(max, "The largest value of a type; infinity for floats.",
                       {{Value(DType::u8)}, {}, t(255, {.type = u8})},
                       {{Value(DType::f32)}, {}, f(INFINITY)}),
    NX_TYPED_CONSTANT_(min, "The smallest value of a type; minus infinity for floats.",
                       {{Value(DType::s8)}, {}, t(-128, {.type = s8})}),
    NX_TYPED_CONSTANT_(max_finite, "The largest finite value of a type.",
                       {{Value(DType::f16)}, {}, t(65504.0, {.type = f16})}),
    NX_TYPED_CONSTANT_(min_finite, "The smallest finite value of a type.",
                       {{Value(DType::f16)}, {}, t(-65504.0, {.type = f16})}),
};

}  // namespace

const Family kConstantsFamily{"constants", {}, kFunctions};

}  // namespace nx::ops
