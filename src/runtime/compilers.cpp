// The compilers by name. To add one, add a line to `make`.
#include "runtime/compilers.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "host/compiler.h"
#include "nx/jit.h"
#include "xla/xla_compiler.h"

namespace nx::runtime {
namespace {

std::unique_ptr<graph::Compiler> make(const std::string& name, const std::string& plugin) {
  if (name == "host") return std::make_unique<host::HostCompiler>();
  if (name == "xla") return xla::make_xla_compiler(plugin);
  throw ArgumentError("compiler",
                      fmt::format("unknown compiler; expected host or xla, got {}", name));
}

std::string resolved(const std::string& name) {
  if (!name.empty()) return name;
  const std::string process = default_options().compiler;
  if (!process.empty()) return process;
  const char* const environment = std::getenv("NX_COMPILER");
  return environment != nullptr && *environment != '\0' ? environment : "host";
}

using Key = std::pair<std::string, std::string>;
std::mutex& mutex() {
  static auto* const object = new std::mutex;
  return *object;
}
std::map<Key, std::unique_ptr<graph::Compiler>>& made() {
  static auto* const table = new std::map<Key, std::unique_ptr<graph::Compiler>>;
  return *table;  // never destroyed: tensors on its device may outlive statics
}

}  // namespace

const graph::Compiler& compiler_named(const std::string& name, const std::string& plugin) {
  const Key key{resolved(name), plugin};
  const std::lock_guard lock(mutex());
  auto& slot = made()[key];
  if (slot == nullptr) slot = make(key.first, plugin);
  return *slot;
}

void add_compiler(const std::string& name, std::unique_ptr<graph::Compiler> compiler) {
  const std::lock_guard lock(mutex());
  auto& slot = made()[Key{name, ""}];
  if (slot != nullptr)
    throw ArgumentError("compiler", fmt::format("there is one named {} already", name));
  slot = std::move(compiler);
}

}  // namespace nx::runtime
