// layer: core
// The tensor: a pointer-sized handle with value semantics, plus the mark of donation.
//
// Copying a handle shares the buffer and keeps the mark. No operation writes into a buffer that a
// handle can see, except a compiled call to which it was donated (nx/donation.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nx/config.h"
#include "nx/dtype.h"
#include "nx/element.h"
#include "nx/error.h"
#include "nx/number.h"
#include "nx/shape.h"

namespace nx {

class Tensor;
namespace detail {
struct Body;
struct Access;  // the library's own door into a Tensor
NX_API void drop_body(Body* body) noexcept;
inline std::atomic<std::uint32_t>& body_references(Body* body) noexcept {
  return *reinterpret_cast<std::atomic<std::uint32_t>*>(body);  // the first member of Body
}
}  // namespace detail

/// A lease on a tensor's values in host memory: while it lives the buffer cannot be donated.
/// Values of another device are copied to the host first.
template <class T>
class HostSpan;

class NX_API Tensor {
 public:
  Tensor() noexcept = default;
  Tensor(const Tensor& other) noexcept : bits_(other.bits_) { retain(); }
  Tensor(Tensor&& other) noexcept : bits_(std::exchange(other.bits_, 0)) {}
  Tensor& operator=(const Tensor& other) noexcept {
    Tensor(other).swap(*this);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    Tensor(std::move(other)).swap(*this);
    return *this;
  }
  ~Tensor() {
    if (bits_ != 0) release();
  }
  void swap(Tensor& other) noexcept { std::swap(bits_, other.bits_); }

  /// False for a default-constructed or moved-from handle.
  bool has_value() const noexcept { return bits_ != 0; }

  DType type() const;
  /// Sizes of the axes, without the vectorised ones.
  Shape shape() const;
  int rank() const;
  /// Number of elements, without the vectorised axes.
  std::int64_t size() const;
  /// Names of the axes; empty when no axis has one.
  Names names() const;
  VectorAxes vectorized_axes() const;

  /// True while its function is being traced: it has a type and a shape but no values.
  bool is_traced() const noexcept;
  bool is_template() const noexcept;
  /// True when a donated call took the buffer; every read throws DonatedError then.
  bool is_consumed() const noexcept;

  /// The value of a one-element tensor. Throws ArgumentError for more elements, TraceError while
  /// tracing, DonatedError for a consumed buffer. Integers and floats convert as static_cast does.
  template <class T>
  T to_number() const;
  /// All values in row-major order (vectorised axes first).
  template <class T>
  std::vector<T> to_flat_list() const;
  /// A leased view of the values; T must be the element type exactly.
  template <class T>
  HostSpan<T> host() const;

 private:
  friend struct detail::Access;
  static constexpr std::uintptr_t kMark = 1;
  detail::Body* body() const noexcept { return reinterpret_cast<detail::Body*>(bits_ & ~kMark); }
  void retain() noexcept {
    if (bits_ != 0)
      detail::body_references(body()).fetch_add(1, std::memory_order_relaxed);
  }
  void release() noexcept {
    // The only holder needs no locked instruction: nobody is left who could copy it.
    auto& references = detail::body_references(body());
    if (references.load(std::memory_order_acquire) == 1 ||
        references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      detail::drop_body(body());
  }
  std::uintptr_t bits_ = 0;
};

namespace detail {

/// Untyped part of HostSpan: a lease and, for device memory, the host copy.
class NX_API HostRead {
 public:
  HostRead(const Tensor& tensor, const char* operation);
  HostRead(HostRead&& other) noexcept;
  HostRead& operator=(HostRead&&) = delete;
  ~HostRead();
  const void* data() const noexcept { return data_; }
  std::int64_t count() const noexcept { return count_; }
  DType type() const noexcept { return type_; }

 private:
  void* storage_ = nullptr;
  std::vector<std::byte> copy_;
  const void* data_ = nullptr;
  std::int64_t count_ = 0;
  DType type_ = DType::f32;
};

NX_API void check_host_type(DType have, DType wanted);
NX_API void check_one_element(std::int64_t count);

template <class T, class From>
T convert_element(From value) {
  if constexpr (std::is_same_v<T, From>) {
    return value;
  } else if constexpr (requires { value.imag(); }) {
    if constexpr (requires(T t) { t.imag(); }) {
      return T(static_cast<typename T::value_type>(value.real()),
               static_cast<typename T::value_type>(value.imag()));
    } else {
      return convert_element<T>(value.real());
    }
  } else if constexpr (requires(T t) { t.imag(); }) {
    return T(static_cast<typename T::value_type>(convert_element<double>(value)));
  } else if constexpr (std::is_class_v<From> || std::is_class_v<T>) {
    return static_cast<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace detail

template <class T>
class HostSpan {
 public:
  explicit HostSpan(const Tensor& tensor) : read_(tensor, "host") {
    detail::check_host_type(read_.type(), DTypeOf<T>::kType);
  }
  std::span<const T> span() const noexcept {
    return {static_cast<const T*>(read_.data()), static_cast<std::size_t>(read_.count())};
  }
  const T* data() const noexcept { return span().data(); }
  std::size_t size() const noexcept { return span().size(); }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size(); }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }

 private:
  detail::HostRead read_;
};

template <class T>
T Tensor::to_number() const {
  const detail::HostRead read(*this, "to_number");
  detail::check_one_element(read.count());
  return visit_element(read.type(), [&](auto element) {
    return detail::convert_element<T>(*static_cast<const decltype(element)*>(read.data()));
  });
}

template <class T>
std::vector<T> Tensor::to_flat_list() const {
  const detail::HostRead read(*this, "to_flat_list");
  std::vector<T> values(static_cast<std::size_t>(read.count()));
  visit_element(read.type(), [&](auto element) {
    const auto* from = static_cast<const decltype(element)*>(read.data());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = detail::convert_element<T>(from[i]);
  });
  return values;
}

template <class T>
HostSpan<T> Tensor::host() const {
  return HostSpan<T>(*this);
}

/// What operations take: a tensor or a plain number, and the place of the call. A number is weak:
/// `u8_tensor + 1` stays u8. Holds a reference: it lives as long as the call's expression.
class NX_API Operand {
 public:
  Operand(const Tensor& tensor, SourceLocation where = SourceLocation::current()) noexcept
      : tensor_(&tensor), where_(where) {}
  template <detail::PlainNumber T>
  Operand(T number, SourceLocation where = SourceLocation::current()) noexcept
      : number_(number), where_(where) {}
  template <class T>
  Operand(std::complex<T> number, SourceLocation where = SourceLocation::current()) noexcept
      : number_(number), where_(where) {}
  Operand(const Number& number, SourceLocation where = SourceLocation::current()) noexcept
      : number_(number), where_(where) {}

  bool is_number() const noexcept { return tensor_ == nullptr; }
  const Tensor& tensor() const noexcept { return *tensor_; }
  const Number& number() const noexcept { return number_; }
  SourceLocation where() const noexcept { return where_; }

 private:
  const Tensor* tensor_ = nullptr;
  Number number_;
  SourceLocation where_;
};

}  // namespace nx
