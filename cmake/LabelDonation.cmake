# Read by ctest after a folder's tests are known: every test of a suite whose name begins with
# `Donation` also carries the label `donation`, so that `ctest -L donation` lists the rules.
foreach(test IN LISTS nxpp_discovered)
  if(test MATCHES "^([^/.]*/)?Donation")
    set_tests_properties("${test}" PROPERTIES LABELS "${nxpp_label};donation")
  endif()
endforeach()
unset(nxpp_discovered)
