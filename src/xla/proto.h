// The few lines of the protocol buffer wire format that PJRT asks for: writing compile options,
// reading a compiled module. Field numbers are the caller's business.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace nx::xla {

class ProtoWriter {
 public:
  /// An integer, bool or enum; negative numbers take ten bytes, as the format has it.
  void integer(std::uint32_t field, std::int64_t value);
  /// A string, bytes, or a message that was written by another writer.
  void bytes(std::uint32_t field, std::string_view value);
  const std::string& text() const noexcept { return text_; }

 private:
  void varint(std::uint64_t value);
  std::string text_;
};

/// One field of a message: `number` for wire types of a fixed or variable size, `bytes` for others.
struct ProtoField {
  std::uint32_t field = 0;
  bool has_bytes = false;
  std::uint64_t number = 0;
  std::string_view bytes = {};
};

/// Walks over the fields of a message, which must outlive it. Throws BackendError on bytes that
/// are no message; never reads past the end.
class ProtoReader {
 public:
  explicit ProtoReader(std::string_view message) noexcept : rest_(message) {}
  /// The next field, or nothing at the end.
  std::optional<ProtoField> next();

 private:
  std::uint64_t varint();
  std::string_view take(std::uint64_t count);
  std::string_view rest_;
};

}  // namespace nx::xla
