// The linked library and its headers agree on the version.
#include "nx/version.h"

#include <gtest/gtest.h>

#include <string>

TEST(Version, the_library_says_the_version_of_its_headers) {
  EXPECT_EQ(std::string(nx::version()), std::to_string(NX_VERSION_MAJOR) + "." +
                                            std::to_string(NX_VERSION_MINOR) + "." +
                                            std::to_string(NX_VERSION_PATCH));
}
