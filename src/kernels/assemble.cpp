// Concatenate, pad, dynamic slice and slice update on contiguous arrays.
#include "kernels/assemble.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "kernels/strided.h"
#include "nx/element.h"

namespace nx::kernels {
namespace {

std::int64_t dot_strides(const Dims& index, const Dims& strides) {
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * strides[i];
  return offset;
}

class Concatenate final : public PreparedKernel {
 public:
  Concatenate(std::span<const ArraySpec> parts, std::size_t axis)
      : bytes_(byte_size_of(parts[0].type)) {
    Dims out = parts[0].dims;
    out[axis] = 0;
    for (const ArraySpec& part : parts) out[axis] += part.dims[axis];
    const Dims strides = row_major_strides(out);
    std::int64_t at = 0;
    for (const ArraySpec& part : parts) {
      copies_.emplace_back(bytes_, part.dims, strides, row_major_strides(part.dims));
      offsets_.push_back(at * strides[axis] * static_cast<std::int64_t>(bytes_));
      at += part.dims[axis];
    }
  }
  void run(const KernelCall& call) const override {
    for (std::size_t i = 0; i < copies_.size(); ++i)
      copies_[i].run(static_cast<char*>(call.out[0]) + offsets_[i], call.in[i], call.threads);
  }
  double cost_us() const override {
    double cost = 0;
    for (const StridedCopy& copy : copies_) cost += copy.cost_us();
    return cost;
  }

 private:
  std::size_t bytes_;
  std::vector<StridedCopy> copies_;
  std::vector<std::int64_t> offsets_;
};

class Pad final : public PreparedKernel {
 public:
  Pad(const ArraySpec& in, const Dims& low, const Dims& high, const Dims& interior)
      : bytes_(byte_size_of(in.type)) {
    Dims out, kept, to_start, from_start;
    for (std::size_t i = 0; i < in.dims.size(); ++i) {
      const std::int64_t step = interior[i] + 1;
      const std::int64_t spread = in.dims[i] == 0 ? 0 : (in.dims[i] - 1) * step + 1;
      const std::int64_t size = std::max<std::int64_t>(0, spread + low[i] + high[i]);
      // Elements k of the operand whose place low + k * step lies within the result.
      const std::int64_t first = low[i] < 0 ? (-low[i] + step - 1) / step : 0;
      const std::int64_t room = size - 1 - low[i];
      const std::int64_t last = room < 0 ? -1 : std::min(in.dims[i] - 1, room / step);
      out.push_back(size);
      kept.push_back(std::max<std::int64_t>(0, last - first + 1));
      from_start.push_back(first);
      to_start.push_back(low[i] + first * step);
    }
    count_ = element_count(out);
    const Dims from = row_major_strides(in.dims);
    Dims to = row_major_strides(out);
    to_offset_ = dot_strides(to_start, to) * static_cast<std::int64_t>(bytes_);
    from_offset_ = dot_strides(from_start, from) * static_cast<std::int64_t>(bytes_);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] *= interior[i] + 1;
    copy_ = StridedCopy(bytes_, kept, to, from);
    covers_ = element_count(kept) == count_;
    empty_ = element_count(kept) == 0;
    fill_ = StridedCopy(bytes_, {count_}, {1}, {0});
  }
  void run(const KernelCall& call) const override {
    if (!covers_) fill_.run(call.out[0], call.in[1], call.threads);
    if (empty_) return;
    copy_.run(static_cast<char*>(call.out[0]) + to_offset_,
              static_cast<const char*>(call.in[0]) + from_offset_, call.threads);
  }
  double cost_us() const override { return copy_.cost_us() + fill_.cost_us(); }

 private:
  std::size_t bytes_;
  std::int64_t count_ = 0, to_offset_ = 0, from_offset_ = 0;
  bool covers_ = false, empty_ = false;
  StridedCopy copy_, fill_;
};

/// Where a block of `lengths` begins in an array of `dims`, with the starts clamped.
class Starts {
 public:
  Starts(const ArraySpec& in, const Dims& lengths, std::span<const DType> types)
      : types_(types.begin(), types.end()), strides_(row_major_strides(in.dims)) {
    for (std::size_t i = 0; i < in.dims.size(); ++i) last_.push_back(in.dims[i] - lengths[i]);
  }
  std::int64_t offset(const void* const* starts) const {
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < types_.size(); ++i)
      offset += std::clamp<std::int64_t>(read_index(types_[i], starts[i]), 0, last_[i]) *
                strides_[i];
    return offset;
  }
  const Dims& strides() const { return strides_; }

 private:
  std::vector<DType> types_;
  Dims strides_, last_;
};

class DynamicSlice final : public PreparedKernel {
 public:
  DynamicSlice(const ArraySpec& in, const Dims& lengths, std::span<const DType> starts)
      : bytes_(byte_size_of(in.type)),
        starts_(in, lengths, starts),
        copy_(bytes_, lengths, row_major_strides(lengths), starts_.strides()) {}
  void run(const KernelCall& call) const override {
    const std::int64_t offset = starts_.offset(call.in + 1) * static_cast<std::int64_t>(bytes_);
    copy_.run(call.out[0], static_cast<const char*>(call.in[0]) + offset, call.threads);
  }
  double cost_us() const override { return copy_.cost_us(); }

 private:
  std::size_t bytes_;
  Starts starts_;
  StridedCopy copy_;
};

class PutSlice final : public PreparedKernel {
 public:
  PutSlice(const ArraySpec& in, const Dims& update, std::span<const DType> starts)
      : bytes_(byte_size_of(in.type)),
        starts_(in, update, starts),
        whole_(bytes_, {element_count(in.dims)}, {1}, {1}),
        copy_(bytes_, update, starts_.strides(), row_major_strides(update)) {}
  void run(const KernelCall& call) const override {
    const std::int64_t offset = starts_.offset(call.in + 2) * static_cast<std::int64_t>(bytes_);
    if (call.out[0] != call.in[0]) whole_.run(call.out[0], call.in[0], call.threads);
    copy_.run(static_cast<char*>(call.out[0]) + offset, call.in[1], call.threads);
  }
  double cost_us() const override { return copy_.cost_us() + whole_.cost_us(); }

 private:
  std::size_t bytes_;
  Starts starts_;
  StridedCopy whole_, copy_;
};

}  // namespace

std::int64_t read_index(DType type, const void* at, std::int64_t i) noexcept {
  return visit_element(type, [&](auto element) -> std::int64_t {
    using T = decltype(element);
    if constexpr (std::is_integral_v<T>) {
      return as_index(static_cast<const T*>(at)[i]);
    } else {
      return 0;
    }
  });
}

std::unique_ptr<PreparedKernel> prepare_concatenate(std::span<const ArraySpec> parts,
                                                    std::size_t axis) {
  return std::make_unique<Concatenate>(parts, axis);
}
std::unique_ptr<PreparedKernel> prepare_pad(const ArraySpec& in, const Dims& low, const Dims& high,
                                            const Dims& interior) {
  return std::make_unique<Pad>(in, low, high, interior);
}
std::unique_ptr<PreparedKernel> prepare_dynamic_slice(const ArraySpec& in, const Dims& lengths,
                                                      std::span<const DType> starts) {
  return std::make_unique<DynamicSlice>(in, lengths, starts);
}
std::unique_ptr<PreparedKernel> prepare_put_slice(const ArraySpec& in, const Dims& update,
                                                  std::span<const DType> starts) {
  return std::make_unique<PutSlice>(in, update, starts);
}

}  // namespace nx::kernels
