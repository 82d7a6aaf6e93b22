# Uses ccache when it is there. Paths are taken relative to the checkout, so that several clones
# of the project share their hits. Does nothing if the caller chose a launcher.
if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(NXPP_CCACHE ccache)
  if(NXPP_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER
        "${CMAKE_COMMAND};-E;env;CCACHE_BASEDIR=${CMAKE_SOURCE_DIR};CCACHE_NOHASHDIR=1;${NXPP_CCACHE}")
  endif()
endif()
