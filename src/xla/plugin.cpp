// Search order, loading and the checks of a PJRT plugin.
#include "xla/plugin.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>

#include "nx/error.h"
#include "xla/pjrt.h"

namespace nx::xla {
namespace {

constexpr const char* kOperation = "xla plugin";
constexpr const char* kAdvice =
    "run ./scripts/setup to get one, or set NX_PJRT_PLUGIN to the path of a plugin";

// Every function this folder calls lies before this offset, so that a plugin with at least these
// fields can be called without asking again.
constexpr std::size_t kNeededBytes = offsetof(PJRT_Api, PJRT_Memory_Kind_Id);

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string cached_path() {
  std::string cache = environment("NXPP_CACHE");
  if (cache.empty()) cache = environment("XDG_CACHE_HOME");
  if (cache.empty()) {
    const std::string home = environment("HOME");
    if (home.empty()) return {};
    cache = home + "/.cache";
  }
  return cache + "/nxpp/pjrt/xla_cpu_pjrt/xla_cpu_pjrt.so";
}

bool is_file(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed);
}

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw BackendError(kOperation, fmt::format("{} {}", path, reason));
}

[[noreturn]] void refuse_missing(const std::string& path, const char* source) {
  throw BackendError(kOperation, fmt::format("no PJRT plugin at the path {}; expected a shared "
                                             "library, got no file at {}; {}",
                                             source, path, kAdvice));
}

// The library stays open whatever the checks say: closing one that started threads would crash.
const PJRT_Api* open_library(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    refuse(path, fmt::format("cannot be loaded; expected a PJRT plugin, got: {}",
                             reason == nullptr ? "no reason" : reason));
  }
  auto* get_api = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (get_api == nullptr) {
    refuse(path, "is no PJRT plugin; expected a function GetPjrtApi, got a library without it");
  }
  const PJRT_Api* api = get_api();
  if (api == nullptr) refuse(path, "is no PJRT plugin; expected a table of functions, got null");
  return api;
}

void check_version(const std::string& path, const PJRT_Api& api) {
  // The size is read first: it says whether the version is there to be read.
  constexpr std::size_t version_end =
      offsetof(PJRT_Api, pjrt_api_version) + sizeof(PJRT_Api_Version);
  if (api.struct_size >= version_end && api.pjrt_api_version.major_version != PJRT_API_MAJOR) {
    refuse(path, fmt::format("speaks another major version of PJRT; expected {}.x, got {}.{}",
                             PJRT_API_MAJOR, api.pjrt_api_version.major_version,
                             api.pjrt_api_version.minor_version));
  }
  if (api.struct_size < kNeededBytes) {
    refuse(path, fmt::format("is too old; expected a table of at least {} bytes, got {}",
                             kNeededBytes, api.struct_size));
  }
}

PJRT_Error* report_missing(void*) { return missing_entry(); }

struct Free {
  void operator()(PJRT_Api* table) const noexcept { std::free(table); }
};

/// A copy of the table, whose empty entries report that they are.
std::unique_ptr<PJRT_Api, Free> without_gaps(const PJRT_Api& api) {
  std::unique_ptr<PJRT_Api, Free> table(static_cast<PJRT_Api*>(std::calloc(1, sizeof(PJRT_Api))));
  if (table == nullptr) throw std::bad_alloc();
  std::memcpy(static_cast<void*>(table.get()), &api, std::min(api.struct_size, sizeof *table));
  auto* entries = reinterpret_cast<char*>(table.get());
  void* const stub = reinterpret_cast<void*>(&report_missing);
  constexpr std::size_t first = offsetof(PJRT_Api, PJRT_Error_Destroy);
  for (std::size_t at = first; at < kNeededBytes; at += sizeof stub) {
    void* entry = nullptr;
    std::memcpy(&entry, entries + at, sizeof entry);
    if (entry == nullptr) std::memcpy(entries + at, &stub, sizeof stub);
  }
  return table;
}

std::mutex& table_mutex() {
  static auto* mutex = new std::mutex;  // never destroyed: used by threads that outlive main
  return *mutex;
}

}  // namespace

std::string find_plugin(const std::string& explicit_path) {
  if (!explicit_path.empty()) {
    if (!is_file(explicit_path)) refuse_missing(explicit_path, "that was asked for");
    return explicit_path;
  }
  if (std::string path = environment("NX_PJRT_PLUGIN"); !path.empty()) {
    if (!is_file(path)) refuse_missing(path, "in NX_PJRT_PLUGIN");
    return path;
  }
  std::string path = cached_path();
  if (!is_file(path)) {
    refuse_missing(path.empty() ? "an unknown place (HOME is not set)" : path,
                   "that scripts/setup fills");
  }
  return path;
}

Plugin::Plugin(std::string path) : path_(std::move(path)) {
  const PJRT_Api* api = open_library(path_);
  check_version(path_, *api);
  auto table = without_gaps(*api);
  auto args = make_args<PJRT_Plugin_Initialize_Args>();
  check(*table, table->PJRT_Plugin_Initialize(&args), kOperation);
  minor_version_ = table->pjrt_api_version.minor_version;
  api_ = table.release();  // lives as long as the plugin: for ever
}

const Plugin& Plugin::load(const std::string& path) {
  // Asked before the lock, which another thread of the parent may have held at the fork.
  static const ProcessGuard first_use;
  first_use.check(kOperation);
  if (!is_file(path)) refuse_missing(path, "that was asked for");
  std::error_code failed;
  std::string key = std::filesystem::canonical(path, failed).string();
  if (failed) key = path;

  static auto* table = new std::map<std::string, std::unique_ptr<Plugin>>;
  const std::lock_guard lock(table_mutex());
  std::unique_ptr<Plugin>& entry = (*table)[key];
  if (entry == nullptr) entry.reset(new Plugin(key));
  return *entry;
}

std::string Plugin::attribute(std::string_view name) const {
  process_.check(kOperation);
  auto args = make_args<PJRT_Plugin_Attributes_Args>();
  if (PJRT_Error* error = api_->PJRT_Plugin_Attributes(&args)) {
    discard(*api_, error);  // a plugin need not have any
    return {};
  }
  for (std::size_t i = 0; i < args.num_attributes; ++i) {
    const PJRT_NamedValue& value = args.attributes[i];
    if (std::string_view(value.name, value.name_size) != name) continue;
    switch (value.type) {
      case PJRT_NamedValue_kString: return {value.string_value, value.value_size};
      case PJRT_NamedValue_kInt64: return std::to_string(value.int64_value);
      case PJRT_NamedValue_kFloat: return fmt::format("{}", value.float_value);
      case PJRT_NamedValue_kBool: return value.bool_value ? "true" : "false";
      case PJRT_NamedValue_kInt64List: {
        std::string text;
        for (std::size_t k = 0; k < value.value_size; ++k) {
          text += fmt::format("{}{}", k == 0 ? "" : ".", value.int64_array_value[k]);
        }
        return text;
      }
    }
  }
  return {};
}

}  // namespace nx::xla
