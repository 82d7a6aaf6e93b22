// The wire format: what is written, and that no bytes make the reader read past the end.
#include "xla/proto.h"

#include <gtest/gtest.h>

#include "nx/error.h"

namespace nx::xla {
namespace {

TEST(XlaProto, an_integer_is_written_as_key_and_base_128) {
  ProtoWriter writer;
  writer.integer(1, 150);
  EXPECT_EQ(writer.text(), std::string("\x08\x96\x01"));
}

TEST(XlaProto, a_negative_integer_takes_ten_bytes) {
  ProtoWriter writer;
  writer.integer(1, -1);
  EXPECT_EQ(writer.text(), std::string("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
}

TEST(XlaProto, what_is_written_is_read_back) {
  ProtoWriter inner;
  inner.integer(3, 7);
  ProtoWriter writer;
  writer.bytes(16, inner.text());
  writer.integer(2, -5);
  ProtoReader reader(writer.text());
  const auto message = reader.next();
  ASSERT_TRUE(message && message->has_bytes);
  EXPECT_EQ(message->field, 16u);
  EXPECT_EQ(ProtoReader(message->bytes).next()->number, 7u);
  const auto number = reader.next();
  ASSERT_TRUE(number && !number->has_bytes);
  EXPECT_EQ(static_cast<std::int64_t>(number->number), -5);
  EXPECT_FALSE(reader.next());
}

TEST(XlaProto, fixed_fields_are_little_endian) {
  const std::string text("\x0d\x01\x02\x00\x00\x11\x03\x00\x00\x00\x00\x00\x00\x00", 14);
  ProtoReader reader(text);
  EXPECT_EQ(reader.next()->number, 0x201u);
  EXPECT_EQ(reader.next()->number, 3u);
}

TEST(XlaProto, every_truncation_of_a_message_is_an_error_or_a_shorter_message) {
  ProtoWriter writer;
  writer.bytes(1, "some bytes");
  writer.integer(300, 1'000'000);
  for (std::size_t length = 0; length < writer.text().size(); ++length) {
    const std::string text = writer.text().substr(0, length);
    ProtoReader reader(text);
    try {
      while (reader.next()) {
      }
      EXPECT_TRUE(length == 0 || length == 12) << length;
    } catch (const BackendError&) {
      EXPECT_TRUE(length != 0 && length != 12) << length;
    }
  }
}

TEST(XlaProto, bytes_that_are_no_message_are_an_error) {
  for (const std::string& text :
       {std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11),  // a huge length
        std::string("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 12),  // eleven bytes
        std::string("\x00", 1), std::string("\x0b", 1), std::string("\x0f", 1)}) {
    ProtoReader reader(text);
    EXPECT_THROW(reader.next(), BackendError);
  }
}

}  // namespace
}  // namespace nx::xla
