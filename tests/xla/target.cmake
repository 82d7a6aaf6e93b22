# Shared objects that are no plugins, each in its own way, for the tests of loading.
nxpp_test_plugins(fake OTHER_MAJOR TOO_OLD NO_TABLE NO_FUNCTION REFUSES)
# The cases of rows_test.cpp.
if(NXPP_PJRT_INCLUDE)
  target_sources(${target} PRIVATE "${path}/row_cases.cpp")
endif()
