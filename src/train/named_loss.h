// Losses by name.
#pragma once

#include <string>

#include "nx/loop.h"

namespace nx::train {

/// The loss of that name, of the rows of nn, as it fits the model: cross entropies take logits from
/// a model that does not end in probabilities. Throws ArgumentError, which lists the names.
LossFunction loss_named(const std::string& name, const nn::Model& model);

}  // namespace nx::train
