// layer: core
// The version of the library: the one of the headers as numbers, the one that is linked as text.
#pragma once

#include <cstddef>  // names the ABI of the standard library

#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#error "nxpp needs the C++11 ABI of libstdc++: leave out -D_GLIBCXX_USE_CXX11_ABI=0"
#endif

#include "nx/config.h"

#define NX_VERSION_MAJOR 0
#define NX_VERSION_MINOR 1
#define NX_VERSION_PATCH 0

namespace nx {

// The version of the linked library, "0.1.0". A program that was compiled against other headers
// can compare it with the macros above.
NX_API const char* version() noexcept;

}  // namespace nx
