// Views read in runs, against the definition of a view.
#include "kernels/view.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace nx::kernels {
namespace {

std::vector<int> read_all(const StridedView& view, const std::vector<int>& from) {
  std::vector<int> result;
  Dims index(view.dims.size(), 0);
  for (std::int64_t i = 0; i < view.count(); ++i) {
    std::int64_t at = view.offset;
    for (std::size_t a = 0; a < index.size(); ++a) at += index[a] * view.strides[a];
    result.push_back(from[static_cast<std::size_t>(at)]);
    for (std::size_t a = index.size(); a-- > 0;) {
      if (++index[a] < view.dims[a]) break;
      index[a] = 0;
    }
  }
  return result;
}

std::vector<int> counted(int n) {
  std::vector<int> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0);
  return values;
}

const std::vector<StridedView> kViews{
    {{}, {}, 5},
    {{4, 6}, {6, 1}, 0},
    {{6, 4}, {1, 6}, 0},
    {{3, 1, 4}, {8, 0, 2}, 1},
    {{4, 6}, {0, 1}, 3},
    {{4, 6}, {1, 0}, 3},
    {{5}, {-1}, 9},
    {{2, 3, 4}, {12, 4, 1}, 0},
    {{3, 2, 4}, {4, 12, 1}, 0},
};

TEST(View, any_run_of_positions_is_what_the_view_says) {
  const std::vector<int> from = counted(24);
  for (const StridedView& view : kViews) {
    const std::vector<int> all = read_all(view, from);
    const StridedView c = collapse(view);
    EXPECT_EQ(read_all(c, from), all);
    const auto n = static_cast<std::int64_t>(all.size());
    for (std::int64_t first = 0; first < n; ++first)
      for (std::int64_t count = 1; first + count <= n; ++count) {
        std::vector<int> run(static_cast<std::size_t>(count), -1);
        gather_run(c, sizeof(int), from.data(), first, count, run.data());
        EXPECT_TRUE(std::equal(run.begin(), run.end(), all.begin() + first));
        if (const void* at = contiguous_run(c, sizeof(int), from.data(), first, count))
          EXPECT_TRUE(std::equal(run.begin(), run.end(), static_cast<const int*>(at)));
      }
  }
}

TEST(View, axes_walked_as_one_are_merged) {
  EXPECT_EQ(collapse({{2, 3, 4}, {12, 4, 1}, 7}), (StridedView{{24}, {1}, 7}));
  EXPECT_EQ(collapse({{2, 1, 4}, {4, 99, 1}, 0}), (StridedView{{8}, {1}, 0}));
  EXPECT_EQ(collapse({{2, 3}, {0, 0}, 0}), (StridedView{{6}, {0}, 0}));
  EXPECT_EQ(collapse({{2, 3}, {1, 2}, 0}), (StridedView{{2, 3}, {1, 2}, 0}));
}

TEST(View, a_reshape_splits_and_merges_axes_or_is_refused) {
  const std::vector<int> from = counted(24);
  StridedView result;
  ASSERT_TRUE(reshape_view({{4, 6}, {1, 4}, 0}, {2, 2, 1, 3, 2}, result));
  EXPECT_EQ(read_all(result, from), read_all({{4, 6}, {1, 4}, 0}, from));
  EXPECT_FALSE(reshape_view({{4, 6}, {1, 4}, 0}, {24}, result));
  EXPECT_FALSE(reshape_view({{4, 6}, {1, 4}, 0}, {3, 8}, result));
  ASSERT_TRUE(reshape_view({{2, 3}, {0, 0}, 4}, {6}, result));
  EXPECT_EQ(read_all(result, from), std::vector<int>(6, 4));
}

}  // namespace
}  // namespace nx::kernels
