// Kernels of our own that programs call by name, where the device's memory is the host's and the
// kernel outruns what XLA makes of the operation. Needs no plugin.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "kernels/tile.h"

namespace nx::xla {

/// Whether the node's row says that its kernel outruns XLA for these operands.
bool is_outrun(const graph::Graph& graph, const graph::Node& node);

struct CalledKernel {
  std::string name;  // the operation with types and attributes, as a reader of the program sees it
  std::size_t scratch_bytes = 0;
};

/// The kernels of one program. They stay prepared for as long as this does; the names stay known
/// for ever, so that a run that outlives its program still finds them.
class CalledKernels {
 public:
  /// Nothing when XLA had better compute the node.
  std::optional<CalledKernel> add(const graph::Graph& graph, const graph::Node& node);

 private:
  std::vector<std::shared_ptr<const kernels::PreparedKernel>> kept_;
};

/// The kernel of a name that was added once; null for any other name. May be called from any
/// thread.
std::shared_ptr<const kernels::PreparedKernel> find_called_kernel(std::string_view name);

}  // namespace nx::xla
