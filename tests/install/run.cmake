# Builds and runs consumer/ against the library, as a project of its own.
# Takes MODE (find_package or add_subdirectory), SOURCE, BINARY, WORK, GENERATOR, BUILD_TYPE,
# COMPILER, LAUNCHER.
cmake_minimum_required(VERSION 3.25)
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${text}")
  endif()
endfunction()

# The consumer sees neither the old copy nor anything of the checkout but what it is given.
file(REMOVE_RECURSE "${WORK}/source" "${WORK}/prefix")
file(MAKE_DIRECTORY "${WORK}")
file(COPY "${SOURCE}/tests/install/consumer/" DESTINATION "${WORK}/source")
file(COPY "${EXAMPLE}" DESTINATION "${WORK}/source")

set(build "${WORK}/build")
if(MODE STREQUAL "find_package")
  file(REMOVE_RECURSE "${build}")
  run("${CMAKE_COMMAND}" --install "${BINARY}" --prefix "${WORK}/prefix")
  set(where "-DCMAKE_PREFIX_PATH=${WORK}/prefix")
else()
  # Beside the build folder of this checkout and as deep, so that ccache finds the same relative paths.
  set(build "${BINARY}.subdirectory")
  set(where "-DCONSUMER_NXPP=${SOURCE}")
endif()
set(launcher "")
if(LAUNCHER)
  set(launcher "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}")
endif()
run("${CMAKE_COMMAND}" -S "${WORK}/source" -B "${build}" -G "${GENERATOR}"
  "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}" "-DCMAKE_CXX_COMPILER=${COMPILER}" "${where}" "${launcher}")
run("${CMAKE_COMMAND}" --build "${build}" --parallel 2)
run("${build}/consumer")
run("${build}/consumer_with_gtest")
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${build}" --target consumer_of_old_abi
  RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(status EQUAL 0 OR NOT text MATCHES "nxpp needs the C\\+\\+11 ABI")
  message(FATAL_ERROR "code of another ABI was not refused:\n${text}")
endif()
