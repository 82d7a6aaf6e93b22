// Trees of tensors as run-time values.
#pragma once

#include "nx/tree.h"
#include "ops/function_row.h"

namespace nx::conformance {

inline ops::Value value_of_tree(const Tree& tree) {
  if (tree.is_leaf()) return tree.tensor;
  ops::Value::Map map;
  for (const auto& [name, child] : tree.children) map[name] = value_of_tree(child);
  return map;
}

/// The children of both.
inline Tree merged(Tree a, const Tree& b) {
  for (const auto& [name, child] : b.children) a[name] = child;
  return a;
}

}  // namespace nx::conformance
