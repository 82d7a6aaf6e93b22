// Wire format of protocol buffers: a key is (field << 3) | wire type.
#include "xla/proto.h"

#include "nx/error.h"

namespace nx::xla {
namespace {

enum WireType : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

[[noreturn]] void refuse(const char* reason) {
  throw BackendError("xla program", std::string("the plugin's description of the compiled program "
                                                "cannot be read: ") +
                                        reason);
}

std::uint64_t little_endian(std::string_view bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = (value << 8) | static_cast<unsigned char>(bytes[i]);
  }
  return value;
}

}  // namespace

void ProtoWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_.push_back(static_cast<char>((value & 0x7f) | 0x80));
  text_.push_back(static_cast<char>(value));
}

void ProtoWriter::integer(std::uint32_t field, std::int64_t value) {
  varint((std::uint64_t{field} << 3) | kVarint);
  varint(static_cast<std::uint64_t>(value));
}

void ProtoWriter::bytes(std::uint32_t field, std::string_view value) {
  varint((std::uint64_t{field} << 3) | kBytes);
  varint(value.size());
  text_.append(value);
}

std::uint64_t ProtoReader::varint() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1)[0]);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  refuse("a number is longer than ten bytes");
}

std::string_view ProtoReader::take(std::uint64_t count) {
  if (count > rest_.size()) refuse("it ends within a field");
  const std::string_view taken = rest_.substr(0, static_cast<std::size_t>(count));
  rest_.remove_prefix(static_cast<std::size_t>(count));
  return taken;
}

std::optional<ProtoField> ProtoReader::next() {
  if (rest_.empty()) return std::nullopt;
  const std::uint64_t key = varint();
  ProtoField found;
  found.field = static_cast<std::uint32_t>(key >> 3);
  if (found.field == 0 || (key >> 3) > 0x1fffffff) refuse("a field has an impossible number");
  switch (key & 7) {
    case kVarint: found.number = varint(); break;
    case kFixed64: found.number = little_endian(take(8)); break;
    case kFixed32: found.number = little_endian(take(4)); break;
    case kBytes:
      found.has_bytes = true;
      found.bytes = take(varint());
      break;
    default: refuse("a field is of an unknown wire type");
  }
  return found;
}

}  // namespace nx::xla
