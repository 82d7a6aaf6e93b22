// The shapes of kernels: tile kernels over contiguous runs, prepared kernels over whole arrays,
// and the status they report errors through (kernels never throw).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "nx/dtype.h"
#include "nx/shape.h"

namespace nx::kernels {

/// Sticky first error of a run. Eager calls pass one and throw after the loop; compiled code
/// passes none (division by zero then gives 0, an index out of range is clamped).
enum class KernelError : std::uint8_t { kNone, kDivisionByZero, kIndexOutOfRange, kNegativeShift };

class KernelStatus {
 public:
  void set(KernelError error) noexcept {
    KernelError none = KernelError::kNone;
    error_.compare_exchange_strong(none, error, std::memory_order_relaxed);
  }
  /// An index that is not in 0 … size - 1, at `position` among the indices. The first one of them
  /// is kept, whichever thread comes first.
  void set_index(std::int64_t position, std::int64_t index, std::int64_t size) noexcept {
    while (writing_.test_and_set(std::memory_order_acquire)) {}
    if (error() == KernelError::kNone || position < position_) {
      set(KernelError::kIndexOutOfRange);
      position_ = position;
      index_ = index;
      size_ = size;
    }
    writing_.clear(std::memory_order_release);
  }
  KernelError error() const noexcept { return error_.load(std::memory_order_relaxed); }
  /// Of the index; to be read after the run.
  std::int64_t index() const noexcept { return index_; }
  std::int64_t size() const noexcept { return size_; }

 private:
  std::atomic<KernelError> error_{KernelError::kNone};
  std::atomic_flag writing_;
  std::int64_t position_ = 0, index_ = 0, size_ = 0;
};

/// One run of an elementwise kernel: `count` elements, all operands contiguous. `out` may be the
/// same address as an operand of the same element size (element by element in place).
struct TileCall {
  const void* const* in;
  void* out;
  std::size_t count;
  KernelStatus* status;  // may be null
};
using TileKernel = void (*)(const TileCall&);

/// Reduces rows of contiguous elements, one after the other, each into one value:
/// `acc[r] = combine(acc[r], in[r * columns .. (r + 1) * columns))`. The order of combination
/// depends on `columns` alone.
using RowReduceKernel = void (*)(const void* in, std::size_t rows, std::size_t columns, void* acc);

/// An array in memory: row-major, contiguous.
struct ArraySpec {
  DType type;
  Dims dims;
};

/// A call of a prepared kernel: contiguous row-major arrays.
struct KernelCall {
  const void* const* in;
  void* const* out;
  void* scratch;         // scratch_bytes() of them, 64-byte aligned
  KernelStatus* status;  // may be null
  int threads;           // 1: stay on this thread
};

/// A kernel over whole arrays, prepared once for its shapes and run many times, from many threads
/// at once.
class PreparedKernel {
 public:
  virtual ~PreparedKernel() = default;
  virtual std::size_t scratch_bytes() const { return 0; }
  virtual void run(const KernelCall& call) const = 0;
  /// Estimated work in microseconds on one thread: a step goes parallel above about 20.
  virtual double cost_us() const { return 1; }
};

}  // namespace nx::kernels
