// The strided copy: axes of size 1 dropped, neighbours merged, then a two-axis inner loop that is
// a run of each row (copy_run-inl.h), or a transposition of squares of cache lines.
#include "kernels/strided.h"

#include <algorithm>
#include <complex>
#include <cstdlib>
#include <cstring>

#include "kernels/copy_run-inl.h"
#include "kernels/simd_targets.h"
#include <hwy/highway.h>

#include "kernels/threads.h"

namespace nx::kernels {

Dims row_major_strides(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Elements of a cache line.
template <class T>
constexpr std::int64_t kLine = 64 / sizeof(T);

/// A square of as many elements each way as a vector of 16 bytes has: each round interleaves the
/// first half of the rows with the second.
template <class T>
void transpose_vectors(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (std::is_integral_v<T>) {
    constexpr std::size_t kRows = 16 / sizeof(T);
    const hn::Full128<T> d;
    hn::Vec<decltype(d)> rows[kRows], next[kRows];
    for (std::size_t r = 0; r < kRows; ++r)
      rows[r] = hn::LoadU(d, from + static_cast<std::int64_t>(r) * from_row);
    for (std::size_t round = 1; round < kRows; round *= 2) {
      for (std::size_t r = 0; r < kRows / 2; ++r) {
        next[2 * r] = hn::InterleaveLower(d, rows[r], rows[r + kRows / 2]);
        next[2 * r + 1] = hn::InterleaveUpper(d, rows[r], rows[r + kRows / 2]);
      }
      std::copy_n(next, kRows, rows);
    }
    for (std::size_t r = 0; r < kRows; ++r)
      hn::StoreU(rows[r], d, to + static_cast<std::int64_t>(r) * to_row);
    return;
  }
#endif
  constexpr std::int64_t kRows = 16 / sizeof(T);
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t c = 0; c < kRows; ++c) to[r * to_row + c] = from[c * from_row + r];
}

/// A square of a cache line each way. Lines are read and written whole, one after the other: with
/// strides of powers of two, few of them are in the first cache at once.
template <class T>
void transpose_lines(const T* from, std::int64_t from_row, T* to, std::int64_t to_row) {
  constexpr std::int64_t kStep = 16 / sizeof(T);
  alignas(64) T lines[kLine<T> * kLine<T>];
  for (std::int64_t c = 0; c < kLine<T>; ++c)
    std::memcpy(lines + c * kLine<T>, from + c * from_row, 64);
  for (std::int64_t r = 0; r < kLine<T>; r += kStep)
    for (std::int64_t c = 0; c < kLine<T>; c += kStep)
      transpose_vectors(lines + c * kLine<T> + r, kLine<T>, to + r * to_row + c, to_row);
}

}  // namespace

template <class T>
void StridedCopy::run_rows(char* to_bytes, const char* from_bytes, const StridedCopy& plan) {
  for (std::int64_t r = 0; r < plan.rows_; ++r) {
    T* const to = reinterpret_cast<T*>(to_bytes) + r * plan.to_row_;
    const T* const from = reinterpret_cast<const T*>(from_bytes) + r * plan.from_row_;
    const std::int64_t n = plan.columns_, out = plan.to_column_, in = plan.from_column_;
    if (out == 1) {
      copy_run(from, in, n, to);
    } else {
      for (std::int64_t c = 0; c < n; ++c) to[c * out] = from[c * in];
    }
  }
}

// Reads run along rows, writes along columns.
template <class T>
void StridedCopy::run_transposed(char* to_bytes, const char* from_bytes, const StridedCopy& plan) {
  T* const to = reinterpret_cast<T*>(to_bytes);
  const T* const from = reinterpret_cast<const T*>(from_bytes);
  const std::int64_t out = plan.to_row_, in = plan.from_column_;
  for (std::int64_t r0 = 0; r0 < plan.rows_; r0 += kLine<T>) {
    const std::int64_t rows = std::min(plan.rows_ - r0, kLine<T>);
    for (std::int64_t c0 = 0; c0 < plan.columns_; c0 += kLine<T>) {
      const std::int64_t columns = std::min(plan.columns_ - c0, kLine<T>);
      const T* const a = from + r0 + c0 * in;
      T* const b = to + r0 * out + c0;
      if (rows == kLine<T> && columns == kLine<T>) {
        transpose_lines(a, in, b, out);
        continue;
      }
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c) b[r * out + c] = a[r + c * in];
    }
  }
}

