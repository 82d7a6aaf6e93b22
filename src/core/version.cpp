// The version text of the linked library.
#include "nx/version.h"

#define NX_TEXT_(x) #x
#define NX_TEXT(x) NX_TEXT_(x)

namespace nx {

const char* version() noexcept {
  return NX_TEXT(NX_VERSION_MAJOR) "." NX_TEXT(NX_VERSION_MINOR) "." NX_TEXT(NX_VERSION_PATCH);
}

}  // namespace nx
