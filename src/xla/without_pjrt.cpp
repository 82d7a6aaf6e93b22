// Stands in for the whole layer where the library is built without PJRT's header.
#include "nx/error.h"
#include "xla/xla_compiler.h"

namespace nx::xla {

std::unique_ptr<graph::Compiler> make_xla_compiler(const std::string&) {
  throw BackendError("xla",
                     "this build of nxpp has no XLA: pjrt_c_api.h was not there when it was "
                     "configured. Run scripts/setup, which fetches the header and a plugin, then "
                     "configure and build again; or use the compiler \"host\"");
}

}  // namespace nx::xla
