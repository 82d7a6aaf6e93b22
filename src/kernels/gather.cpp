// Gather and scatter: one walk over the rows of indices; each row moves one window of elements.
#include "kernels/gather.h"

#include <algorithm>
#include <array>
#include <complex>
#include <utility>

#include "core/at.h"
#include "kernels/assemble.h"
#include "kernels/elementwise.h"
#include "kernels/strided.h"
#include "kernels/threads.h"
#include "nx/element.h"

namespace nx::kernels {
namespace {

// Rows whose places are found before their windows are moved.
constexpr std::int64_t kBlock = 256;

/// The first elements of some rows' windows, in the operand and in the slices.
struct Places {
  std::int64_t count;
  std::array<std::int64_t, kBlock> operand, slices;
};

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
    for (std::size_t i = batch; i + 1 < spec.indices.dims.size(); ++i)
      rows_ *= spec.indices.dims[i];
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
  bool has_single_elements() const { return element_count(window_) == 1; }
  const Dims& window() const { return window_; }
  const Dims& operand_window() const { return operand_window_; }
  const Dims& slice_window() const { return slice_window_; }

  /// Calls `move(places)` for the rows from `begin` to `end`, some of them at a time.
  template <class F>
  void for_each_block(std::int64_t begin, std::int64_t end, const void* indices,
                      KernelStatus* status, F&& move) const {
    Places places;
    for (; begin < end; begin += places.count) {
      places.count = std::min(kBlock, end - begin);
      begin_rows(begin, places);
      visit_element(index_type_, [&](auto element) {
        using T = decltype(element);
        if constexpr (std::is_integral_v<T>)
          add_indices(begin, static_cast<const T*>(indices), status, places);
      });
      move(std::as_const(places));
    }
  }

 private:
  /// Where the rows' windows begin if all their indices are 0.
  void begin_rows(std::int64_t first, Places& places) const {
    for (std::int64_t i = 0; i < places.count;) {
      const std::int64_t batch = (first + i) / rows_, row = (first + i) % rows_;
      const std::int64_t end = std::min(places.count, i + rows_ - row);
      std::int64_t slice = batch * slice_batch_ + row * slice_row_;
      for (; i < end; ++i, slice += slice_row_) {
        places.operand[at(i)] = batch * operand_batch_;
        places.slices[at(i)] = slice;
      }
    }
  }
  template <class T>
  void add_indices(std::int64_t first, const T* indices, KernelStatus* status,
                   Places& places) const {
    const auto axes = static_cast<std::int64_t>(sizes_.size());
    for (std::int64_t axis = 0; axis < axes; ++axis) {
      const T* const index = indices + first * axes + axis;
      const std::int64_t last = sizes_[at(axis)] - 1, step = steps_[at(axis)];
      bool all_inside = true;
      for (std::int64_t i = 0; i < places.count; ++i) {
        const std::int64_t wanted = as_index(index[i * axes]);
        const std::int64_t inside = std::clamp<std::int64_t>(wanted, 0, last);
        all_inside &= inside == wanted;
        places.operand[at(i)] += inside * step;
      }
      if (all_inside || status == nullptr) continue;
      for (std::int64_t i = 0; i < places.count; ++i)
        if (const std::int64_t wanted = as_index(index[i * axes]); wanted < 0 || wanted > last)
          status->set_index((first + i) * axes + axis, wanted, last + 1);
    }
  }

  DType index_type_;
  std::int64_t batches_ = 1, rows_ = 1;
  std::int64_t operand_batch_ = 0, slice_batch_ = 0, slice_row_ = 0;
  Dims steps_, sizes_;
  Dims window_, operand_window_, slice_window_;
};

/// An element for each row, between two arrays at the rows' places in them.
using Mover = void (*)(void* to, const std::int64_t* to_places, const void* from,
                       const std::int64_t* from_places, std::int64_t count);
template <class T>
void put_elements(void* to, const std::int64_t* to_places, const void* from,
                  const std::int64_t* from_places, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i)
    static_cast<T*>(to)[to_places[i]] = static_cast<const T*>(from)[from_places[i]];
}
Mover put_mover(DType type) {
  return visit_element(type,
                       [](auto element) -> Mover { return &put_elements<decltype(element)>; });
}

