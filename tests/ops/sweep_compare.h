// Comparison of values of public functions: to the bit, or to so many units in the last place.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/body.h"
#include "nx/inspect.h"
#include "ops/rows.h"

namespace nx::ops {

inline std::vector<Tensor> tensors_of(Value value) {
  std::vector<Tensor> list;
  for_each_tensor(value, [&](Tensor& t) { list.push_back(t); });
  return list;
}

/// All axes, type and bytes: what must be equal to the bit.
inline std::string bits_of_tensor(const Tensor& t) {
  const detail::HostRead read(t, "sweep");
  const auto& body = detail::Access::checked(t, "sweep");
  std::string bits = to_string(body.type, body.dims);
  bits.append(static_cast<const char*>(read.data()),
              static_cast<std::size_t>(read.count()) * byte_size_of(body.type));
  return bits;
}

inline void expect_same_bits(const Value& a, const Value& b) {
  const auto left = tensors_of(a), right = tensors_of(b);
  ASSERT_EQ(left.size(), right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(bits_of_tensor(left[i]), bits_of_tensor(right[i])) << left[i] << "\n" << right[i];
    EXPECT_TRUE(left[i].names() == right[i].names());
    EXPECT_TRUE(left[i].vectorized_axes() == right[i].vectorized_axes());
  }
}

/// Units in the last place of f32, f64 or a smaller float between two values.
inline double units(DType type, double a, double b) {
  if (std::isnan(a) && std::isnan(b)) return 0;
  if (a == b) return 0;
  if (!std::isfinite(a) || !std::isfinite(b)) return INFINITY;
  const int mantissa = type == DType::f64   ? 52
                       : type == DType::f32 ? 23
                       : type == DType::f16 ? 10
                                            : 7;
  int exponent = 0;
  std::frexp(std::max(std::abs(a), std::abs(b)), &exponent);
  return std::abs(a - b) / std::ldexp(1.0, exponent - 1 - mantissa);
}

inline void expect_close(const Tensor& expected, const Tensor& got, double ulp) {
  ASSERT_EQ(expected.type(), got.type());
  ASSERT_TRUE(expected.shape() == got.shape()) << expected << got;
  EXPECT_TRUE(expected.names() == got.names()) << expected << got;
  EXPECT_TRUE(expected.vectorized_axes() == got.vectorized_axes()) << expected << got;
  if (expected.is_template()) return;
  if (!is_float(expected.type())) {
    EXPECT_EQ(bits_of_tensor(expected), bits_of_tensor(got)) << expected << "\n" << got;
    return;
  }
  const auto a = expected.to_flat_list<double>(), b = got.to_flat_list<double>();
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_LE(units(expected.type(), a[i], b[i]), ulp) << "element " << i << "\n"
                                                       << expected << "\n"
                                                       << got;
}

inline void expect_close(const Value& expected, const Value& got, double ulp) {
  if (const auto* number = expected.as<Number>(), *same = got.as<Number>(); number && !same) {
    // Elementwise rows write results as numbers, whatever the type.
    ASSERT_NE(got.as<Tensor>(), nullptr);
    const Tensor& t = *got.as<Tensor>();
    if (is_complex(t.type())) return;
    EXPECT_LE(
        units(is_float(t.type()) ? t.type() : DType::f64, number->real(), t.to_number<double>()),
        std::max(ulp, 1.0));
    return;
  }
  ASSERT_EQ(expected.data.index(), got.data.index());
  if (const auto* t = expected.as<Tensor>()) return expect_close(*t, *got.as<Tensor>(), ulp);
  if (const auto* list = expected.as<Value::List>()) {
    const auto& other = *got.as<Value::List>();
    ASSERT_EQ(list->size(), other.size());
    for (std::size_t i = 0; i < other.size(); ++i) expect_close((*list)[i], other[i], ulp);
  } else if (const auto* number = expected.as<Number>()) {
    EXPECT_EQ(number->to_string(), got.as<Number>()->to_string());
  } else if (const auto* text = expected.as<std::string>()) {
    EXPECT_EQ(*text, *got.as<std::string>());
  } else if (const auto* type = expected.as<DType>()) {
    EXPECT_EQ(name_of(*type), name_of(*got.as<DType>()));
  }
}

}  // namespace nx::ops
