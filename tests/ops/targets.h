// Running a test on each SIMD target that kernels are compiled for.
#pragma once

#include <cstdint>
#include <utility>

#include "kernels/simd_targets.h"
#include <hwy/targets.h>

namespace nx {

/// Targets without vectors, for which there are no chains, and those that kernels are not made for.
constexpr std::int64_t kWithout = HWY_SCALAR | HWY_EMU128 | HWY_DISABLED_TARGETS;

/// Runs the test for each SIMD target in turn.
template <class F>
void on_every_target(F&& test) {
  for (std::int64_t left = hwy::SupportedTargets() & ~kWithout; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    test(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

}  // namespace nx
