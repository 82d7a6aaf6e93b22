// The matrix product kernels against a triple loop, for shapes, orders of axes and types.
#include "kernels/dot.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <random>
#include <vector>

#include "core/at.h"
#include "kernels/strided.h"
#include "nx/element.h"

namespace nx::kernels {
namespace {

template <class T>
std::vector<T> random_values(std::int64_t count, unsigned seed) {
  std::mt19937 rng(seed);
  std::uniform_int_distribution<int> draw(-8, 8);
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(draw(rng) / (std::is_integral_v<T> ? 1.f : 4.f)));
  return values;
}

template <class T>
std::vector<T> run(const DotSpec& spec, const std::vector<T>& a, const std::vector<T>& b,
                   std::size_t count, int threads = 1) {
  const auto kernel = prepare_dot(spec);
  std::vector<T> out(count, T(77));
  std::vector<std::byte> scratch(kernel->scratch_bytes() + 64);
  const void* in[] = {a.data(), b.data()};
  void* results[] = {out.data()};
  void* aligned = scratch.data() + (64 - reinterpret_cast<std::uintptr_t>(scratch.data()) % 64);
  kernel->run({in, results, aligned, nullptr, threads});
  return out;
}

Dims free_axes(const ArraySpec& x, const Dims& contract, const Dims& batch) {
  Dims axes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.dims.size()); ++i) {
    bool used = false;
    for (const auto c : contract) used = used || c == i;
    for (const auto c : batch) used = used || c == i;
    if (!used) axes.push_back(i);
  }
  return axes;
}

// Walks all index tuples of `sizes`.
template <class F>
void for_each(const Dims& sizes, F&& f) {
  Dims index(sizes.size(), 0);
  for (std::int64_t n = 0; n < element_count(sizes); ++n) {
    f(index);
    for (std::size_t i = sizes.size(); i-- > 0;) {
      if (++index[i] < sizes[i]) break;
      index[i] = 0;
    }
  }
}

template <class T, class A>
std::vector<T> expected(const DotSpec& s, const std::vector<T>& a, const std::vector<T>& b) {
  const Dims sa = row_major_strides(s.a.dims), sb = row_major_strides(s.b.dims);
  const Dims fa = free_axes(s.a, s.contract_a, s.batch_a), fb = free_axes(s.b, s.contract_b, s.batch_b);
  Dims outer, inner;
  for (const auto i : s.batch_a) outer.push_back(s.a.dims[at(i)]);
  for (const auto i : fa) outer.push_back(s.a.dims[at(i)]);
  for (const auto i : fb) outer.push_back(s.b.dims[at(i)]);
  for (const auto i : s.contract_a) inner.push_back(s.a.dims[at(i)]);
  std::vector<T> out;
  for_each(outer, [&](const Dims& o) {
    A sum{};
    for_each(inner, [&](const Dims& k) {
      std::int64_t pa = 0, pb = 0;
      std::size_t n = 0;
      for (std::size_t i = 0; i < s.batch_a.size(); ++i, ++n) {
        pa += o[n] * sa[at(s.batch_a[i])];
        pb += o[n] * sb[at(s.batch_b[i])];
      }
      for (const auto i : fa) pa += o[n++] * sa[at(i)];
      for (const auto i : fb) pb += o[n++] * sb[at(i)];
      for (std::size_t i = 0; i < k.size(); ++i) {
        pa += k[i] * sa[at(s.contract_a[i])];
        pb += k[i] * sb[at(s.contract_b[i])];
      }
      sum += static_cast<A>(a[static_cast<std::size_t>(pa)]) * static_cast<A>(b[static_cast<std::size_t>(pb)]);
    });
    out.push_back(static_cast<T>(sum));
  });
  return out;
}

