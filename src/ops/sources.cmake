# Families with kernels are loops for the compiler to vectorise: -O2 does that only half way.
set(nxpp_kernel_sources "${sources}")
list(FILTER nxpp_kernel_sources INCLUDE REGEX "/(unary|binary|compare|select|convert)[^/]*\\.cpp$")
set_source_files_properties(${nxpp_kernel_sources} PROPERTIES
  COMPILE_OPTIONS "-O3;$<$<CXX_COMPILER_ID:Clang>:-Wno-pass-failed>")
