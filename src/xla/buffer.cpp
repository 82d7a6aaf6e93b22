// Transfers between host and device, and questions to a buffer.
#include "xla/buffer.h"

#include <fmt/format.h>

#include <array>

#include "nx/error.h"
#include "xla/pjrt.h"

namespace nx::xla {
namespace {

constexpr const char* kTransfer = "xla transfer";
constexpr const char* kBuffer = "xla buffer";

// By DType.
constexpr std::array<PJRT_Buffer_Type, kDTypeCount> kTypes = {
    PJRT_Buffer_Type_U2,   PJRT_Buffer_Type_U4,       PJRT_Buffer_Type_U8,
    PJRT_Buffer_Type_U16,  PJRT_Buffer_Type_U32,      PJRT_Buffer_Type_U64,
    PJRT_Buffer_Type_S2,   PJRT_Buffer_Type_S4,       PJRT_Buffer_Type_S8,
    PJRT_Buffer_Type_S16,  PJRT_Buffer_Type_S32,      PJRT_Buffer_Type_S64,
    PJRT_Buffer_Type_F8E5M2, PJRT_Buffer_Type_F8E4M3FN, PJRT_Buffer_Type_BF16,
    PJRT_Buffer_Type_F16,  PJRT_Buffer_Type_F32,      PJRT_Buffer_Type_F64,
    PJRT_Buffer_Type_C64,  PJRT_Buffer_Type_C128};

// Row-major and dense: what host arrays are. Axes of size 1 may stand anywhere in a layout, but the
// plugins keep them in order, so they need no exception.
bool is_row_major(const PJRT_Api& api, PJRT_Buffer* buffer) {
  auto args = make_args<PJRT_Buffer_GetMemoryLayout_Args>();
  args.buffer = buffer;
  PJRT_Error* error = api.PJRT_Buffer_GetMemoryLayout(&args);
  if (error != nullptr) {
    discard(api, error);  // a plugin that does not say gets the slow way
    return false;
  }
  if (args.layout.type != PJRT_Buffer_MemoryLayout_Type_Tiled) return false;
  const PJRT_Buffer_MemoryLayout_Tiled& tiled = args.layout.tiled;
  for (std::size_t i = 0; i < tiled.minor_to_major_size; ++i) {
    if (tiled.minor_to_major[i] != static_cast<std::int64_t>(tiled.minor_to_major_size - 1 - i)) {
      return false;
    }
  }
  return tiled.num_tiles == 0;
}

// The plugins unpack types below a byte without their sign.
void extend_sign(DType type, void* to, std::size_t count) {
  const int sign = 1 << (bits_of(type) - 1);
  const int mask = 2 * sign - 1;
  auto* elements = static_cast<std::int8_t*>(to);
  for (std::size_t i = 0; i < count; ++i) {
    elements[i] = static_cast<std::int8_t>(((elements[i] & mask) ^ sign) - sign);
  }
}

struct Transfer {
  Buffer buffer;
  Event done;
};

Transfer start_transfer(Client& client, int device, const void* data, DType type,
                        std::span<const std::int64_t> dims, PJRT_HostBufferSemantics semantics) {
  client.check_process(kTransfer);
  auto args = make_args<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client.handle();
  args.data = data;
  args.type = static_cast<PJRT_Buffer_Type>(pjrt_type_of(type));
  args.dims = dims.data();
  args.num_dims = dims.size();
  args.host_buffer_semantics = semantics;
  args.device = client.device(device);
  check(client.api(), client.api().PJRT_Client_BufferFromHostBuffer(&args), kTransfer);
  return {Buffer(client, args.buffer), Event(client.api(), args.done_with_host_buffer)};
}

// The host's array that an asynchronous transfer reads, until the plugin says it is done.
struct HostReference {
  std::shared_ptr<const void> data;
  const PJRT_Api* api;
};

void drop_reference(PJRT_Error* error, void* reference) {
  auto* host = static_cast<HostReference*>(reference);
  discard(*host->api, error);  // the buffer reports it too, to whoever waits for it
  delete host;
}

}  // namespace

int pjrt_type_of(DType type) noexcept { return kTypes[static_cast<std::size_t>(type)]; }

DType dtype_of_pjrt(int type, const char* operation) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == type) return static_cast<DType>(i);
  }
  throw BackendError(operation, fmt::format("element type {} of PJRT has no counterpart here; "
                                            "expected one of our types, got i1, a token or a "
                                            "newer type",
                                            type));
}

