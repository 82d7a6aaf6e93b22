// Integers as f32, so that differences of unsigned ones do not wrap.
#pragma once

#include "nx/dtype.h"
#include "nx/type.h"

namespace nx::nn {

inline Tensor as_inexact(const Tensor& x) { return as_type(x, to_inexact(x.type())); }

}  // namespace nx::nn
