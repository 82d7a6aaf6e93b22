// Running a test on each SIMD target that kernels are compiled for.
#pragma once

#include <cstdint>

#include "kernels/simd_targets.h"
#include <hwy/targets.h>

namespace nx {

/// Runs the test, with the target's name, for each of these that this machine has, in turn.
template <class F>
void on_each_target_of(std::int64_t targets, F&& test) {
  for (std::int64_t left = hwy::SupportedTargets() & targets; left != 0; left &= left - 1) {
    const std::int64_t target = left & -left;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    test(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
}

/// For those that kernels are made for.
template <class F>
void on_every_target(F&& test) {
  on_each_target_of(HWY_TARGETS, test);
}
template <class F>
void on_every_vector_target(F&& test) {
  on_each_target_of(HWY_TARGETS & ~(HWY_SCALAR | HWY_EMU128), test);
}

}  // namespace nx
