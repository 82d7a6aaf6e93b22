// Making a client and asking it for its devices.
#include "xla/client.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "nx/error.h"
#include "xla/pjrt.h"

namespace nx::xla {
namespace {

constexpr const char* kOperation = "xla client";

PJRT_DeviceDescription* description_of(const PJRT_Api& api, PJRT_Device* device) {
  auto args = make_args<PJRT_Device_GetDescription_Args>();
  args.device = device;
  check(api, api.PJRT_Device_GetDescription(&args), kOperation);
  return args.device_description;
}

using Key = std::pair<const Plugin*, int>;

struct Table {
  std::mutex mutex;
  std::map<Key, std::unique_ptr<Client>> clients;
};

Table& table() {
  static auto* clients = new Table;  // never destroyed: used by threads that outlive main
  return *clients;
}

// Runs in flight and compilations that a plugin finishes on threads of its own would go on while
// the plugin's own statics are torn down, and crash. Destroying a client waits for them. What is
// still alive of it (buffers of global tensors) is then left to the process's end.
void end_clients() {
  Table& all = table();
  const std::unique_lock lock(all.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;  // a thread is making a client, and main does not wait for it
  for (const auto& [key, client] : all.clients) {
    if (client == nullptr || client->is_foreign_process()) return;
  }
  ProcessGuard::end_process();
  for (const auto& [key, client] : all.clients) {
    auto args = make_args<PJRT_Client_Destroy_Args>();
    args.client = client->handle();
    discard(client->api(), client->api().PJRT_Client_Destroy(&args));
  }
}

}  // namespace

Client& Client::get(const ClientOptions& options) {
  if (options.device_count < 1) {
    throw ArgumentError(kOperation, fmt::format("device_count: expected at least 1, got {}",
                                                options.device_count));
  }
  // Before the lock, which another thread of the parent may have held at the fork.
  static const ProcessGuard first_use;
  first_use.check(kOperation);
  const Plugin& plugin = Plugin::load(find_plugin(options.plugin));

  Table& all = table();
  const std::lock_guard lock(all.mutex);
  std::unique_ptr<Client>& entry = all.clients[Key(&plugin, options.device_count)];
  if (entry == nullptr) entry.reset(new Client(plugin, options.device_count));
  return *entry;
}

void Client::end_at_exit() {
  // Registered anew each time: what is registered last runs first.
  if (std::atexit(&end_clients) != 0) {
    throw BackendError(kOperation, "no room for a function to be called at the process's end");
  }
}

Client::Client(const Plugin& plugin, int device_count) : plugin_(&plugin) {
  const PJRT_Api& api = plugin.api();
  // Only asked for when needed: the option is the CPU's, and others refuse options unknown to them.
  constexpr std::string_view option_name = "cpu_device_count";
  auto option = make_args<PJRT_NamedValue>();
  option.name = option_name.data();
  option.name_size = option_name.size();
  option.type = PJRT_NamedValue_kInt64;
  option.int64_value = device_count;
  option.value_size = 1;
  auto create = make_args<PJRT_Client_Create_Args>();
  create.create_options = &option;
  create.num_options = device_count > 1 ? 1 : 0;
  check(api, api.PJRT_Client_Create(&create), kOperation);
  handle_ = create.client;

  auto name = make_args<PJRT_Client_PlatformName_Args>();
  name.client = handle_;
  check(api, api.PJRT_Client_PlatformName(&name), kOperation);
  platform_name_.assign(name.platform_name, name.platform_name_size);

  auto list = make_args<PJRT_Client_AddressableDevices_Args>();
  list.client = handle_;
  check(api, api.PJRT_Client_AddressableDevices(&list), kOperation);
  devices_.assign(list.addressable_devices,
                  list.addressable_devices + list.num_addressable_devices);
  if (devices_.empty()) {
    throw BackendError(kOperation, plugin.path() + " has no device that this process can use");
  }
}

PJRT_Device* Client::device(int ordinal) const {
  if (ordinal < 0 || ordinal >= device_count()) {
    throw ArgumentError(kOperation, fmt::format("no device {}; expected 0 to {}", ordinal,
                                                device_count() - 1));
  }
  return devices_[static_cast<std::size_t>(ordinal)];
}

int Client::device_id(int ordinal) const {
  check_process(kOperation);
  auto args = make_args<PJRT_DeviceDescription_Id_Args>();
  args.device_description = description_of(api(), device(ordinal));
  check(api(), api().PJRT_DeviceDescription_Id(&args), kOperation);
  return args.id;
}

std::string Client::device_kind(int ordinal) const {
  check_process(kOperation);
  auto args = make_args<PJRT_DeviceDescription_Kind_Args>();
  args.device_description = description_of(api(), device(ordinal));
  check(api(), api().PJRT_DeviceDescription_Kind(&args), kOperation);
  return {args.device_kind, args.device_kind_size};
}

int Client::ordinal_of(const PJRT_Device* device) const noexcept {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i] == device) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace nx::xla
