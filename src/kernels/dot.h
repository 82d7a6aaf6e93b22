// Contraction of two arrays (stablehlo.dot_general) as a batched matrix product.
#pragma once

#include <memory>

#include "kernels/tile.h"

namespace nx::kernels {

/// `contract_a[i]` meets `contract_b[i]`, `batch_a[i]` meets `batch_b[i]`. The result is
/// contiguous: batch axes, free axes of a, free axes of b. Both operands have one type.
struct DotSpec {
  ArraySpec a, b;
  Dims contract_a, batch_a, contract_b, batch_b;
};
/// Integers wrap; large products of f32 go through oneDNN, as does bf16 where it can; f16, bf16 and
/// f8 are added up in f32. The bits of the result do not depend on the number of threads.
std::unique_ptr<PreparedKernel> prepare_dot(const DotSpec& spec);

/// Whether a product is one of those that our own kernel takes (dot_small).
bool is_small_dot(const DotSpec& spec);

/// `c[b, i, j] = sum over k of a[b, i, k] * b[b, k, j]`, c contiguous, strides in elements.
struct MatmulSpec {
  DType type = DType::f32;
  std::int64_t batch = 1, m = 1, k = 1, n = 1;
  std::int64_t a_batch = 0, a_m = 0, a_k = 0;
  std::int64_t b_batch = 0, b_k = 0, b_n = 0;
  friend bool operator==(const MatmulSpec&, const MatmulSpec&) = default;
};

/// How many multiplications a product is.
inline double products_of(const MatmulSpec& s) {
  return static_cast<double>(s.batch) * static_cast<double>(s.m) * static_cast<double>(s.k) *
         static_cast<double>(s.n);
}

/// A part of a scratch, in whole cache lines.
inline std::size_t padded(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// How many runs k is cut into, whose products are added up in order: long rows and columns with a
/// small result are then read by one thread each. It follows from the shape alone, and with it the
/// order of additions. 1 but for f32.
std::int64_t runs_of(const MatmulSpec& spec);
/// Adds the products of the later runs, `partial_bytes` apart, to c, that of the first.
void add_runs(const MatmulSpec& spec, float* c, const char* partials, std::size_t partial_bytes,
              std::int64_t runs, int threads);

class Matmul {
 public:
  virtual ~Matmul() = default;
  virtual std::size_t scratch_bytes() const = 0;
  /// Of one run on one thread.
  virtual double cost_us() const = 0;
  virtual void run(const void* a, const void* b, void* c, void* scratch, int threads) const = 0;
};
/// oneDNN's primitive, from a bounded cache; null when it has none for the type on this machine.
std::shared_ptr<const Matmul> onednn_matmul(const MatmulSpec& spec);
/// Our own kernel for small and middle-sized products of f32 and f64; null for others, by type,
/// shape and strides alone. With one run along k an element depends on its row of a and its column
/// of b, not on m, n or the batch.
std::shared_ptr<const Matmul> small_matmul(const MatmulSpec& spec);
/// Our own loops, for every type.
std::shared_ptr<const Matmul> blocked_matmul(const MatmulSpec& spec);

}  // namespace nx::kernels
