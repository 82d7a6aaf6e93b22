# Without the header of PJRT only what needs no plugin is built.
if(NXPP_PJRT_INCLUDE)
  list(FILTER sources EXCLUDE REGEX "/without_pjrt\\.cpp$")
else()
  list(FILTER sources INCLUDE REGEX "/(called_kernels|emitter[^/]*|proto|without_pjrt)\\.cpp$")
endif()
