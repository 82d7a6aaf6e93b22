// What eager operations keep between calls: kernels and reductions prepared for their shapes.
#pragma once

#include <memory>
#include <span>

#include "host/eager.h"
#include "kernels/tile_program.h"

namespace nx::host {

struct Prepared {
  std::unique_ptr<kernels::PreparedKernel> kernel;  // or, for a reduction:
  kernels::TileProgram program;
  std::size_t scratch_bytes() const {
    return kernel ? kernel->scratch_bytes() : program.scratch_bytes();
  }
  double cost_us() const { return kernel ? kernel->cost_us() : program.cost_us(); }
};

/// Prepared for this row, these types and attributes; kept in a bounded cache that any thread may
/// use. Throws UnsupportedError as compiling does.
std::shared_ptr<const Prepared> find_prepared(const graph::OpRow& row,
                                              std::span<const EagerInput> in,
                                              const graph::Attrs& attrs,
                                              std::span<const EagerOutput> out);

}  // namespace nx::host
