# Finds what the library is built with. Everything here is private to the shared library: users of
# nxpp::nxpp need none of it. Nothing is downloaded; scripts/setup installs what is missing.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(ZLIB REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(HWY_CONTRIB IMPORTED_TARGET libhwy-contrib)

# oneDNN's own package file asks for OpenCL's headers, which a CPU build never touches.
find_path(NXPP_DNNL_INCLUDE dnnl.hpp)
find_library(NXPP_DNNL_LIBRARY dnnl)
if(NOT NXPP_DNNL_INCLUDE OR NOT NXPP_DNNL_LIBRARY)
  message(FATAL_ERROR "nxpp: oneDNN is missing (Debian: libdnnl-dev). Run scripts/setup.")
endif()

# The header of the PJRT interface comes from a wheel that scripts/setup unpacks into the cache.
if(DEFINED ENV{NXPP_CACHE} AND NOT "$ENV{NXPP_CACHE}" STREQUAL "")
  set(nxpp_cache "$ENV{NXPP_CACHE}")
elseif(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
  set(nxpp_cache "$ENV{XDG_CACHE_HOME}")
else()
  set(nxpp_cache "$ENV{HOME}/.cache")
endif()
find_path(NXPP_PJRT_INCLUDE pjrt_c_api.h
  HINTS "${nxpp_cache}/nxpp/pjrt/include"
  DOC "Folder with pjrt_c_api.h; without it the XLA compiler is left out")
if(NXPP_PJRT_INCLUDE)
  set(nxpp_have_pjrt 1)
else()
  set(nxpp_have_pjrt 0)
  message(STATUS "nxpp: no pjrt_c_api.h, building without the XLA compiler (scripts/setup fetches it)")
endif()
