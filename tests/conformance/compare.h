// Comparison of what a call gave with what the reference gave, under one table of tolerances.
#pragma once

#include <string>
#include <string_view>

#include "conformance/case.h"

namespace nx::conformance {

/// How far values of inexact types may be off; integers, types, shapes and labels never are.
struct Tolerance {
  double f64_relative = 1e-10, f64_absolute = 1e-12;
  double f32_relative = 1e-5, f32_absolute = 1e-6;
  int f32_units = 0, f64_units = 0;  // of the last place
  int small_units = 1;               // the same for f16, bf16 and f8
  double small_absolute = 0;
  double small_of_largest = 0;       // of the largest element, for f16, bf16 and f8
  double from_small_relative = 0;    // of f32 results that are computed from f16 or bf16
};

/// The row of the case's function in the table of tolerances, or the default one.
Tolerance tolerance_of(const Case& c, std::string_view compiler);

/// What differs, or an empty text.
std::string difference(const Json& expect, const Json& got, const Tolerance& tolerance);

}  // namespace nx::conformance
