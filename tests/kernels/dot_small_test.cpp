// The kernel for small matrix products, on every SIMD target of this machine that it was compiled
// for: against a loop in double, and what it promises about bits.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "core/at.h"
#include "kernels/dot.h"
#include "nx/element.h"

namespace nx::kernels {
namespace {

/// Runs `body` once for each target that has vectors, with the dispatch set to it.
template <class F>
void for_each_target(const F& body) {
  const std::int64_t all = hwy::SupportedTargets();
  for (std::int64_t rest = all; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(target);
    SCOPED_TRACE(hwy::TargetName(target));
    if (small_matmul({}) != nullptr) body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

struct Layout {
  bool a_transposed = false, b_transposed = false;
};
constexpr Layout kLayouts[] = {{false, false}, {false, true}, {true, false}, {true, true}};

template <class T>
MatmulSpec spec_of(std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n,
                   Layout layout) {
  MatmulSpec s{.type = DTypeOf<T>::kType, .batch = batch, .m = m, .k = k, .n = n};
  s.a_batch = m * k;
  s.b_batch = k * n;
  s.a_m = layout.a_transposed ? 1 : k;
  s.a_k = layout.a_transposed ? m : 1;
  s.b_k = layout.b_transposed ? 1 : n;
  s.b_n = layout.b_transposed ? k : 1;
  return s;
}

std::string name_of(const MatmulSpec& s) {
  std::string name;
  for (const auto x : {s.batch, s.m, s.k, s.n, s.a_m, s.b_n}) name += std::to_string(x) + " ";
  return name + "(batch m k n a_m b_n)";
}

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<T> draw;
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& x : values) x = draw(rng);
  return values;
}

template <class T>
struct Operands {
  explicit Operands(const MatmulSpec& s)
      : a(random_values<T>(s.batch * s.m * s.k, 1)), b(random_values<T>(s.batch * s.k * s.n, 2)) {}
  std::vector<T> a, b;
};

template <class T>
std::vector<T> run(const MatmulSpec& s, const std::vector<T>& a, const std::vector<T>& b,
                   int threads = 1) {
  const auto matmul = small_matmul(s);
  std::vector<T> c(static_cast<std::size_t>(s.batch * s.m * s.n), T(77));
  if (matmul == nullptr) {
    ADD_FAILURE() << name_of(s) << " is not taken";
    return c;
  }
  std::vector<std::byte> scratch(matmul->scratch_bytes() + 64);
  matmul->run(a.data(), b.data(), c.data(),
              scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64),
              threads);
  return c;
}

/// Within the bound of k additions and multiplications in any order (Higham, section 3.1).
template <class T>
void expect_close_to_double(const MatmulSpec& s) {
  const Operands<T> in(s);
  const std::vector<T> c = run(s, in.a, in.b);
  const double eps = std::numeric_limits<T>::epsilon() * static_cast<double>(s.k + 1);
  for (std::int64_t at_c = 0; at_c < s.batch * s.m * s.n; ++at_c) {
    const std::int64_t x = at_c / s.n / s.m, i = at_c / s.n % s.m, j = at_c % s.n;
    double sum = 0, size = 0;
    for (std::int64_t p = 0; p < s.k; ++p) {
      const double product = static_cast<double>(in.a[at(x * s.a_batch + i * s.a_m + p * s.a_k)]) *
                             static_cast<double>(in.b[at(x * s.b_batch + p * s.b_k + j * s.b_n)]);
      sum += product;
      size += std::abs(product);
    }
    ASSERT_NEAR(c[at(at_c)], sum, eps * size) << name_of(s) << " at " << i << ", " << j;
  }
}

template <class T>
void expect_same_bits(const std::vector<T>& x, const std::vector<T>& y, const MatmulSpec& s) {
  ASSERT_EQ(x.size(), y.size());
  EXPECT_EQ(0, std::memcmp(x.data(), y.data(), x.size() * sizeof(T))) << name_of(s);
}

TEST(DotSmall, every_size_up_to_20_agrees_with_a_loop_in_double) {
  for_each_target([] {
    for (const Layout layout : kLayouts)
      for (std::int64_t m = 1; m <= 20; ++m)
        for (std::int64_t k = 1; k <= 20; ++k)
          for (std::int64_t n = 1; n <= 20; ++n) {
            ASSERT_NO_FATAL_FAILURE(
                expect_close_to_double<float>(spec_of<float>(1, m, k, n, layout)));
          }
  });
}

TEST(DotSmall, random_sizes_agree_with_a_loop_in_double) {
  for_each_target([] {
    std::mt19937 rng(3);
    for (int i = 0; i < 400; ++i) {
      const auto draw = [&](int most) { return 1 + static_cast<std::int64_t>(rng() % most); };
      const std::int64_t batch = draw(3), m = draw(95), k = draw(110), n = draw(100);
      const Layout layout = kLayouts[i % 4];
      if (small_matmul(spec_of<float>(batch, m, k, n, layout)) == nullptr) continue;
      ASSERT_NO_FATAL_FAILURE(
          expect_close_to_double<float>(spec_of<float>(batch, m, k, n, layout)));
      ASSERT_NO_FATAL_FAILURE(
          expect_close_to_double<double>(spec_of<double>(batch, m, k, n, layout)));
    }
  });
}

TEST(DotSmall, long_sums_are_cut_into_runs_and_agree_with_a_loop_in_double) {
  for_each_target([] {
    for (const std::int64_t k : {255, 256, 257, 767, 768, 1024})
      for (const Layout layout : kLayouts)
        for (const std::int64_t m : {1, 17, 40})
          for (const std::int64_t n : {1, 11, 50}) {
            const MatmulSpec s = spec_of<float>(1, m, k, n, layout);
            if (small_matmul(s) == nullptr) continue;
            ASSERT_NO_FATAL_FAILURE(expect_close_to_double<float>(s));
            const Operands<float> in(s);
            expect_same_bits(run(s, in.a, in.b), run(s, in.a, in.b, 2), s);
          }
  });
}

TEST(DotSmall, rows_and_columns_may_lie_apart) {
  // Parts of larger arrays: [5, 7] of rows of 11, [7, 19] of rows of 40, and its transpose.
  for_each_target([] {
    MatmulSpec s{.type = DType::f32, .m = 5, .k = 7, .n = 19, .a_m = 11, .a_k = 1};
    s.b_k = 40, s.b_n = 1;
    const auto a = random_values<float>(5 * 11, 1), b = random_values<float>(19 * 40, 2);
    for (const bool transposed : {false, true}) {
      if (transposed) std::swap(s.b_k, s.b_n);
      const std::vector<float> c = run(s, a, b);
      for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j) {
          double sum = 0;
          for (std::int64_t p = 0; p < s.k; ++p)
            sum += static_cast<double>(a[at(i * s.a_m + p)]) * b[at(p * s.b_k + j * s.b_n)];
          EXPECT_NEAR(c[at(i * s.n + j)], sum, 1e-5);
        }
    }
  });
}

