// Numbers as elements of a type.
#pragma once

#include "nx/dtype.h"
#include "nx/number.h"

namespace nx::transform {

/// Writes the number as one element of `type`, rounded to it.
void write_number(const Number& number, DType type, void* to);
/// The element of `type` at `from` as a number.
Number read_number(DType type, const void* from);
/// The number that an element of `type` made from it holds: equal for 1 and 1.0 as f32.
inline Number rounded(const Number& number, DType type) {
  alignas(16) unsigned char element[16];
  write_number(number, type, element);
  return read_number(type, element);
}

}  // namespace nx::transform
