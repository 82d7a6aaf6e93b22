// Compilers that break the contract of donation on purpose: what must be found out (R21).
#pragma once

#include <cstdint>
#include <string>

namespace nx::test {

enum class Fault : std::uint8_t {
  kDropsAlias,      // compiles without the last pair, and lists it all the same
  kCopiesSilently,  // leaves the last leaf alone, and counts it as aliased
  kCopies,          // leaves the last leaf alone, and counts it as copied
};

/// The name of a compiler that is `compiler` ("host" or "xla") with that fault.
std::string add_mutant(const std::string& compiler, Fault fault);

}  // namespace nx::test
