// Gather and scatter: one walk over the rows of indices; each row moves one window of elements.
#include "kernels/gather.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <vector>

#include "core/at.h"
#include "kernels/assemble.h"
#include "kernels/elementwise.h"
#include "kernels/strided.h"
#include "kernels/threads.h"
#include "nx/element.h"

namespace nx::kernels {
namespace {

/// Where rows and windows lie in the operand and in the slices (in elements).
class Layout {
 public:
  explicit Layout(const GatherSpec& spec) : index_type_(spec.indices.type) {
    const auto batch = at(spec.batch);
    const Dims strides = row_major_strides(spec.operand.dims);
    const Dims slices = gathered_dims(spec);
    const Dims slice_strides = row_major_strides(slices);
    const std::size_t row_axes = spec.indices.dims.size() - batch - 1;
    for (std::size_t i = 0; i < batch; ++i) batches_ *= spec.operand.dims[i];
    for (std::size_t i = batch; i + 1 < spec.indices.dims.size(); ++i) rows_ *= spec.indices.dims[i];
    operand_batch_ = batch > 0 ? strides[batch - 1] : 0;
    slice_batch_ = batch > 0 ? slice_strides[batch - 1] : 0;
    // Rows lie at one stride: the axes of the indices stay together in the slices.
    const std::size_t first_row_axis = batch + at(spec.offset);
    slice_row_ = row_axes > 0 ? slice_strides[first_row_axis + row_axes - 1] : 0;
    for (const auto axis : spec.axes) {
      steps_.push_back(strides[batch + at(axis)]);
      sizes_.push_back(spec.operand.dims[batch + at(axis)]);
    }
    std::size_t slice_axis = batch;
    for (std::size_t i = batch; i < spec.operand.dims.size(); ++i) {
      const auto own = static_cast<std::int64_t>(i - batch);
      if (std::find(spec.axes.begin(), spec.axes.end(), own) != spec.axes.end()) continue;
      if (slice_axis == first_row_axis) slice_axis += row_axes;
      window_.push_back(spec.operand.dims[i]);
      operand_window_.push_back(strides[i]);
      slice_window_.push_back(slice_strides[slice_axis++]);
    }
  }

  std::int64_t rows() const { return batches_ * rows_; }
  const Dims& window() const { return window_; }
  const Dims& operand_window() const { return operand_window_; }
  const Dims& slice_window() const { return slice_window_; }

  /// First element of the window that row `row` (over all batches) names.
  std::int64_t operand_offset(std::int64_t row, const void* indices, KernelStatus* status) const {
    std::int64_t offset = row / rows_ * operand_batch_;
    const auto count = static_cast<std::int64_t>(sizes_.size());
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t index = read_index(index_type_, indices, row * count + j);
      const std::int64_t inside = std::clamp<std::int64_t>(index, 0, sizes_[at(j)] - 1);
      if (inside != index && status != nullptr)
        status->set_index(row * count + j, index, sizes_[at(j)]);
      offset += inside * steps_[at(j)];
    }
    return offset;
  }
  std::int64_t slice_offset(std::int64_t row) const {
    return row / rows_ * slice_batch_ + row % rows_ * slice_row_;
  }

 private:
  DType index_type_;
  std::int64_t batches_ = 1, rows_ = 1;
  std::int64_t operand_batch_ = 0, slice_batch_ = 0, slice_row_ = 0;
  Dims steps_, sizes_;
  Dims window_, operand_window_, slice_window_;
};

class Gather final : public PreparedKernel {
 public:
  explicit Gather(const GatherSpec& spec)
      : bytes_(byte_size_of(spec.operand.type)),
        layout_(spec),
        copy_(bytes_, layout_.window(), layout_.slice_window(), layout_.operand_window()),
        cost_us_(static_cast<double>(layout_.rows()) * (0.01 + copy_.cost_us())) {
    single_ = element_count(layout_.window()) == 1;
  }
  void run(const KernelCall& call) const override {
    const auto bytes = static_cast<std::int64_t>(bytes_);
    const char* const from = static_cast<const char*>(call.in[0]);
    char* const to = static_cast<char*>(call.out[0]);
    parallel_for(layout_.rows(), call.threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const char* const source =
            from + layout_.operand_offset(row, call.in[1], call.status) * bytes;
        char* const target = to + layout_.slice_offset(row) * bytes;
        if (single_) std::memcpy(target, source, bytes_);
        else copy_.run(target, source);
      }
    });
  }
  double cost_us() const override { return cost_us_; }

 private:
  std::size_t bytes_;
  Layout layout_;
  StridedCopy copy_;
  double cost_us_;
  bool single_ = false;
};