Buffer::Buffer(Client& client, PJRT_Buffer* handle) noexcept : client_(&client), handle_(handle) {
  if (handle != nullptr) client.buffers_.fetch_add(1, std::memory_order_relaxed);
}

Buffer Buffer::from_host(Client& client, int device, const void* data, DType type,
                         std::span<const std::int64_t> dims) {
  Transfer transfer = start_transfer(client, device, data, type, dims,
                                     PJRT_HostBufferSemantics_kImmutableOnlyDuringCall);
  return std::move(transfer.buffer);
}

Buffer Buffer::from_shared(Client& client, int device, std::shared_ptr<const void> data, DType type,
                           std::span<const std::int64_t> dims) {
  const PJRT_Api& api = client.api();
  Transfer transfer = start_transfer(client, device, data.get(), type, dims,
                                     PJRT_HostBufferSemantics_kImmutableZeroCopy);
  auto reference = std::make_unique<HostReference>(HostReference{std::move(data), &api});
  auto args = make_args<PJRT_Event_OnReady_Args>();
  args.event = transfer.done.get();
  args.callback = &drop_reference;
  args.user_arg = reference.get();
  PJRT_Error* error = api.PJRT_Event_OnReady(&args);
  if (error != nullptr) {
    // Nobody will tell us, so we wait before the array may go.
    discard(api, error);
    transfer.done.wait(kTransfer);
  } else {
    static_cast<void>(reference.release());
  }
  return std::move(transfer.buffer);
}

PJRT_Buffer* Buffer::release() noexcept {
  if (handle_ != nullptr) client_->buffers_.fetch_sub(1, std::memory_order_relaxed);
  return std::exchange(handle_, nullptr);
}

void Buffer::destroy() noexcept {
  Client& client = *client_;
  auto args = make_args<PJRT_Buffer_Destroy_Args>();
  args.buffer = release();
  if (client.is_foreign_process()) {
    ProcessGuard::leave_behind(args.buffer);
    return;
  }
  discard(client.api(), client.api().PJRT_Buffer_Destroy(&args));
}

DType Buffer::dtype() const {
  client_->check_process(kBuffer);
  auto args = make_args<PJRT_Buffer_ElementType_Args>();
  args.buffer = handle_;
  check(client_->api(), client_->api().PJRT_Buffer_ElementType(&args), kBuffer);
  return dtype_of_pjrt(args.type, kBuffer);
}

Dims Buffer::dims() const {
  client_->check_process(kBuffer);
  auto args = make_args<PJRT_Buffer_Dimensions_Args>();
  args.buffer = handle_;
  check(client_->api(), client_->api().PJRT_Buffer_Dimensions(&args), kBuffer);
  return Dims(args.dims, args.dims + args.num_dims);
}

std::size_t Buffer::device_bytes() const {
  client_->check_process(kBuffer);
  auto args = make_args<PJRT_Buffer_OnDeviceSizeInBytes_Args>();
  args.buffer = handle_;
  check(client_->api(), client_->api().PJRT_Buffer_OnDeviceSizeInBytes(&args), kBuffer);
  return args.on_device_size_in_bytes;
}

int Buffer::device() const {
  client_->check_process(kBuffer);
  auto args = make_args<PJRT_Buffer_Device_Args>();
  args.buffer = handle_;
  check(client_->api(), client_->api().PJRT_Buffer_Device(&args), kBuffer);
  return client_->ordinal_of(args.device);
}

