// Brings a contraction into the form of a batched matrix product: groups of axes are merged into
// one stride where they lie in memory so, else the operand is packed first.
#include "kernels/dot.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "kernels/elementwise.h"
#include "kernels/strided.h"
#include "kernels/threads.h"

namespace nx::kernels {
namespace {

struct Group {
  std::int64_t size = 1;
  std::optional<std::int64_t> stride;  // of the merged axis; nothing: they cannot be merged
};

Group merge(const ArraySpec& array, const Dims& axes) {
  const Dims strides = row_major_strides(array.dims);
  Group group{1, 1};
  bool first = true;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    const std::int64_t size = array.dims[axis];
    if (size != 1 && group.stride) {
      if (first) {
        group.stride = strides[axis];
        first = false;
      } else if (strides[axis] != *group.stride * group.size) {
        group.stride.reset();
      }
    }
    group.size *= size;
  }
  return group;
}

Dims free_of(const ArraySpec& array, const Dims& contract, const Dims& batch) {
  Dims axes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(array.dims.size()); ++i)
    if (std::find(contract.begin(), contract.end(), i) == contract.end() &&
        std::find(batch.begin(), batch.end(), i) == batch.end())
      axes.push_back(i);
  return axes;
}

/// One operand as [batch, rows, columns], packed first when its axes do not merge or when neither
/// rows nor columns are contiguous.
struct Side {
  std::int64_t batch = 0, rows = 0, columns = 0;  // strides
  bool packed = false;
  StridedCopy copy;
  std::size_t packed_bytes = 0;

  Side(const ArraySpec& array, const Dims& batch_axes, const Dims& row_axes,
       const Dims& column_axes) {
    const Group b = merge(array, batch_axes), r = merge(array, row_axes),
                c = merge(array, column_axes);
    const bool contiguous = (c.size == 1 || c.stride == 1) || (r.size == 1 || r.stride == 1);
    if (b.stride && r.stride && c.stride && contiguous) {
      batch = *b.stride;
      rows = *r.stride;
      columns = *c.stride;
      return;
    }
    packed = true;
    batch = r.size * c.size;
    rows = c.size;
    columns = 1;
    const Dims strides = row_major_strides(array.dims);
    Dims dims, from;
    for (const Dims* axes : {&batch_axes, &row_axes, &column_axes})
      for (const std::int64_t axis : *axes) {
        dims.push_back(array.dims[static_cast<std::size_t>(axis)]);
        from.push_back(strides[static_cast<std::size_t>(axis)]);
      }
    const std::size_t bytes = byte_size_of(array.type);
    copy = StridedCopy(bytes, dims, row_major_strides(dims), from);
    packed_bytes = padded(static_cast<std::size_t>(element_count(dims)) * bytes);
  }
};

/// A contraction as a batched matrix product.
struct Product {
  MatmulSpec matmul;
  Side a, b;
};

Product product_of(const DotSpec& spec) {
  // The order of contracted axes is free: a's order in memory merges most often.
  Dims order(spec.contract_a.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
    return spec.contract_a[static_cast<std::size_t>(x)] <
           spec.contract_a[static_cast<std::size_t>(y)];
  });
  Dims contract_a, contract_b;
  for (const std::int64_t i : order) {
    contract_a.push_back(spec.contract_a[static_cast<std::size_t>(i)]);
    contract_b.push_back(spec.contract_b[static_cast<std::size_t>(i)]);
  }
  const Dims free_a = free_of(spec.a, spec.contract_a, spec.batch_a);
  const Dims free_b = free_of(spec.b, spec.contract_b, spec.batch_b);
  Side a(spec.a, spec.batch_a, free_a, contract_a);
  Side b(spec.b, spec.batch_b, contract_b, free_b);
  const MatmulSpec matmul{
      .type = spec.a.type,
      .batch = merge(spec.a, spec.batch_a).size,
      .m = merge(spec.a, free_a).size,
      .k = merge(spec.a, contract_a).size,
      .n = merge(spec.b, free_b).size,
      .a_batch = a.batch, .a_m = a.rows, .a_k = a.columns,
      .b_batch = b.batch, .b_k = b.rows, .b_n = b.columns,
  };
  return {matmul, std::move(a), std::move(b)};
}

class Dot final : public PreparedKernel {
 public:
  explicit Dot(Product product)
      : spec_(product.matmul), a_(std::move(product.a)), b_(std::move(product.b)) {
    if (spec_.batch * spec_.m * spec_.n == 0 || spec_.k == 0) return;
    matmul_ = small_matmul(spec_);
    if (!matmul_) matmul_ = onednn_matmul(spec_);
    if (!matmul_) matmul_ = blocked_matmul(spec_);
  }
  std::size_t scratch_bytes() const override {
    return a_.packed_bytes + b_.packed_bytes + (matmul_ ? matmul_->scratch_bytes() : 0);
  }
  void run(const KernelCall& call) const override {
    if (!matmul_) {  // an empty sum is 0; a result without elements has no address
      const std::size_t count = static_cast<std::size_t>(spec_.batch * spec_.m * spec_.n);
      if (count != 0) std::memset(call.out[0], 0, count * byte_size_of(spec_.type));
      return;
    }
    char* scratch = static_cast<char*>(call.scratch);
    const void* const a = pack(a_, call.in[0], scratch, call.threads);
    const void* const b = pack(b_, call.in[1], scratch, call.threads);
    matmul_->run(a, b, call.out[0], scratch, call.threads);
    if (is_subbyte(spec_.type))
      wrap_subbyte(spec_.type, call.out[0],
                   static_cast<std::size_t>(spec_.batch * spec_.m * spec_.n));
  }
  double cost_us() const override {
    return matmul_ ? matmul_->cost_us() : 0;
  }

 private:
  static const void* pack(const Side& side, const void* in, char*& scratch, int threads) {
    if (!side.packed) return in;
    side.copy.run(scratch, in, threads);
    const void* const packed = scratch;
    scratch += side.packed_bytes;
    return packed;
  }

  MatmulSpec spec_;
  Side a_, b_;
  std::shared_ptr<const Matmul> matmul_;
};

}  // namespace

std::int64_t runs_of(const MatmulSpec& s) {
  constexpr std::int64_t kLeastRun = 384, kMostRuns = 8;  // shorter runs gain nothing
  if (s.type != DType::f32 || s.batch > 1) return 1;
  return std::clamp<std::int64_t>(s.k / std::max({2 * s.m, 2 * s.n, kLeastRun}), 1, kMostRuns);
}

void add_runs(const MatmulSpec& s, float* c, const char* partials, std::size_t partial_bytes,
              std::int64_t runs, int threads) {
  parallel_for(s.m, threads, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t run = 1; run < runs; ++run) {
      const auto* const more = reinterpret_cast<const float*>(
          partials + partial_bytes * static_cast<std::size_t>(run - 1));
      for (std::int64_t i = begin * s.n; i < end * s.n; ++i) c[i] += more[i];
    }
  });
}

bool is_small_dot(const DotSpec& spec) { return small_matmul(product_of(spec).matmul) != nullptr; }

std::unique_ptr<PreparedKernel> prepare_dot(const DotSpec& spec) {
  return std::make_unique<Dot>(product_of(spec));
}

}  // namespace nx::kernels
