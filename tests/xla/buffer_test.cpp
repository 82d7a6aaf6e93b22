// Transfers of every type and of awkward shapes, liveness and addresses.
#include "xla/buffer.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "xla/with_plugin.h"

namespace nx::xla {
namespace {

using testing::backend_error;
using ::testing::HasSubstr;

class XlaBuffer : public testing::WithPlugin {};

TEST_F(XlaBuffer, every_type_comes_back_bit_for_bit) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    const std::int64_t dims[2] = {2, 3};
    std::vector<unsigned char> sent(6 * byte_size_of(type));
    for (std::size_t k = 0; k < sent.size(); ++k) {
      sent[k] = static_cast<unsigned char>(is_subbyte(type) ? k % 2 : 17 * k + 1);
    }
    const Buffer buffer = Buffer::from_host(client(), 0, sent.data(), type, dims);
    std::vector<unsigned char> received(sent.size());
    buffer.read(received.data(), received.size());
    EXPECT_EQ(received, sent) << name_of(type);
    EXPECT_EQ(buffer.dtype(), type);
    EXPECT_EQ(buffer.dims(), Dims({2, 3}));
    EXPECT_EQ(buffer.device(), 0);
  }
}

TEST_F(XlaBuffer, signed_types_below_a_byte_keep_their_sign) {
  const std::int64_t dims[1] = {4};
  const std::int8_t sent[4] = {-1, -2, 1, 0};
  for (const DType type : {DType::s2, DType::s4}) {
    std::int8_t received[4] = {};
    Buffer::from_host(client(), 0, sent, type, dims).read(received, 4);
    EXPECT_EQ(0, std::memcmp(sent, received, 4)) << name_of(type);
  }
}

TEST_F(XlaBuffer, scalars_and_empty_arrays_are_transferred) {
  const double scalar = 2.5;
  double received = 0;
  Buffer::from_host(client(), 0, &scalar, DType::f64, {}).read(&received, sizeof received);
  EXPECT_EQ(received, scalar);

  const std::int64_t dims[3] = {3, 0, 2};
  const Buffer empty = Buffer::from_host(client(), 0, nullptr, DType::f32, dims);
  EXPECT_EQ(empty.dims(), Dims({3, 0, 2}));
  empty.read(nullptr, 0);
  Buffer::from_host(client(), 0, nullptr, DType::u4, dims).read(nullptr, 0);
}

TEST_F(XlaBuffer, the_host_array_may_change_as_soon_as_from_host_returns) {
  for (const std::size_t count : {1u, 1u << 10, 1u << 20}) {
    std::vector<float> values(count, 1.0f);
    const Buffer buffer = upload(values);
    std::fill(values.begin(), values.end(), 2.0f);
    EXPECT_EQ(download(buffer), std::vector<float>(count, 1.0f));
  }
}

TEST_F(XlaBuffer, shared_memory_is_read_where_it_lies_and_let_go_with_the_buffer) {
  for (const std::size_t count : {16u, 1u << 20}) {
    auto* const values = new (std::align_val_t(64)) float[count];
    std::fill_n(values, count, 3.0f);
    auto data = std::shared_ptr<float>(
        values, [](float* p) { ::operator delete[](p, std::align_val_t(64)); });
    const std::int64_t dims[1] = {static_cast<std::int64_t>(count)};
    {
      const Buffer buffer = Buffer::from_shared(client(), 0, data, DType::f32, dims);
      EXPECT_EQ(buffer.device_pointer(), values);
      EXPECT_EQ(download(buffer), std::vector<float>(count, 3.0f));
    }
    for (int i = 0; i < 1000 && data.use_count() > 1; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    EXPECT_EQ(data.use_count(), 1);
  }
}

TEST_F(XlaBuffer, freed_memory_is_deleted_and_reading_it_is_an_error) {
  Buffer buffer = upload({1, 2, 3});
  EXPECT_FALSE(buffer.is_deleted());
  buffer.free_memory();
  EXPECT_TRUE(buffer.is_deleted());
  float received[3];
  EXPECT_THAT(backend_error([&] { buffer.read(received, sizeof received); }),
              HasSubstr("eleted"));
  EXPECT_EQ(download(upload({4})), std::vector<float>{4});
}

TEST_F(XlaBuffer, reading_into_an_array_of_another_size_is_refused) {
  const Buffer buffer = upload({1, 2, 3});
  float received[4];
  EXPECT_THROW(buffer.read(received, sizeof received), InternalError);
}

TEST_F(XlaBuffer, live_buffers_are_counted) {
  const std::int64_t before = client().live_buffers();
  {
    Buffer first = upload({1});
    Buffer second = upload({2});
    EXPECT_EQ(client().live_buffers(), before + 2);
    second = std::move(first);
    first = Buffer();
    EXPECT_EQ(client().live_buffers(), before + 1);
  }
  EXPECT_EQ(client().live_buffers(), before);
}

TEST_F(XlaBuffer, a_device_that_is_not_there_is_refused) {
  const float value = 1;
  EXPECT_THROW(Buffer::from_host(client(), 99, &value, DType::f32, {}), ArgumentError);
  EXPECT_THROW(Buffer::from_host(client(), -1, &value, DType::f32, {}), ArgumentError);
}

TEST_F(XlaBuffer, every_type_has_its_own_number_and_others_are_refused) {
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(dtype_of_pjrt(pjrt_type_of(type), "test"), type);
  }
  EXPECT_THROW(dtype_of_pjrt(0, "test"), BackendError);
  EXPECT_THROW(dtype_of_pjrt(9999, "test"), BackendError);
}

}  // namespace
}  // namespace nx::xla
