# A callback into the tests from inside a run, and compilers that break the contract.
target_sources(${target} PRIVATE "${path}/callback.cpp" "${path}/mutant.cpp")
