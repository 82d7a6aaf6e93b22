// All families of operations: one line each here and in registry.cpp, in a family's own file the
// rest.
#pragma once

#include "ops/function_row.h"

namespace nx::ops {

extern const Family kCreationFamily, kMovementFamily, kAssemblyFamily, kReduceFamily,
    kContractFamily, kIndexingFamily, kRandomFamily, kConstantsFamily, kAboutFamily;

}  // namespace nx::ops
