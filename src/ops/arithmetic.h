// The elementwise functions that the rules of structural operations use.
#pragma once

#include "nx/binary.h"
#include "nx/select.h"
#include "nx/type.h"
#include "nx/unary.h"
