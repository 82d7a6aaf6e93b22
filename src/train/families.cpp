#include "train/families.h"

#include "nn/families.h"
#include "optim/families.h"

namespace nx::train {

std::vector<const ops::Family*> all_families() {
  std::vector<const ops::Family*> all;
  for (const auto families : {ops::families(), nn::families(), optim::families()})
    all.insert(all.end(), families.begin(), families.end());
  return all;
}

}  // namespace nx::train
