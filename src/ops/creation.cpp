// Public functions that make tensors out of values and attributes.
#include "nx/creation.h"

#include <fmt/format.h>

#include <cstring>

#include "graph/dispatch.h"
#include "graph/trace.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/elementwise.h"
#include "ops/labels.h"
#include "ops/movement.h"
#include "ops/operand.h"

namespace nx {

using detail::Access;

Literal::Literal(std::initializer_list<Literal> parts)
    : dims_{static_cast<std::int64_t>(parts.size())} {
  if (parts.size() == 0) return;
  const Literal& first = *parts.begin();
  dims_.insert(dims_.end(), first.dims_.begin(), first.dims_.end());
  for (const Literal& part : parts) {
    if (!(part.dims_ == first.dims_))
      throw ShapeError("tensor", fmt::format("the parts of a literal must have one shape, got {} "
                                             "and {}", to_string(first.dims_),
                                             to_string(part.dims_)));
    for (const Number& value : part.values_) values_.push_back(value);
    if (part.data_ == nullptr) continue;
    const std::int64_t count = element_count(part.dims_);
    visit_element(part.data_type_, [&](auto element) {
      using T = decltype(element);
      const T* const data = static_cast<const T*>(part.data_);
      for (std::int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_class_v<T> && sizeof(T) <= 2)
          values_.push_back(Number(static_cast<float>(data[i])));
        else
          values_.push_back(Number(data[i]));
      }
    });
  }
}

Literal Literal::of(Dims dims, std::span<const Number> values) {
  if (element_count(dims) != static_cast<std::int64_t>(values.size()))
    throw ShapeError("tensor", fmt::format("{} values do not fill {}", values.size(),
                                           to_string(dims)));
  Literal literal;
  literal.dims_ = std::move(dims);
  for (const Number& value : values) literal.values_.push_back(value);
  return literal;
}

DType Literal::type() const noexcept {
  if (data_ != nullptr) return data_type_;
  if (values_.empty()) return DType::f32;
  DType type = default_type(values_[0]);
  for (const Number& value : values_) type = merge_types(type, default_type(value));
  return type;
}

namespace {

void check_fits(const Number& value, DType type) {
  if (!is_integer(type)) {
    if (value.kind() == Number::Kind::kComplex && !is_complex(type))
      throw ArgumentError("tensor", fmt::format("{} does not fit {}", value.to_string(),
                                                name_of(type)));
    return;
  }
  if (!value.is_integer())
    throw ArgumentError("tensor", fmt::format("expected an integer for {}, got {}", name_of(type),
                                              value.to_string()));
  if (!fits(value, type))
    throw ArgumentError("tensor", fmt::format("{} does not fit {}", value.to_string(),
                                              name_of(type)));
}

}  // namespace

Tensor tensor(const Literal& literal, const TensorOptions& options) {
  const DType type = options.type.value_or(literal.type());
  const Dims& dims = literal.dims();
  ops::check_names("tensor", options.names, dims.size());
  if (literal.data() == nullptr) {
    if (literal.values().empty())
      throw ArgumentError("tensor", "a literal needs values; `full` makes empty tensors");
    for (const Number& value : literal.values()) check_fits(value, type);
  }
  if (dims.empty() && graph::current_trace() != nullptr)
    return ops::scalar(literal.values()[0], type);
  const ops::LabelsRef labels(options.names, {});
  const Tensor out = graph::new_tensor(type, dims, labels.get());
  auto* const to = graph::data_of<std::byte>(out);
  const std::size_t size = byte_size_of(type);
  if (literal.data() == nullptr) {
    std::size_t i = 0;
    for (const Number& value : literal.values()) ops::write_number(value, type, to + size * i++);
    return out;
  }
  const std::int64_t count = element_count(dims);
  if (literal.data_type() == type) {
    if (count > 0) std::memcpy(to, literal.data(), size * static_cast<std::size_t>(count));
    return out;
  }
  visit_element(literal.data_type(), [&](auto element) {
    using T = decltype(element);
    const T* const from = static_cast<const T*>(literal.data());
    for (std::int64_t i = 0; i < count; ++i) {
      Number value;
      if constexpr (std::is_class_v<T> && sizeof(T) <= 2) value = Number(static_cast<float>(from[i]));
      else value = Number(from[i]);
      check_fits(value, type);
      ops::write_number(value, type, to + size * static_cast<std::size_t>(i));
    }
  });
  return out;
}

