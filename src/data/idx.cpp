// IDX files, through zlib, which reads gzipped and plain files alike.
#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <memory>

#include "graph/dispatch.h"
#include "nx/data.h"

namespace nx::data {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 36;

class File {
 public:
  explicit File(const std::string& path) : path_(path) {
    struct stat info {};
    if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
      fail("expected a file, got a folder");
    file_.reset(gzopen(path.c_str(), "rb"));
    if (!file_) fail(fmt::format("cannot be opened: {}", std::strerror(errno ? errno : ENOMEM)));
    gzbuffer(file_.get(), 1 << 17);
  }
  /// Reads exactly `size` bytes of `what`, of which `before` are read already.
  void read(void* to, std::size_t size, const char* what, std::size_t before = 0,
            std::size_t after = 0) {
    std::size_t done = 0;
    while (done < size) {
      const auto part = static_cast<unsigned>(std::min<std::size_t>(size - done, 1u << 30));
      const int got = gzread(file_.get(), static_cast<char*>(to) + done, part);
      if (got < 0) fail_compressed();
      if (got == 0) {
        // A truncated gzip stream ends like a plain file; zlib tells them apart only by its error.
        int code = Z_OK;
        gzerror(file_.get(), &code);
        fail(fmt::format("cut short in {} at offset {}; expected {} bytes, got {}{}", what,
                         offset_ - before, before + size + after, before + done,
                         code == Z_BUF_ERROR ? " (the gzip stream is truncated)" : ""));
      }
      done += static_cast<std::size_t>(got);
    }
    offset_ += size;
  }
  void expect_end() {
    char more;
    const int got = gzread(file_.get(), &more, 1);
    if (got < 0) fail_compressed();
    if (got > 0)
      fail(fmt::format("expected the end of the file at offset {}, got more bytes", offset_));
    if (gzclose_r(file_.release()) != Z_OK) fail("the gzip stream is truncated or corrupt");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw IoError("read_idx", fmt::format("{}: {}", path_, what));
  }

 private:
  [[noreturn]] void fail_compressed() {
    int code = 0;
    const char* const text = gzerror(file_.get(), &code);
    fail(fmt::format("the gzip stream is corrupt at offset {}: {}", offset_, text));
  }
  struct Close {
    void operator()(gzFile_s* file) const { gzclose_r(file); }
  };
  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::size_t offset_ = 0;
};

DType type_of_code(const File& file, unsigned code) {
  switch (code) {
    case 0x08: return DType::u8;
    case 0x09: return DType::s8;
    case 0x0b: return DType::s16;
    case 0x0c: return DType::s32;
    case 0x0d: return DType::f32;
    case 0x0e: return DType::f64;
    default: break;
  }
  file.fail(
      fmt::format("element type at offset 2: expected 0x08, 0x09, 0x0b, 0x0c, 0x0d or 0x0e, "
                  "got 0x{:02x}",
                  code));
}

void swap_bytes(void* data, std::size_t size, std::size_t count) {
  auto* bytes = static_cast<unsigned char*>(data);
  for (std::size_t i = 0; i < count; ++i, bytes += size) std::reverse(bytes, bytes + size);
}

}  // namespace

Tensor read_idx(const std::string& path) {
  File file(path);
  unsigned char magic[4];
  file.read(magic, 4, "the magic number");
  if (magic[0] != 0 || magic[1] != 0)
    file.fail(fmt::format("magic number at offset 0: expected 00 00, got {:02x} {:02x}", magic[0],
                          magic[1]));
  const DType type = type_of_code(file, magic[2]);
  Dims dims;
  std::int64_t bytes = static_cast<std::int64_t>(byte_size_of(type));
  for (int i = 0; i < magic[3]; ++i) {
    unsigned char size[4];
    file.read(size, 4, "a size");
    const std::int64_t n =
        (std::int64_t{size[0]} << 24) | (size[1] << 16) | (size[2] << 8) | size[3];
    if (n != 0 && bytes > kMostBytes / n)
      file.fail(fmt::format("sizes at offset 4: expected at most {} bytes of values, got more",
                            kMostBytes));
    dims.push_back(n);
    bytes *= n;
  }
  // Grown while reading, so that a small file that claims a huge size cannot take the memory.
  std::vector<char> values;
  for (std::int64_t have = 0; have < bytes;) {
    const std::int64_t step = std::clamp<std::int64_t>(have, 1 << 16, 1 << 24);
    const std::int64_t part = std::min(step, bytes - have);
    values.resize(static_cast<std::size_t>(have + part));
    file.read(values.data() + have, static_cast<std::size_t>(part), "the values",
              static_cast<std::size_t>(have), static_cast<std::size_t>(bytes - have - part));
    have += part;
  }
  file.expect_end();
  if constexpr (std::endian::native == std::endian::little)
    if (byte_size_of(type) > 1)
      swap_bytes(values.data(), byte_size_of(type), values.size() / byte_size_of(type));
  Tensor made = graph::new_tensor(type, dims);
  if (!values.empty()) std::memcpy(graph::data_of(made), values.data(), values.size());
  return made;
}

Labelled read_labelled(const std::string& images, const std::string& labels, int classes) {
  if (classes < 1)
    throw ArgumentError("read_labelled", fmt::format("expected at least 1 class, got {}", classes));
  Labelled data{read_idx(images), read_idx(labels)};
  const Shape shape = data.images.shape(), label_shape = data.labels.shape();
  if (data.images.type() != DType::u8 || shape.size() < 2)
    throw IoError("read_labelled", fmt::format("{}: expected images u8[n, …], got {}", images,
                                               to_string(data.images.type(), shape)));
  if (data.labels.type() != DType::u8 || label_shape.size() != 1)
    throw IoError("read_labelled", fmt::format("{}: expected labels u8[n], got {}", labels,
                                               to_string(data.labels.type(), label_shape)));
  if (shape[0] != label_shape[0])
    throw IoError("read_labelled", fmt::format("{}: expected {} labels, one for each image of {}, "
                                               "got {}",
                                               labels, shape[0], images, label_shape[0]));
  const auto values = data.labels.host<std::uint8_t>();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] >= classes)
      throw IoError("read_labelled", fmt::format("{}: label {} at offset {} is out of range; "
                                                 "expected 0 to {}, got {}",
                                                 labels, i, 8 + i, classes - 1, values[i]));
  return data;
}

}  // namespace nx::data