/// Integers wrap.
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = Wrapping<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return static_cast<T>(a + b);
  }
}
template <class T>
void add_elements(void* to, const std::int64_t* to_places, const void* from,
                  const std::int64_t* from_places, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    T& sum = static_cast<T*>(to)[to_places[i]];
    sum = sum_of(sum, static_cast<const T*>(from)[from_places[i]]);
  }
}

class Gather final : public PreparedKernel {
 public:
  explicit Gather(const GatherSpec& spec)
      : bytes_(static_cast<std::int64_t>(byte_size_of(spec.operand.type))),
        layout_(spec),
        copy_(byte_size_of(spec.operand.type), layout_.window(), layout_.slice_window(),
              layout_.operand_window()),
        put_(layout_.has_single_elements() ? put_mover(spec.operand.type) : nullptr),
        cost_us_(static_cast<double>(layout_.rows()) *
                 (put_ != nullptr ? 0.002 : 0.01 + copy_.cost_us())) {}
  void run(const KernelCall& call) const override {
    const char* const from = static_cast<const char*>(call.in[0]);
    char* const to = static_cast<char*>(call.out[0]);
    parallel_for(layout_.rows(), call.threads, [&](std::int64_t begin, std::int64_t end) {
      layout_.for_each_block(begin, end, call.in[1], call.status, [&](const Places& rows) {
        if (put_ != nullptr)
          return put_(to, rows.slices.data(), from, rows.operand.data(), rows.count);
        for (std::int64_t i = 0; i < rows.count; ++i)
          copy_.run(to + rows.slices[at(i)] * bytes_, from + rows.operand[at(i)] * bytes_);
      });
    });
  }
  double cost_us() const override { return cost_us_; }

 private:
  std::int64_t bytes_;
  Layout layout_;
  StridedCopy copy_;
  Mover put_;
  double cost_us_;
};

template <class T>
void add_window(void* to_address, const void* from_address, const Dims& dims,
                const Dims& to_strides, const Dims& from_strides) {
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
      sum = sum_of(sum, from[in + i * from_step]);
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
        bytes_(static_cast<std::int64_t>(byte_size_of(spec.operand.type))),
        mode_(mode),
        layout_(spec),
        whole_(byte_size_of(spec.operand.type), {element_count(spec.operand.dims)}, {1}, {1}),
        copy_(byte_size_of(spec.operand.type), layout_.window(), layout_.operand_window(),
              layout_.slice_window()) {
    visit_element(type_, [&](auto element) {
      using T = decltype(element);
      add_window_ = &add_window<T>;
      if (layout_.has_single_elements())
        element_ = mode == Scatter::kPut ? &put_elements<T> : &add_elements<T>;
    });
  }
  void run(const KernelCall& call) const override {
    if (call.out[0] != call.in[0]) whole_.run(call.out[0], call.in[0], call.threads);
    char* const to = static_cast<char*>(call.out[0]);
    const char* const from = static_cast<const char*>(call.in[2]);
    layout_.for_each_block(0, layout_.rows(), call.in[1], call.status, [&](const Places& rows) {
      if (element_ != nullptr)
        return element_(to, rows.operand.data(), from, rows.slices.data(), rows.count);
      for (std::int64_t i = 0; i < rows.count; ++i)
        move_window(to + rows.operand[at(i)] * bytes_, from + rows.slices[at(i)] * bytes_);
    });
    if (mode_ == Scatter::kAdd && is_subbyte(type_))
      wrap_subbyte(type_, call.out[0], static_cast<std::size_t>(count_));
  }
  double cost_us() const override {
    return whole_.cost_us() + static_cast<double>(layout_.rows()) *
                                  (element_ != nullptr ? 0.003 : 0.02 + copy_.cost_us() * 2);
  }

 private:
  void move_window(char* to, const char* from) const {
    if (mode_ == Scatter::kPut) copy_.run(to, from);
    else add_window_(to, from, layout_.window(), layout_.operand_window(), layout_.slice_window());
  }

  using AddWindow = void (*)(void*, const void*, const Dims&, const Dims&, const Dims&);
  DType type_;
  std::int64_t count_, bytes_;
  Scatter mode_;
  Layout layout_;
  StridedCopy whole_, copy_;
  AddWindow add_window_ = nullptr;
  Mover element_ = nullptr;  // for windows of one element
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
