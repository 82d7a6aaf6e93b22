# Tests of plugins need the header of their interface.
if(NOT NXPP_PJRT_INCLUDE)
  list(FILTER sources EXCLUDE REGEX "/plugin_test\\.cpp$")
endif()