template <class T>
void StridedCopy::choose() {
  const bool transposed = to_column_ == 1 && from_row_ == 1 && from_column_ > 1;
  run_ = transposed ? &run_transposed<T> : &run_rows<T>;
}

StridedCopy::StridedCopy(std::size_t element_bytes, const Dims& dims, const Dims& to_strides,
                         const Dims& from_strides)
    : bytes_(element_bytes), empty_(false) {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0) empty_ = true;
    if (dims[i] == 1) continue;
    if (!dims_.empty() && to_.back() == to_strides[i] * dims[i] &&
        from_.back() == from_strides[i] * dims[i]) {
      dims_.back() *= dims[i];
      to_.back() = to_strides[i];
      from_.back() = from_strides[i];
    } else {
      dims_.push_back(dims[i]);
      to_.push_back(to_strides[i]);
      from_.push_back(from_strides[i]);
    }
  }
  const auto take = [&](std::size_t axis, std::int64_t& size, std::int64_t& to,
                        std::int64_t& from) {
    size = dims_[axis];
    to = to_[axis];
    from = from_[axis];
    dims_.erase(dims_.begin() + axis);
    to_.erase(to_.begin() + axis);
    from_.erase(from_.begin() + axis);
  };
  if (!dims_.empty()) take(dims_.size() - 1, columns_, to_column_, from_column_);
  if (!dims_.empty()) {
    // The second axis of the inner loop: the one that is contiguous in `from`, if columns are not.
    std::size_t row = dims_.size() - 1;
    if (from_column_ != 1)
      for (std::size_t i = 0; i < dims_.size(); ++i)
        if (from_[i] == 1) row = i;
    take(row, rows_, to_row_, from_row_);
  }
  switch (bytes_) {
    case 1: choose<std::uint8_t>(); break;
    case 2: choose<std::uint16_t>(); break;
    case 4: choose<std::uint32_t>(); break;
    case 8: choose<std::uint64_t>(); break;
    default: choose<std::complex<double>>(); break;
  }
}

double StridedCopy::cost_us() const {
  const double bytes = static_cast<double>(element_count(dims_)) * static_cast<double>(rows_) *
                       static_cast<double>(columns_) * static_cast<double>(bytes_);
  return bytes / (from_column_ == to_column_ ? 8e3 : 2e3);
}

void StridedCopy::walk(char* to, const char* from, std::size_t axis) const {
  if (axis == dims_.size()) return run_(to, from, *this);
  const auto bytes = static_cast<std::int64_t>(bytes_);
  for (std::int64_t i = 0; i < dims_[axis]; ++i)
    walk(to + i * to_[axis] * bytes, from + i * from_[axis] * bytes, axis + 1);
}

void StridedCopy::run(void* to_address, const void* from_address, int threads) const {
  if (empty_) return;
  char* const to = static_cast<char*>(to_address);
  const char* const from = static_cast<const char*>(from_address);
  if (threads <= 1) return walk(to, from, 0);
  const auto bytes = static_cast<std::int64_t>(bytes_);
  if (!dims_.empty() && dims_[0] >= threads) {
    parallel_for(dims_[0], threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        walk(to + i * to_[0] * bytes, from + i * from_[0] * bytes, 1);
    });
    return;
  }
  // Few outer steps: split the longer axis of the inner loop instead.
  const bool by_rows = rows_ >= columns_;
  parallel_for(by_rows ? rows_ : columns_, threads, [&](std::int64_t begin, std::int64_t end) {
    StridedCopy part = *this;
    (by_rows ? part.rows_ : part.columns_) = end - begin;
    part.walk(to + begin * (by_rows ? to_row_ : to_column_) * bytes,
              from + begin * (by_rows ? from_row_ : from_column_) * bytes, 0);
  });
}

}  // namespace nx::kernels
