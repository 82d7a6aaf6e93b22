// layer: core
// Tensors as text, for people: type, shape with names, vectorised axes, rows.
//
//   std::cout << nx::tensor({{1, 2}, {3, 4}});
//   #nx.Tensor<
//     s32[2][2]
//     [
//       [1, 2],
//       [3, 4]
//     ]
//   >
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

struct InspectOptions {
  std::int64_t limit = 50;  ///< Elements shown before `...`; -1 shows all.
};

/// The text of a tensor. Never throws for one without values: a traced tensor and a template say
/// so, a donated one says that it was consumed. A mark of donation is shown as `[donatable]`.
NX_API std::string inspect(const Tensor& tensor, const InspectOptions& options = {});
NX_API std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace nx
