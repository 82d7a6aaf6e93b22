// Finding and loading a PJRT plugin, a shared library chosen at run time. Knows nothing of clients.
#pragma once

#include <string>
#include <string_view>

#include "xla/process_guard.h"

struct PJRT_Api;

namespace nx::xla {

/// The plugin's path: `explicit_path` if not empty, else `$NX_PJRT_PLUGIN`, else the file that
/// `scripts/setup` unpacks into `${NXPP_CACHE:-${XDG_CACHE_HOME:-~/.cache}}/nxpp/pjrt`.
/// Throws BackendError, which says how to get a plugin, when no file is there.
std::string find_plugin(const std::string& explicit_path = {});

/// A loaded plugin. Loaded once per path and never unloaded: its threads may outlive main.
class Plugin {
 public:
  /// Throws BackendError naming the path when the file is missing, is no PJRT plugin, is of
  /// another major version, is too old, or refuses to start. A failed load may be repeated.
  static const Plugin& load(const std::string& path);

  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;

  const PJRT_Api& api() const noexcept { return *api_; }
  const std::string& path() const noexcept { return path_; }
  int minor_version() const noexcept { return minor_version_; }
  /// One of the plugin's attributes as text, such as `stablehlo_current_version` -> `1.20.0`;
  /// empty when it has none of that name.
  std::string attribute(std::string_view name) const;

 private:
  explicit Plugin(std::string path);

  std::string path_;
  const PJRT_Api* api_ = nullptr;
  int minor_version_ = 0;
  ProcessGuard process_;
};

}  // namespace nx::xla