namespace {
/// What counts needs something to count: empty tensors come from `full`.
void check_sizes(std::string_view name, const Dims& dims) {
  for (const auto size : dims)
    if (size < 1)
      throw ShapeError(name, fmt::format("sizes must be positive, got {}", to_string(dims)));
}
}  // namespace

Tensor iota(const Dims& dims, const IotaOptions& options) {
  check_sizes("iota", dims);
  ops::check_names("iota", options.names, dims.size());
  Dims all;
  for (const VectorAxis& axis : options.vectorized_axes) all.push_back(axis.size);
  const auto lead = static_cast<std::int64_t>(all.size());
  all.insert(all.end(), dims.begin(), dims.end());
  element_count(all);
  std::int64_t axis = -1;
  if (options.axis)
    axis = options.axis->resolve("iota", static_cast<int>(dims.size()), options.names);
  Tensor counted = ops::iota_along(options.type, dims, axis);
  if (lead > 0) counted = ops::broadcast_to(counted, all);
  return ops::with_labels(counted, options.names, options.vectorized_axes);
}

Tensor eye(const Dims& dims, const EyeOptions& options) {
  ops::check_names("eye", options.names, dims.size());
  check_sizes("eye", dims);
  if (dims.empty()) throw ShapeError("eye", "expected at least one axis");
  Dims all;
  for (const VectorAxis& axis : options.vectorized_axes) all.push_back(axis.size);
  all.insert(all.end(), dims.begin(), dims.end());
  element_count(all);
  Tensor hit;
  if (dims.size() == 1) {  // the first row of a square
    hit = equal(ops::iota_along(DType::s32, dims, 0), 0);
  } else {
    const Dims last(dims.end() - 2, dims.end());
    hit = equal(ops::iota_along(DType::s32, last, 0), ops::iota_along(DType::s32, last, 1));
  }
  return ops::with_labels(ops::broadcast_to(as_type(hit, options.type), all), options.names,
                          options.vectorized_axes);
}

namespace {
/// A new last axis of size 1.
Tensor with_last_axis(const Operand& x) {
  const ops::Plain plain = ops::plain_operand("linspace", x);
  Dims dims = ops::dims_of(plain.tensor);
  dims.push_back(1);
  Names names = plain.names;
  if (!names.empty()) names.push_back(Name());
  return ops::with_labels(ops::reshape_dims(plain.tensor, dims), names, plain.vector_axes);
}
}  // namespace

Tensor linspace(const Operand& start, const Operand& stop, const LinspaceOptions& options) {
  const std::int64_t n = options.n;
  if (n < 1)
    throw ArgumentError("linspace", fmt::format("n; expected 1 or more values, got {}", n),
                        start.where());
  if (!is_inexact(options.type) && !is_integer(options.type))
    throw DTypeError("linspace", "unknown type", start.where());
  const Tensor from = as_type(with_last_axis(start), to_inexact(options.type));
  const Tensor to = as_type(with_last_axis(stop), to_inexact(options.type));
  const Tensor step = divide(subtract(to, from), Operand(options.endpoint && n > 1 ? n - 1 : n));
  Tensor count = ops::iota_along(to_inexact(options.type), {n}, 0);
  if (!options.name.empty()) count = ops::with_labels(count, {options.name}, {});
  return as_type(add(from, multiply(count, step)), options.type);
}

Tensor full(const Dims& dims, const Operand& value, const FullOptions& options) {
  ops::check_names("full", options.names, dims.size());
  element_count(dims);
  Tensor one;
  if (value.is_number()) {
    const DType type = options.type.value_or(default_type(value.number()));
    check_fits(value.number(), type);
    one = ops::scalar(value.number(), type);
  } else {
    one = options.type ? as_type(value, *options.type) : value.tensor();
  }
  const ops::Plain plain = ops::plain_operand("full", one);
  if (plain.rank() != 0)
    throw ShapeError("full", fmt::format("the value must be a scalar, got {}",
                                         to_string(plain.dims())), value.where());
  return ops::with_labels(
      ops::broadcast_dims(plain.tensor, plain.with_lead(dims),
                          ops::iota_dims(static_cast<std::size_t>(plain.lead))),
      options.names, plain.vector_axes);
}

