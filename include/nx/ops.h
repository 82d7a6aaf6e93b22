// layer: ops
// Every operation on tensors, and the operators.
#pragma once

#include "nx/about.h"
#include "nx/arrange.h"
#include "nx/binary.h"
#include "nx/constants.h"
#include "nx/contract.h"
#include "nx/creation.h"
#include "nx/cumulative.h"
#include "nx/diagonal.h"
#include "nx/indexing.h"
#include "nx/movement.h"
#include "nx/operators.h"
#include "nx/order.h"
#include "nx/random.h"
#include "nx/reduce.h"
#include "nx/select.h"
#include "nx/statistics.h"
#include "nx/type.h"
#include "nx/unary.h"
