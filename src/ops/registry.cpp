// The list of families, by hand: nothing registers itself by static initialisers.
#include "ops/families.h"

namespace nx::ops {

std::span<const Family* const> families() {
  static constexpr const Family* kFamilies[] = {
      &kSimpleFamily,
      &kExponentialFamily,
      &kTrigonometricFamily,
      &kHyperbolicFamily,
      &kSpecialFamily,
      &kArithmeticFamily,
      &kPowerFamily,
      &kDivisionFamily,
      &kBitsFamily,
      &kCompareFamily,
      &kSelectFamily,
      &kConvertFamily,
      &kNamesFamily,
      &kCreationFamily,
      &kMovementFamily,
      &kAssemblyFamily,
      &kReduceFamily,
      &kOrderFamily,
      &kCumulativeFamily,
      &kStatisticsFamily,
      &kDiagonalFamily,
      &kArrangeFamily,
      &kContractFamily,
      &kIndexingFamily,
      &kRandomFamily,
      &kConstantsFamily,
      &kAboutFamily,
  };
  return kFamilies;
}

}  // namespace nx::ops
