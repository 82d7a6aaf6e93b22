// The compiler named "xla": graphs on a device of a PJRT plugin. This header needs no PJRT, so that
// a build without it has the same door.
#pragma once

#include <memory>
#include <string>

#include "graph/compiler.h"

namespace nx::xla {

/// The compiler for the first device of the plugin at `plugin_path`, or of the plugin that
/// find_plugin finds when the path is empty. Throws BackendError, which says how to get a plugin,
/// when there is none or the library was built without PJRT's header.
std::unique_ptr<graph::Compiler> make_xla_compiler(const std::string& plugin_path);

}  // namespace nx::xla