template <class T>
void add_window(void* to_address, const void* from_address, const Dims& dims, const Dims& to_strides,
                const Dims& from_strides) {
  T* const to = static_cast<T*>(to_address);
  const T* const from = static_cast<const T*>(from_address);
  Dims index(dims.size(), 0);
  const std::int64_t inner = dims.empty() ? 1 : dims.back();
  const std::int64_t to_step = dims.empty() ? 0 : to_strides.back();
  const std::int64_t from_step = dims.empty() ? 0 : from_strides.back();
  std::int64_t outer = inner == 0 ? 0 : element_count(dims) / inner;
  std::int64_t out = 0, in = 0;
  for (; outer > 0; --outer) {
    for (std::int64_t i = 0; i < inner; ++i) {
      T& sum = to[out + i * to_step];
      if constexpr (std::is_integral_v<T>) {  // wraps
        using U = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
        sum = static_cast<T>(static_cast<U>(sum) + static_cast<U>(from[in + i * from_step]));
      } else {
        sum = static_cast<T>(sum + from[in + i * from_step]);
      }
    }
    for (std::size_t axis = dims.size() - (dims.empty() ? 0 : 1); axis-- > 0;) {
      out += to_strides[axis];
      in += from_strides[axis];
      if (++index[axis] < dims[axis]) break;
      out -= dims[axis] * to_strides[axis];
      in -= dims[axis] * from_strides[axis];
      index[axis] = 0;
    }
  }
}

class ScatterKernel final : public PreparedKernel {
 public:
  ScatterKernel(const GatherSpec& spec, Scatter mode)
      : type_(spec.operand.type),
        count_(element_count(spec.operand.dims)),
        bytes_(byte_size_of(spec.operand.type)),
        mode_(mode),
        layout_(spec),
        whole_(bytes_, {element_count(spec.operand.dims)}, {1}, {1}),
        copy_(bytes_, layout_.window(), layout_.operand_window(), layout_.slice_window()) {
    add_ = visit_element(spec.operand.type,
                         [](auto element) -> Add { return &add_window<decltype(element)>; });
  }
  void run(const KernelCall& call) const override {
    if (call.out[0] != call.in[0]) whole_.run(call.out[0], call.in[0], call.threads);
    const auto bytes = static_cast<std::int64_t>(bytes_);
    for (std::int64_t row = 0; row < layout_.rows(); ++row) {
      char* const target = static_cast<char*>(call.out[0]) +
                           layout_.operand_offset(row, call.in[1], call.status) * bytes;
      const char* const source =
          static_cast<const char*>(call.in[2]) + layout_.slice_offset(row) * bytes;
      if (mode_ == Scatter::kPut) copy_.run(target, source);
      else add_(target, source, layout_.window(), layout_.operand_window(), layout_.slice_window());
    }
    if (mode_ == Scatter::kAdd && is_subbyte(type_))
      wrap_subbyte(type_, call.out[0], static_cast<std::size_t>(count_));
  }
  double cost_us() const override {
    return whole_.cost_us() + static_cast<double>(layout_.rows()) * (0.02 + copy_.cost_us() * 2);
  }

 private:
  using Add = void (*)(void*, const void*, const Dims&, const Dims&, const Dims&);
  DType type_;
  std::int64_t count_;
  std::size_t bytes_;
  Scatter mode_;
  Layout layout_;
  StridedCopy whole_, copy_;
  Add add_ = nullptr;
};

}  // namespace

Dims gathered_dims(const GatherSpec& spec) {
  const auto batch = at(spec.batch);
  const Dims& operand = spec.operand.dims;
  Dims out(operand.begin(), operand.begin() + batch);
  Dims window;
  for (std::size_t i = batch; i < operand.size(); ++i) {
    const auto own = static_cast<std::int64_t>(i - batch);
    if (std::find(spec.axes.begin(), spec.axes.end(), own) == spec.axes.end())
      window.push_back(operand[i]);
  }
  out.insert(out.end(), window.begin(), window.begin() + spec.offset);
  out.insert(out.end(), spec.indices.dims.begin() + batch, spec.indices.dims.end() - 1);
  out.insert(out.end(), window.begin() + spec.offset, window.end());
  return out;
}

std::unique_ptr<PreparedKernel> prepare_gather(const GatherSpec& spec) {
  return std::make_unique<Gather>(spec);
}

std::unique_ptr<PreparedKernel> prepare_scatter(const GatherSpec& spec, Scatter mode) {
  return std::make_unique<ScatterKernel>(spec, mode);
}

}  // namespace nx::kernels
