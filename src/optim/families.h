// Families of optimizers, updates and schedules, in the form of the operations'
// (ops/function_row.h): a call plays recorded steps.
#pragma once

#include <span>

#include "nx/update.h"
#include "ops/function_row.h"

namespace nx::optim {

extern const ops::Family kUpdatesFamily;
extern const ops::Family kOptimizersFamily;
extern const ops::Family kSchedulesFamily;

/// Every family of this folder.
std::span<const ops::Family* const> families();

/// The update of a name with options, or of {name, options} or {name, number}: "clip",
/// {"scale", -0.1}, {"sgd", {{"learning_rate", 0.1}}}. Throws ArgumentError for an unknown one.
Update update_from(const ops::Value& value);
/// The schedule of {name, value}: {"exponential_decay", 0.1}.
Schedule schedule_from(const ops::Value& value);

/// `args` are parameters and a list of gradients, one for each step. The result lists for each step
/// its `updates`, the next `params` and the `state`.
ops::Value play(const Update& update, std::span<const ops::Value> args);

}  // namespace nx::optim
