// The library and a test framework in one program: strings pass between them.
#include <gtest/gtest.h>
#include <nx/nx.h>

TEST(Consumer, CatchesTheErrorsOfTheLibraryAndReadsTheirText) {
  try {
    (void)(nx::ones({2}) + nx::ones({3}));
    FAIL() << "expected a ShapeError";
  } catch (const nx::ShapeError& error) {
    EXPECT_NE(std::string(error.what()).find("f32[3]"), std::string::npos) << error.what();
  }
  const std::vector<float> values = (nx::ones({2}) + 1).to_flat_list<float>();
  EXPECT_EQ(values, (std::vector<float>{2, 2}));
}
