// Every family of operations, one line each. A family's file defines it.
#pragma once

#include "ops/function_row.h"

namespace nx::ops {

extern const Family kSimpleFamily;
extern const Family kExponentialFamily;
extern const Family kTrigonometricFamily;
extern const Family kHyperbolicFamily;
extern const Family kSpecialFamily;
extern const Family kArithmeticFamily;
extern const Family kPowerFamily;
extern const Family kDivisionFamily;
extern const Family kBitsFamily;
extern const Family kCompareFamily;
extern const Family kSelectFamily;
extern const Family kConvertFamily;
extern const Family kNamesFamily;
extern const Family kCreationFamily;
extern const Family kMovementFamily;
extern const Family kAssemblyFamily;
extern const Family kReduceFamily;
extern const Family kOrderFamily;
extern const Family kCumulativeFamily;
extern const Family kStatisticsFamily;
extern const Family kDiagonalFamily;
extern const Family kArrangeFamily;
extern const Family kContractFamily;
extern const Family kIndexingFamily;
extern const Family kRandomFamily;
extern const Family kConstantsFamily;
extern const Family kAboutFamily;

}  // namespace nx::ops