bool Buffer::is_deleted() const {
  client_->check_process(kBuffer);
  auto args = make_args<PJRT_Buffer_IsDeleted_Args>();
  args.buffer = handle_;
  check(client_->api(), client_->api().PJRT_Buffer_IsDeleted(&args), kBuffer);
  return args.is_deleted;
}

void* Buffer::device_pointer() const {
  client_->check_process(kBuffer);
  auto args = make_args<PJRT_Buffer_OpaqueDeviceMemoryDataPointer_Args>();
  args.buffer = handle_;
  check(client_->api(), client_->api().PJRT_Buffer_OpaqueDeviceMemoryDataPointer(&args), kBuffer);
  return args.device_memory_ptr;
}

PJRT_Event* Buffer::ready_event() const {
  client_->check_process(kBuffer);
  auto args = make_args<PJRT_Buffer_ReadyEvent_Args>();
  args.buffer = handle_;
  check(client_->api(), client_->api().PJRT_Buffer_ReadyEvent(&args), kBuffer);
  return args.event;
}

void Buffer::wait() const { Event(client_->api(), ready_event()).wait(kBuffer); }

bool Buffer::is_lost() const noexcept {
  try {
    if (is_deleted()) return false;
  } catch (const BackendError&) {
    return false;  // a forked child
  }
  try {
    wait();
    return false;
  } catch (const BackendError&) {
    return true;
  }
}

void Buffer::read(void* to, std::size_t bytes) const {
  client_->check_process(kTransfer);
  const DType type = dtype();
  const Dims shape = dims();
  const std::size_t expected =
      static_cast<std::size_t>(element_count(shape)) * byte_size_of(type);
  if (bytes != expected) {
    throw InternalError(kTransfer, fmt::format("reading a buffer of {} bytes into {} bytes",
                                               expected, bytes));
  }
  // The plugin's own transfer hands the copy to another thread: 10 to 25 us against 0.1.
  // It has no event for nothing to copy.
  const bool is_direct = bytes == 0 || (client_->is_host_memory() && !is_subbyte(type) &&
                                        is_row_major(client_->api(), handle_));
  if (is_direct) {
    wait();
    const void* from = device_pointer();  // throws for a deleted buffer, whatever its size
    if (bytes != 0) std::memcpy(to, from, bytes);
    return;
  }
  transfer_to_host(shape, to, bytes);
  if (is_subbyte(type) && is_signed_integer(type)) extend_sign(type, to, bytes);
}

void Buffer::transfer_to_host(const Dims& shape, void* to, std::size_t bytes) const {
  const PJRT_Api& api = client_->api();
  const std::size_t rank = shape.size();
  Dims minor_to_major(rank);  // the device may have chosen another order; the host gets row-major
  for (std::size_t i = 0; i < rank; ++i) {
    minor_to_major[i] = static_cast<std::int64_t>(rank - 1 - i);
  }
  auto layout = make_args<PJRT_Buffer_MemoryLayout>();
  layout.type = PJRT_Buffer_MemoryLayout_Type_Tiled;
  layout.tiled = make_args<PJRT_Buffer_MemoryLayout_Tiled>();
  layout.tiled.minor_to_major = minor_to_major.data();
  layout.tiled.minor_to_major_size = rank;
  auto args = make_args<PJRT_Buffer_ToHostBuffer_Args>();
  args.src = handle_;
  args.host_layout = &layout;
  args.dst = to;
  args.dst_size = bytes;
  check(api, api.PJRT_Buffer_ToHostBuffer(&args), kTransfer);
  Event(api, args.event).wait(kTransfer);
}

void Buffer::free_memory() {
  client_->check_process(kBuffer);
  auto args = make_args<PJRT_Buffer_Delete_Args>();
  args.buffer = handle_;
  check(client_->api(), client_->api().PJRT_Buffer_Delete(&args), kBuffer);
}

}  // namespace nx::xla
