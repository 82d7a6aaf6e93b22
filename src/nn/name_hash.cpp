// MD5 of short texts (RFC 1321), for turning layer names into numbers. Not for secrets.
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "nn/name_hash.h"

namespace nx::nn::detail_nn {

std::uint32_t name_hash(std::string_view text) {
  constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  std::string data(text);
  data += static_cast<char>(0x80);
  while (data.size() % 64 != 56) data += '\0';
  const std::uint64_t bits = text.size() * 8;
  for (int i = 0; i < 8; ++i) data += static_cast<char>(bits >> (8 * i));

  std::array<std::uint32_t, 4> sum{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  for (std::size_t block = 0; block < data.size(); block += 64) {
    std::uint32_t words[16];
    for (std::size_t i = 0; i < 16; ++i) {
      words[i] = 0;
      for (std::size_t k = 4; k-- > 0;)
        words[i] = words[i] << 8 | static_cast<unsigned char>(data[block + 4 * i + k]);
    }
    auto [a, b, c, d] = sum;
    for (std::uint32_t i = 0; i < 64; ++i) {
      std::uint32_t f = 0, g = 0;
      switch (i / 16) {
        case 0: f = (b & c) | (~b & d); g = i; break;
        case 1: f = (d & b) | (~d & c); g = (5 * i + 1) % 16; break;
        case 2: f = b ^ c ^ d; g = (3 * i + 5) % 16; break;
        default: f = c ^ (b | ~d); g = 7 * i % 16; break;
      }
      const auto constant = static_cast<std::uint32_t>(
          std::floor(std::ldexp(std::fabs(std::sin(static_cast<double>(i + 1))), 32)));
      const std::uint32_t turned = std::rotl(a + f + constant + words[g], kShifts[i / 16][i % 4]);
      a = d;
      d = c;
      c = b;
      b += turned;
    }
    sum[0] += a;
    sum[1] += b;
    sum[2] += c;
    sum[3] += d;
  }
  // The digest begins with the least significant byte of the first word.
  const std::uint32_t w = sum[0];
  return w << 24 | (w & 0xff00) << 8 | (w >> 8 & 0xff00) | w >> 24;
}

}  // namespace nx::nn::detail_nn