TEST(DotSmall, the_bits_do_not_depend_on_the_number_of_threads) {
  for_each_target([] {
    for (const Layout layout : kLayouts)
      for (const std::int64_t batch : {1, 2, 7})
        for (const auto& [m, k] : {std::pair{3, 100}, {90, 100}, {128, 100}, {128, 784}}) {
          const MatmulSpec s = spec_of<float>(batch, m, k, 65, layout);
          if (small_matmul(s) == nullptr) continue;
          const Operands<float> in(s);
          const auto one = run(s, in.a, in.b, 1);
          for (const int threads : {2, 3, 8}) expect_same_bits(one, run(s, in.a, in.b, threads), s);
        }
  });
}

TEST(DotSmall, an_element_depends_on_its_row_and_column_alone) {
  // Whatever m, n, the batch and the layouts are: each element is one chain over k.
  for_each_target([] {
    const std::int64_t k = 29, most = 33;
    const MatmulSpec all = spec_of<float>(1, most, k, most, {});
    const Operands<float> in(all);
    const std::vector<float> c = run(all, in.a, in.b);
    for (std::int64_t m = 1; m <= most; m += 4)
      for (std::int64_t n = 1; n <= most; n += 4)
        for (const Layout layout : kLayouts) {
          const MatmulSpec s = spec_of<float>(2, m, k, n, layout);
          std::vector<float> a(at(2 * m * k)), b(at(2 * k * n)), want(at(2 * m * n));
          for (std::int64_t x = 0; x < 2; ++x) {  // the first rows and columns, then the last
            const std::int64_t row = x * (most - m), column = x * (most - n);
            for (std::int64_t p = 0; p < k; ++p) {
              for (std::int64_t i = 0; i < m; ++i)
                a[at(x * s.a_batch + i * s.a_m + p * s.a_k)] = in.a[at((row + i) * k + p)];
              for (std::int64_t j = 0; j < n; ++j)
                b[at(x * s.b_batch + p * s.b_k + j * s.b_n)] = in.b[at(p * most + column + j)];
            }
            for (std::int64_t i = 0; i < m; ++i)
              for (std::int64_t j = 0; j < n; ++j)
                want[at((x * m + i) * n + j)] = c[at((row + i) * most + column + j)];
          }
          expect_same_bits(run(s, a, b), want, s);
        }
  });
}

