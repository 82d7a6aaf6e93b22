// The one place that names the compilers.
#pragma once

#include <memory>
#include <string>

#include "graph/compiler.h"

namespace nx::runtime {

/// The compiler of that name ("" means the process default, then NX_COMPILER, then host). Lives
/// for the rest of the process. Throws ArgumentError for an unknown name, BackendError when a
/// plugin is missing or unusable.
const graph::Compiler& compiler_named(const std::string& name, const std::string& plugin = {});

/// Another compiler, from now on found under that name. Throws ArgumentError for a name in use.
void add_compiler(const std::string& name, std::unique_ptr<graph::Compiler> compiler);

}  // namespace nx::runtime
