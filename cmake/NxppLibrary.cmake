# One OBJECT library for each folder of src/, joined twice: into the shared library that users get,
# and into the static nxpp_internal, through which the tests reach symbols that are hidden in the first.

# The folders from left to right: tools/check_layers reads the same order from its own table.
set(NXPP_FOLDERS core kernels stablehlo graph ops trace transform host xla runtime nn optim train data)

# What the sources may use beside the standard library.
add_library(nxpp_private INTERFACE)
target_include_directories(nxpp_private SYSTEM INTERFACE ${NXPP_DNNL_INCLUDE})
if(NXPP_PJRT_INCLUDE)
  target_include_directories(nxpp_private SYSTEM INTERFACE ${NXPP_PJRT_INCLUDE})
endif()
target_link_libraries(nxpp_private INTERFACE
  ${NXPP_DNNL_LIBRARY} PkgConfig::HWY $<TARGET_NAME_IF_EXISTS:PkgConfig::HWY_CONTRIB>
  fmt::fmt nlohmann_json::nlohmann_json ZLIB::ZLIB OpenMP::OpenMP_CXX Threads::Threads ${CMAKE_DL_LIBS})

set(nxpp_objects "")
foreach(folder IN LISTS NXPP_FOLDERS)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp")
  include("${PROJECT_SOURCE_DIR}/src/${folder}/sources.cmake" OPTIONAL)  # may leave some out
  if(NOT sources)
    continue()
  endif()
  set(target "nxpp_${folder}")
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${target} PRIVATE nxpp_flags nxpp_private)
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  list(APPEND nxpp_objects "$<TARGET_OBJECTS:${target}>")
endforeach()
if(NOT nxpp_objects)
  message(FATAL_ERROR "nxpp: src/ holds no sources")
endif()

file(GLOB_RECURSE nxpp_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/nx/*.h")

add_library(nxpp SHARED ${nxpp_objects})
add_library(nxpp::nxpp ALIAS nxpp)
target_compile_features(nxpp PUBLIC cxx_std_20)
target_link_libraries(nxpp PRIVATE $<BUILD_INTERFACE:nxpp_flags> $<BUILD_INTERFACE:nxpp_private>)
# What is missing is found here, not when a program loads the library. A sanitizer's runtime is linked
# into the program alone.
if(NOT NXPP_SANITIZE AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(nxpp PRIVATE -Wl,--no-undefined)
endif()
target_sources(nxpp PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${nxpp_headers})
set_target_properties(nxpp PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINKER_LANGUAGE CXX VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})

add_library(nxpp_internal STATIC EXCLUDE_FROM_ALL ${nxpp_objects})
target_include_directories(nxpp_internal PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
target_link_libraries(nxpp_internal PUBLIC nxpp_flags nxpp_private)
set_target_properties(nxpp_internal PROPERTIES LINKER_LANGUAGE CXX)
