// Gzipped IDX files that are damaged: read as if they were whole, or refused with an IoError. The
// first five bytes of the input say how to damage it, the others are the file.
#include <zlib.h>

#include <optional>

#include "fuzz/input.h"

namespace nx::fuzz {
namespace {

std::vector<unsigned char> gzipped(const std::uint8_t* data, std::size_t size, int level) {
  z_stream stream{};
  if (deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    broken("zlib starts");
  std::vector<unsigned char> out(deflateBound(&stream, static_cast<uLong>(size)));
  stream.next_in = const_cast<Bytef*>(data);
  stream.avail_in = static_cast<uInt>(size);
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) broken("zlib compresses");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::optional<Tensor> read(const void* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    return data::read_idx(file.path());
  } catch (const IoError& error) {
    check_error(error, file.path());
    return std::nullopt;
  }
}

bool are_same(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() && to_binary(a) == to_binary(b);
}

}  // namespace
}  // namespace nx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace nx;
  constexpr std::size_t kControl = 5;
  if (size < kControl) return 0;
  const std::size_t cut = data[0] | data[1] << 8, place = data[2] | data[3] << 8;
  const unsigned flip = data[4];
  data += kControl;
  size -= kControl;
  fuzz::without_leaks([&] {
    const auto plain = fuzz::read(data, size);
    auto packed = fuzz::gzipped(data, size, flip % 10);
    const auto whole = fuzz::read(packed.data(), packed.size());
    const bool is_gzip_within = size >= 2 && data[0] == 0x1f && data[1] == 0x8b;
    if (!is_gzip_within) {
      if (whole.has_value() != plain.has_value()) fuzz::broken("packed and plain read alike");
      if (whole && !fuzz::are_same(*whole, *plain)) fuzz::broken("packed and plain hold the same");
    }
    if (cut != 0) {
      const auto short_one =
          fuzz::read(packed.data(), packed.size() - std::min(cut, packed.size()));
      if (short_one) fuzz::broken("a stream that is cut off is refused");
    }
    if (flip != 0) {
      packed[place % packed.size()] ^= static_cast<unsigned char>(flip);
      const auto damaged = fuzz::read(packed.data(), packed.size());
      if (damaged && (!whole || !fuzz::are_same(*damaged, *whole)))
        fuzz::broken("a damaged stream is refused, or holds what was packed");
    }
  });
  return 0;
}
