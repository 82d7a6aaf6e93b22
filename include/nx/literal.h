// layer: ops
// Values written in source: a number, nested braces, or a contiguous range of numbers.
#pragma once

#include <array>
#include <complex>
#include <initializer_list>
#include <span>
#include <vector>

#include "nx/config.h"
#include "nx/element.h"
#include "nx/number.h"
#include "nx/shape.h"

namespace nx {

namespace detail {
template <class T>
concept ElementType = requires { DTypeOf<std::remove_cv_t<T>>::kType; };
}  // namespace detail

/// What `nx::tensor` takes: `1`, `{1.5, 2}`, `{{1, 2}, {3, 4}}`, a `std::vector<float>`, a span.
/// A range is referred to, not copied: it must live until the call is over.
class NX_API Literal {
 public:
  template <detail::PlainNumber T>
  Literal(T value) : values_{Number(value)} {}
  template <class T>
  Literal(std::complex<T> value) : values_{Number(value)} {}
  Literal(const Number& value) : values_{value} {}
  /// Throws ShapeError when the parts differ in shape.
  Literal(std::initializer_list<Literal> parts);
  template <detail::ElementType T>
  Literal(std::span<T> range)
      : dims_{static_cast<std::int64_t>(range.size())},
        data_(range.data()),
        data_type_(DTypeOf<std::remove_cv_t<T>>::kType) {}
  template <detail::ElementType T>
  Literal(const std::vector<T>& range) : Literal(std::span<const T>(range)) {}
  template <detail::ElementType T, std::size_t N>
  Literal(const std::array<T, N>& range) : Literal(std::span<const T>(range)) {}

  /// Numbers in row-major order, for shapes known only at run time.
  static Literal of(Dims dims, std::span<const Number> values);

  const Dims& dims() const noexcept { return dims_; }
  /// The type without an option: the range's; s32 for integers (s64 or u64 when one does not fit),
  /// f32 with a float among them, c64 with a complex one.
  DType type() const noexcept;
  /// Null for numbers and nested braces.
  const void* data() const noexcept { return data_; }
  DType data_type() const noexcept { return data_type_; }
  /// The numbers in row-major order; empty when there is `data`.
  std::span<const Number> values() const noexcept { return values_; }

 private:
  Literal() = default;
  Dims dims_;
  InlineVector<Number, 4> values_;
  const void* data_ = nullptr;
  DType data_type_ = DType::s32;
};

}  // namespace nx