template <class T, class A = T>
void check(Dims da, Dims db, Dims ca, Dims ba, Dims cb, Dims bb) {
  const DType type = DTypeOf<T>::kType;
  const DotSpec spec{{type, da}, {type, db}, ca, ba, cb, bb};
  const auto a = random_values<T>(element_count(da), 1), b = random_values<T>(element_count(db), 2);
  const std::vector<T> want = expected<T, A>(spec, a, b);
  for (const int threads : {1, 2}) {
    const std::vector<T> got = run(spec, a, b, want.size(), threads);
    for (std::size_t i = 0; i < want.size(); ++i)
      ASSERT_EQ(got[i], want[i]) << to_string(da) << " " << to_string(db) << " at " << i;
  }
}

// All values are small multiples of 1/4, so that every sum is exact in every order.
template <class T, class A = T>
void check_all_forms() {
  check<T, A>({5, 7}, {7, 9}, {1}, {}, {0}, {});
  check<T, A>({7, 5}, {7, 9}, {0}, {}, {0}, {});
  check<T, A>({5, 7}, {9, 7}, {1}, {}, {1}, {});
  check<T, A>({7, 5}, {9, 7}, {0}, {}, {1}, {});
  check<T, A>({7}, {7}, {0}, {}, {0}, {});
  check<T, A>({7}, {7, 3}, {0}, {}, {0}, {});
  check<T, A>({3, 7}, {7}, {1}, {}, {0}, {});
  check<T, A>({3}, {4}, {}, {}, {}, {});
  check<T, A>({}, {4, 2}, {}, {}, {}, {});
  check<T, A>({1, 1}, {1, 1}, {1}, {}, {0}, {});
  check<T, A>({4, 3, 5}, {4, 5, 6}, {2}, {0}, {1}, {0});
  check<T, A>({3, 4, 5}, {5, 6, 4}, {2}, {1}, {0}, {2});
  check<T, A>({2, 3, 4, 5}, {2, 3, 5, 6}, {3}, {0, 1}, {2}, {0, 1});
  check<T, A>({2, 3, 4}, {4, 3, 5}, {1, 2}, {}, {1, 0}, {});
  check<T, A>({3, 4, 5}, {4, 6}, {1}, {}, {0}, {});
  check<T, A>({0, 4}, {4, 3}, {1}, {}, {0}, {});
  check<T, A>({2, 0}, {0, 3}, {1}, {}, {0}, {});
  check<T, A>({101, 70}, {70, 67}, {1}, {}, {0}, {});
}

TEST(Dot, f32_agrees_with_a_triple_loop_for_all_orders_of_axes) { check_all_forms<float>(); }
TEST(Dot, f64_agrees_with_a_triple_loop_for_all_orders_of_axes) { check_all_forms<double>(); }
TEST(Dot, s32_agrees_with_a_triple_loop_for_all_orders_of_axes) { check_all_forms<std::int32_t>(); }
TEST(Dot, u64_agrees_with_a_triple_loop_for_all_orders_of_axes) { check_all_forms<std::uint64_t>(); }
TEST(Dot, narrow_integers_wrap) { check_all_forms<std::int8_t, std::uint32_t>(); }
TEST(Dot, f16_is_added_up_in_f32) { check_all_forms<Float16, float>(); }
TEST(Dot, bf16_is_added_up_in_f32) { check_all_forms<BFloat16, float>(); }
TEST(Dot, complex_agrees_with_a_triple_loop) {
  check<std::complex<float>>({3, 4}, {4, 5}, {1}, {}, {0}, {});
}

TEST(Dot, the_bits_do_not_depend_on_the_number_of_threads) {
  const DotSpec spec{{DType::f32, {128, 784}}, {DType::f32, {784, 90}}, {1}, {}, {0}, {}};
  std::mt19937 rng(7);
  std::normal_distribution<float> draw;
  std::vector<float> a(128 * 784), b(784 * 90);
  for (float& x : a) x = draw(rng);
  for (float& x : b) x = draw(rng);
  const auto one = run(spec, a, b, 128 * 90, 1), two = run(spec, a, b, 128 * 90, 2);
  EXPECT_EQ(0, std::memcmp(one.data(), two.data(), one.size() * sizeof(float)));
}

}  // namespace
}  // namespace nx::kernels
