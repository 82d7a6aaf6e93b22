// What a list of dimensions must not let a caller write.
#include <gtest/gtest.h>

#include <numeric>
#include <utility>

#include "nx/shape.h"
#include "nx/tensor.h"

namespace nx {
namespace {

template <class V>
concept HasEnds = requires {
  std::declval<V>().begin(), std::declval<V>().end();
};
template <class V>
concept HasBegin = requires {
  std::declval<V>().begin();
};
template <class V>
concept HasEnd = requires {
  std::declval<V>().end();
};

// Dims(f().begin(), f().end()) would read from one temporary to the end of another.
static_assert(HasEnds<Dims&> && HasEnds<const Dims&>);
static_assert(!HasBegin<Dims> && !HasEnd<Dims>);
static_assert(!HasBegin<const Dims> && !HasEnd<const Dims>);
static_assert(!HasBegin<decltype(std::declval<Tensor>().shape())>);

TEST(InlineVector, walks_a_temporary_that_a_loop_keeps_alive) {
  const auto sizes = [] { return Dims{2, 3, 4}; };
  std::int64_t product = 1;
  for (const std::int64_t size : sizes()) product *= size;
  EXPECT_EQ(product, 24);
  const Dims kept = sizes();
  EXPECT_EQ(std::accumulate(kept.begin(), kept.end(), std::int64_t{0}), 9);
}

}  // namespace
}  // namespace nx
