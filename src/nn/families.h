// Families of the functions of networks, in the form of the operations' (ops/function_row.h).
#pragma once

#include <span>

#include "ops/function_row.h"

namespace nx::nn {

extern const ops::Family kActivationsFamily;
extern const ops::Family kInitializersFamily;
extern const ops::Family kLayersFamily;
extern const ops::Family kLossesFamily;   // targets and predictions: for a trainer, by name
extern const ops::Family kTargetsFamily;  // of other arguments
extern const ops::Family kMetricsFamily;

/// Every family of this folder.
std::span<const ops::Family* const> families();

}  // namespace nx::nn
