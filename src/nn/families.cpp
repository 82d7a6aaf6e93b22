// The list of families, by hand, as in ops/registry.cpp.
#include "nn/families.h"

namespace nx::nn {

std::span<const ops::Family* const> families() {
  static constexpr const ops::Family* kFamilies[] = {
      &kActivationsFamily, &kInitializersFamily, &kLayersFamily,
      &kLossesFamily,      &kTargetsFamily,      &kMetricsFamily};
  return kFamilies;
}

}  // namespace nx::nn
