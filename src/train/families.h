// Every function of the library that has a row, of all folders: what the tests, the pages in docs/
// and the runner of recorded cases walk.
#pragma once

#include <vector>

#include "ops/function_row.h"

namespace nx::train {

/// The families of operations, networks and optimizers, in this order.
std::vector<const ops::Family*> all_families();

}  // namespace nx::train
