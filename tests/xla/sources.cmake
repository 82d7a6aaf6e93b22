# What needs no plugin is tested without the header of PJRT too.
if(NOT NXPP_PJRT_INCLUDE)
  list(FILTER sources INCLUDE REGEX "/(emitter[^/]*|proto)_test\\.cpp$")
endif()
