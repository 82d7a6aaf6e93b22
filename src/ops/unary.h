// Rows of unary elementwise operations.
#pragma once

#include "graph/op_row.h"

namespace nx::ops {

extern const graph::OpRow kAbs, kNegate, kSign, kFloor, kCeil, kRound;
extern const graph::OpRow kExp, kExpm1, kLog, kLog1p, kLog2, kLog10, kSigmoid;
extern const graph::OpRow kSqrt, kRsqrt, kCbrt;
extern const graph::OpRow kSin, kCos, kTan, kAsin, kAcos, kAtan;
extern const graph::OpRow kSinh, kCosh, kTanh, kAsinh, kAcosh, kAtanh;
extern const graph::OpRow kErf, kErfc, kErfInv;
extern const graph::OpRow kErfInvGiles;  // to 3e-8, behind random::normal alone
extern const graph::OpRow kBitwiseNot, kCountLeadingZeros, kPopulationCount;
extern const graph::OpRow kLogicalNot, kIsNan, kIsInfinity;

}  // namespace nx::ops
