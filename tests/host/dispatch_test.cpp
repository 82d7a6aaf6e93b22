// Memory for these tests: the runtime's host memory without the rest of the runtime.
#include "graph/dispatch.h"

#include "nx/error.h"
#include "runtime/host_memory.h"

namespace nx::graph {
namespace {

class MemoryOnly final : public Dispatch {
 public:
  Tensors eager(const OpRow& row, std::span<const Tensor>, const Attrs&, const TensorTypes&,
                SourceLocation, detail::Labels*) const override {
    throw InternalError(row.name, "these tests have memory only");
  }
  Tensor eager_elementwise(const OpRow& row, std::span<const EagerOperand>, DType, Dims,
                           SourceLocation, detail::Labels*) const override {
    throw InternalError(row.name, "these tests have memory only");
  }
  detail::Storage* allocate(std::size_t bytes) const override {
    return runtime::allocate_host(bytes);
  }
  detail::Storage* take_over(detail::Storage& consumed, std::size_t bytes) const override {
    return runtime::take_over_host(consumed, bytes);
  }
  detail::Storage* adopt(void* data, std::size_t bytes, std::function<void()> deleter,
                         const char* kind) const override {
    return runtime::adopt_host(data, bytes, std::move(deleter), kind);
  }
  Tensors run(const Graph&, std::span<const Tensor>, SourceLocation) const override {
    throw InternalError("run", "these tests have memory only");
  }
};

}  // namespace

// Weak: when the runtime's own object is linked in, that one is used.
__attribute__((weak)) const Dispatch& dispatch() {
  static const auto* const memory = new MemoryOnly;
  return *memory;
}

}  // namespace nx::graph
