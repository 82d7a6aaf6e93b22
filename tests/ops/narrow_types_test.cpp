// Floats below f32: conversions to the bit, and operations that round once.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "graph/op_row.h"
#include "kernels/elementwise.h"
#include "nx/element.h"
#include "ops/binary.h"

namespace nx {
namespace {

constexpr DType kNarrow[] = {DType::f8, DType::f8_e4m3fn, DType::bf16, DType::f16};

TEST(NarrowTypes, EveryValueGoesToF32AndBack) {
  for (const DType type : kNarrow) {
    const std::size_t bytes = byte_size_of(type);
    const std::uint32_t values = bytes == 1 ? 256 : 65536;
    std::vector<std::uint8_t> in(values * bytes), out(values * bytes);
    for (std::uint32_t i = 0; i < values; ++i)
      std::memcpy(in.data() + i * bytes, &i, bytes);  // little endian
    std::vector<float> wide(values);
    kernels::widen_floats(type, in.data(), wide.data(), values);
    kernels::narrow_floats(type, wide.data(), out.data(), values);
    for (std::uint32_t i = 0; i < values; ++i) {
      if (std::isnan(wide[i])) continue;
      ASSERT_EQ(std::memcmp(in.data() + i * bytes, out.data() + i * bytes, bytes), 0)
          << name_of(type) << " bits " << i;
    }
  }
}

TEST(NarrowTypes, VectorConversionsAgreeWithTheScalarOnes) {
  std::vector<float> x;
  for (std::uint32_t i = 0; i < 200000; ++i) x.push_back(std::bit_cast<float>(i * 21473u));
  for (const float special : {65504.0f, 65519.0f, 65520.0f, 5.96e-8f, 2.98e-8f, 2.99e-8f, 6.1e-5f})
    x.push_back(special);
  std::vector<std::uint16_t> half(x.size()), brain(x.size());
  kernels::narrow_floats(DType::f16, x.data(), half.data(), x.size());
  kernels::narrow_floats(DType::bf16, x.data(), brain.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) {
      ASSERT_TRUE(std::isnan(float(Float16::from_bits(half[i]))));
      continue;
    }
    ASSERT_EQ(half[i], Float16(x[i]).bits) << x[i];
    ASSERT_EQ(brain[i], BFloat16(x[i]).bits) << x[i];
  }
}

TEST(NarrowTypes, OperationsRoundOnce) {
  const DType type = DType::bf16;
  const std::vector<BFloat16> a(300, BFloat16(256.0f)), b(300, BFloat16(1.0f));
  std::vector<BFloat16> out(300);
  const void* const in[] = {a.data(), b.data()};
  ops::kAdd.host_as<graph::ElementwiseRule>()->kernel({&type, 1}, type)(
      {in, out.data(), out.size(), nullptr});
  for (const BFloat16 sum : out) EXPECT_EQ(float(sum), 256.0f);  // 257 lies half way: to even
}

}  // namespace
}  // namespace nx
