// Kernels of our own that programs call by name, where the device's memory is the host's and the
// kernel outruns what XLA makes of the operation. Needs no plugin.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "kernels/tile.h"

namespace nx::xla {

struct CalledKernel {
  std::string name;  // the operation with types and attributes, as a reader of the program sees it
  std::size_t scratch_bytes = 0;
};

/// The kernels of one program. They stay prepared for as long as this does; the names stay known
/// for ever, so that a run that outlives its program still finds them.
class CalledKernels {
 public:
  /// `can_call` is asked when there is something to call.
  explicit CalledKernels(std::function<bool()> can_call = [] { return true; })
      : can_call_(std::move(can_call)) {}
  /// Nothing when XLA had better compute the node, or has to.
  std::optional<CalledKernel> add(const graph::Graph& graph, const graph::Node& node);

 private:
  std::function<bool()> can_call_;
  std::vector<std::shared_ptr<const kernels::PreparedKernel>> kept_;
};

/// The kernel of a name that was added once; null for any other name. May be called from any
/// thread.
std::shared_ptr<const kernels::PreparedKernel> find_called_kernel(std::string_view name);

}  // namespace nx::xla