TEST(DotSmall, columns_left_over_have_the_same_bits_as_rows_of_the_turned_product) {
  // With contiguous rows of a they are computed along with all columns, else by themselves.
  for_each_target([] {
    for (const std::int64_t m : {64, 67, 150})
      for (const std::int64_t n : {17, 26, 90}) {
        const MatmulSpec s = spec_of<float>(2, m, 70, n, {}),
                         turned = spec_of<float>(2, m, 70, n, {.a_transposed = true});
        const Operands<float> in(s);
        std::vector<float> a(in.a.size());
        for (std::int64_t x = 0; x < 2; ++x)
          for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t p = 0; p < s.k; ++p)
              a[at(x * s.a_batch + p * m + i)] = in.a[at(x * s.a_batch + i * s.k + p)];
        const std::vector<float> want = run(s, in.a, in.b);
        for (const int threads : {1, 2, 8})
          expect_same_bits(run(turned, a, in.b, threads), want, turned);
      }
  });
}

TEST(DotSmall, nan_and_infinity_go_where_a_plain_sum_takes_them) {
  for_each_target([] {
    for (const Layout layout : kLayouts) {
      const MatmulSpec s = spec_of<float>(1, 9, 5, 21, layout);
      std::vector<float> a(45, 1.f), b(105, 0.f);
      a[at(3 * s.a_m + 2 * s.a_k)] = std::numeric_limits<float>::infinity();  // meets zeros
      b[at(4 * s.b_k + 20 * s.b_n)] = std::numeric_limits<float>::quiet_NaN();
      b[at(1 * s.b_k + 7 * s.b_n)] = -std::numeric_limits<float>::infinity();
      const std::vector<float> c = run(s, a, b);
      for (std::int64_t i = 0; i < s.m; ++i)
        for (std::int64_t j = 0; j < s.n; ++j) {
          const float x = c[at(i * s.n + j)];
          if (i == 3 || j == 20) EXPECT_TRUE(std::isnan(x)) << i << " " << j;
          else EXPECT_EQ(x, j == 7 ? -std::numeric_limits<float>::infinity() : 0.f);
        }
    }
  });
}

TEST(DotSmall, large_products_and_other_types_are_left_to_others) {
  EXPECT_EQ(small_matmul(spec_of<float>(1, 8, 5000, 8, {})), nullptr);
  EXPECT_EQ(small_matmul(spec_of<float>(1, 512, 512, 512, {})), nullptr);
  MatmulSpec s = spec_of<float>(1, 4, 4, 4, {});
  EXPECT_NE(small_matmul(s), nullptr);
  s.type = DType::s32;
  EXPECT_EQ(small_matmul(s), nullptr);
  s.type = DType::bf16;
  EXPECT_EQ(small_matmul(s), nullptr);
}

}  // namespace
}  // namespace nx::kernels
