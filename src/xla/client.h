// A PJRT client: the devices of one plugin in this process. Knows nothing of tensors or graphs.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "xla/process_guard.h"
#include "xla/plugin.h"

struct PJRT_Client;
struct PJRT_Device;

namespace nx::xla {

struct ClientOptions {
  std::string plugin = {};  ///< Path of the plugin; empty: the order of find_plugin.
  int device_count = 1;     ///< CPU devices in this process (`cpu_device_count`).
};

/// The object is never destroyed: global tensors outlive main. The plugin's client is, when the
/// process ends, so that what is in flight ends first.
class Client {
 public:
  /// The client for these options, made at the first call. Throws BackendError when there is no
  /// usable plugin and in a forked child, ArgumentError for a device count below 1.
  static Client& get(const ClientOptions& options = {});

  /// From now on the end of the process first waits for what is in flight on all clients, and ends
  /// them. Called again after the first run of each program, as such a run makes static objects of
  /// the plugin, which would otherwise be destroyed before that wait.
  static void end_at_exit();

  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Plugin& plugin() const noexcept { return *plugin_; }
  const PJRT_Api& api() const noexcept { return plugin_->api(); }
  PJRT_Client* handle() const noexcept { return handle_; }

  /// Such as `cpu`, in the plugin's own spelling.
  const std::string& platform_name() const noexcept { return platform_name_; }
  /// True when device memory is the host's, so that a device's address can be read.
  bool is_host_memory() const noexcept { return platform_name_ == "cpu"; }
  int device_count() const noexcept { return static_cast<int>(devices_.size()); }
  /// The device's handle. Throws ArgumentError when there is no such device.
  PJRT_Device* device(int ordinal) const;
  /// The number by which device assignments name the device.
  int device_id(int ordinal) const;
  /// Such as `NVIDIA H100`, in the plugin's own spelling.
  std::string device_kind(int ordinal) const;
  /// The ordinal of a handle; -1 for a device of another client.
  int ordinal_of(const PJRT_Device* device) const noexcept;

  /// Throws BackendError in a forked child (R29). Every call that reaches the plugin asks first.
  void check_process(const char* operation) const { process_.check(operation); }
  bool is_foreign_process() const noexcept { return process_.is_foreign(); }

  /// What is alive now, for bounding caches and for tests of leaks.
  std::int64_t live_buffers() const noexcept { return buffers_.load(std::memory_order_relaxed); }
  std::int64_t live_programs() const noexcept {
    return programs_.load(std::memory_order_relaxed);
  }

 private:
  friend class Buffer;
  friend class Program;
  Client(const Plugin& plugin, int device_count);

  const Plugin* plugin_;
  ProcessGuard process_;
  PJRT_Client* handle_ = nullptr;
  std::vector<PJRT_Device*> devices_;
  std::string platform_name_;
  std::atomic<std::int64_t> buffers_{0};
  std::atomic<std::int64_t> programs_{0};
};

}  // namespace nx::xla
