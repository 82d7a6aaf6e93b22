// The list of families. Adding one is a line here and one in families.h.
#include "ops/families.h"

namespace nx::ops {

std::span<const Family* const> families() {
  static constexpr const Family* kFamilies[] = {
      &kCreationFamily, &kMovementFamily, &kAssemblyFamily,  &kReduceFamily, &kContractFamily,
      &kIndexingFamily, &kRandomFamily,   &kConstantsFamily, &kAboutFamily,
  };
  return kFamilies;
}

}  // namespace nx::ops