Tensor zeros(const Dims& dims, const FullOptions& options) {
  return full(dims, 0, {options.type.value_or(DType::f32), options.names});
}

Tensor ones(const Dims& dims, const FullOptions& options) {
  return full(dims, 1, {options.type.value_or(DType::f32), options.names});
}

Tensor full_like(const Tensor& like, const Number& value) {
  const detail::Body& body = Access::checked(like, "full_like");
  check_fits(value, body.type);
  return ops::with_labels(ops::full_dims(value, body.type, body.dims), like.names(),
                          like.vectorized_axes());
}

Tensor make_template(const Dims& dims, DType type, const TemplateOptions& options) {
  ops::check_names("template", options.names, dims.size());
  element_count(dims);
  const ops::LabelsRef labels(options.names, {});
  return Access::make_template(type, dims, labels.get());
}

Tensor to_template(const Tensor& tensor) {
  const detail::Body& body = Access::checked(tensor, "to_template");
  return Access::with_mark(Access::make_template(body.type, body.dims, body.labels),
                           Access::mark(tensor));
}

Tensor from_pointer(void* data, DType type, const Dims& dims, PointerOptions options) {
  ops::check_names("from_pointer", options.names, dims.size());
  const auto bytes = static_cast<std::size_t>(element_count(dims)) * byte_size_of(type);
  if (data == nullptr && bytes > 0)
    throw ArgumentError("from_pointer", "the address is null");
  std::function<void()> deleter;
  if (options.deleter) deleter = [free = std::move(options.deleter), data] { free(data); };
  const ops::LabelsRef labels(options.names, {});
  return Access::make_buffer(
      type, dims, graph::dispatch().adopt(data, bytes, std::move(deleter), "borrowed memory"),
      labels.get());
}

Tensor from_binary(std::span<const std::byte> bytes, DType type) {
  const auto bits = static_cast<std::size_t>(bits_of(type));
  if (bytes.empty() || bytes.size() * 8 % bits != 0)
    throw ArgumentError("from_binary",
                        fmt::format("expected a multiple of {} bits, at least one element, got {} "
                                    "bytes", bits, bytes.size()));
  const std::size_t count = bytes.size() * 8 / bits;
  const Tensor out = graph::new_tensor(type, {static_cast<std::int64_t>(count)});
  auto* const to = graph::data_of<unsigned char>(out);
  if (bits >= 8) {
    std::memcpy(to, bytes.data(), bytes.size());
    return out;
  }
  // Packed from the high bits down, one element a byte in memory.
  const std::size_t per_byte = 8 / bits;
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = std::to_integer<unsigned>(bytes[i / per_byte]);
    const unsigned value = byte >> (8 - bits * (i % per_byte + 1)) & ((1u << bits) - 1);
    const bool negative = is_signed_integer(type) && value >> (bits - 1);
    to[i] = static_cast<unsigned char>(negative ? value - (1u << bits) : value);
  }
  return out;
}

std::vector<std::byte> to_binary(const Tensor& tensor) {
  const detail::HostRead read(tensor, "to_binary");
  const auto count = static_cast<std::size_t>(read.count());
  const auto bits = static_cast<std::size_t>(bits_of(read.type()));
  std::vector<std::byte> bytes((count * bits + 7) / 8);
  const auto* const from = static_cast<const std::byte*>(read.data());
  if (bits >= 8) {
    if (count > 0) std::memcpy(bytes.data(), from, bytes.size());
    return bytes;
  }
  const std::size_t per_byte = 8 / bits;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned value = std::to_integer<unsigned>(from[i]) & ((1u << bits) - 1);
    bytes[i / per_byte] |= static_cast<std::byte>(value << (8 - bits * (i % per_byte + 1)));
  }
  return bytes;
}

}  // namespace nx
