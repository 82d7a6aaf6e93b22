# The flags of everything built here, on one private interface target: users get none of them.
add_library(nxpp_flags INTERFACE)
target_compile_features(nxpp_flags INTERFACE cxx_std_20)
# -ffp-contract=off: eager and compiled code must round alike, to the bit.
target_compile_options(nxpp_flags INTERFACE -ffp-contract=off -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 gives false alarms of these kinds in its own standard library.
  target_compile_options(nxpp_flags INTERFACE -Wno-restrict -Wno-maybe-uninitialized -Wno-missing-field-initializers)
else()
  target_compile_options(nxpp_flags INTERFACE -Wno-missing-field-initializers)
endif()
target_compile_definitions(nxpp_flags INTERFACE
  NXPP_HAVE_PJRT_HEADER=${nxpp_have_pjrt}
  $<$<BOOL:${NXPP_DEBUG_VERIFY}>:NX_DEBUG_VERIFY=1>)

if(NXPP_SANITIZE)
  target_compile_options(nxpp_flags INTERFACE -fsanitize=${NXPP_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(nxpp_flags INTERFACE -fsanitize=${NXPP_SANITIZE})
  if(NXPP_SANITIZE MATCHES "undefined")
    target_compile_options(nxpp_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()
if(NXPP_COVERAGE)
  target_compile_options(nxpp_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(nxpp_flags INTERFACE --coverage)
endif()

# What every entry of ctest that runs our code runs with, and what its program has linked in.
set(nxpp_test_environment "")
set(nxpp_test_sources "")
if(NXPP_SANITIZE MATCHES "thread")
  # LLVM's OpenMP runtime looks for this option here, and warns on stderr where it finds none.
  string(CONCAT nxpp_test_environment "TSAN_OPTIONS=ignore_noninstrumented_modules=1:"
                "include=${PROJECT_SOURCE_DIR}/cmake/tsan.options")
elseif(NXPP_SANITIZE MATCHES "address")
  set(nxpp_test_environment "ASAN_OPTIONS=include=${PROJECT_SOURCE_DIR}/cmake/asan.options")
  set(nxpp_test_sources "${PROJECT_SOURCE_DIR}/tests/leaks.cpp")
endif()
