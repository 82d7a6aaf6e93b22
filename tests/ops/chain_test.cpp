// Chains of operations in tile programs give the bits of the operations one by one: every pair of
// links, on every side, for every length, on every SIMD target of this machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/tile_program.h"
#include "ops/function_row.h"
#include "ops/targets.h"
#include "ops/wide_registers.h"

namespace nx {
namespace {

using kernels::Extent;
using kernels::SlotAlias;
using kernels::TileProgramBuilder;
using Value = TileProgramBuilder::Value;

struct LinkOp {
  std::string_view name;
  std::size_t arity;
  kernels::TileKernel kernel;
  kernels::ChainForm form;
};

std::vector<LinkOp> all_links(DType type) {
  std::vector<LinkOp> links;
  for (const ops::Family* family : ops::families())
    for (const graph::OpRow* row : family->ops) {
      const auto* rule = row->host_as<graph::ElementwiseRule>();
      if (rule == nullptr || rule->chain == nullptr) continue;
      const kernels::ChainForm form = rule->chain(type);
      if (!form.exists()) continue;
      const DType types[2] = {type, type};
      const std::size_t arity = form.unary.first != nullptr ? 1 : 2;
      links.push_back({row->name, arity, rule->kernel({types, arity}, type), form});
    }
  return links;
}

/// Numbers of every kind, beginning with another one for each seed.
template <class T>
std::vector<T> numbers(std::size_t count, unsigned seed) {
  using Limits = std::numeric_limits<T>;
  const T special[] = {0,
                       T(-0.0),
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::quiet_NaN(),
                       Limits::denorm_min(),
                       -Limits::denorm_min(),
                       Limits::max(),
                       Limits::min(),
                       Limits::epsilon()};
  std::mt19937 random(seed);
  std::normal_distribution<T> normal(0, 3);
  std::vector<T> values(count);
  for (T& value : values) value = random() % 3 == 0 ? special[random() % 10] : normal(random);
  return values;
}

/// The same bits, or NaN both: which of two NaNs goes on is the processor's and the compiler's.
template <class T>
void expect_same(const std::vector<T>& got, const std::vector<T>& want, const std::string& what) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(want[i])) continue;
    ASSERT_EQ(std::memcmp(&got[i], &want[i], sizeof(T)), 0)
        << what << " at " << i << ": " << got[i] << ", expected " << want[i];
  }
}

/// Slots 0 and 1 are the operands, 2 the scalar beside the value of a link.
struct Operands {
  std::size_t left, right;
};
constexpr Operands kOperands[] = {{0, 1}, {1, 0}, {0, 2}, {2, 0}};

template <class T>
struct Pair {
  const LinkOp &first, &second;
  Operands of_first, of_second;  // the value of the first is operand 0 of the second

  std::string text(std::size_t count) const {
    return std::string(first.name) + " " + std::string(second.name) + " of " +
           std::to_string(of_first.left) + std::to_string(of_first.right) +
           std::to_string(of_second.left) + std::to_string(of_second.right) + ", " +
           std::to_string(count);
  }
  std::vector<T> chained(std::vector<std::vector<T>> data, std::size_t count, int alias) const {
    TileProgramBuilder b(1, static_cast<std::int64_t>(count));
    const Value in[] = {b.input(Extent::kFull, sizeof(T), 0), b.input(Extent::kFull, sizeof(T), 1),
                        b.input(Extent::kScalar, sizeof(T), 2)};
    const auto apply = [&](const LinkOp& op, Value left, Value right) {
      const Value both[] = {left, right};
      return b.apply(op.kernel, {both, op.arity}, Extent::kFull, sizeof(T), 0.1f, op.form);
    };
    const Value value = apply(first, in[of_first.left], in[of_first.right]);
    const auto operand = [&](std::size_t k) { return k == 0 ? value : in[k]; };
    b.store(apply(second, operand(of_second.left), operand(of_second.right)), 0);
    std::vector<T> out(count);
    const SlotAlias aliases[] = {{0, static_cast<std::uint32_t>(alias)}};
    const auto program = b.finish({aliases, alias >= 0 ? 1u : 0u});
    const void* inputs[] = {data[0].data(), data[1].data(), data[2].data()};
    void* outputs[] = {alias >= 0 ? data[static_cast<std::size_t>(alias)].data() : out.data()};
    program.run(inputs, outputs, nullptr, 1, nullptr);
    EXPECT_TRUE(are_wide_registers_clean());
    if (alias >= 0) out = data[static_cast<std::size_t>(alias)];
    EXPECT_EQ(program.operations(), 2u);
    return out;
  }
  std::vector<T> one_by_one(const std::vector<std::vector<T>>& data, std::size_t count) const {
    const std::vector<T> copies(count, data[2][0]);
    const auto apply = [&](const LinkOp& op, const T* left, const T* right) {
      std::vector<T> out(count);
      const void* const in[] = {left, right};
      op.kernel({in, out.data(), count, nullptr});
      return out;
    };
    const T* const in[] = {data[0].data(), data[1].data(), copies.data()};
    const std::vector<T> value = apply(first, in[of_first.left], in[of_first.right]);
    const auto operand = [&](std::size_t k) { return k == 0 ? value.data() : in[k]; };
    return apply(second, operand(of_second.left), operand(of_second.right));
  }
  void check(std::size_t count, unsigned seed) const {
    const std::vector<std::vector<T>> data = {numbers<T>(count, seed), numbers<T>(count, seed + 1),
                                              numbers<T>(1, seed + 2)};
    const std::vector<T> want = one_by_one(data, count);
    for (const int alias : {-1, 0, 1})
      expect_same(chained(data, count, alias), want, text(count) + " on " + std::to_string(alias));
  }
};

template <class T, class F>
void for_each_pair(DType type, F&& test) {
  const std::vector<LinkOp> links = all_links(type);
  ASSERT_GE(links.size(), 8u);
  for (const LinkOp& first : links)
    for (const LinkOp& second : links)
      for (std::size_t i = 0; i < (first.arity == 1 ? 1 : std::size(kOperands)); ++i)
        for (std::size_t k = 0; k < (second.arity == 1 ? 1 : std::size(kOperands)); ++k)
          test(Pair<T>{first, second, kOperands[i], kOperands[k]});
}

template <class T>
void check_pairs(DType type) {
  on_every_vector_target([&](const char* target) {
    SCOPED_TRACE(target);
    unsigned seed = 0;
    for_each_pair<T>(type, [&](const Pair<T>& pair) {
      if (testing::Test::HasFatalFailure()) return;
      // Each pair at a few lengths, all lengths up to 70 over the pairs; one of several tiles.
      for (const std::size_t count : {1 + seed % 70, 1 + (seed * 31 + 16) % 70, 128u + seed % 9})
        pair.check(count, ++seed);
      if (seed % 11 == 0) pair.check(1000 + seed % 3000, seed);
    });
  });
}

TEST(Chains, every_pair_of_f32_gives_the_bits_of_the_operations) { check_pairs<float>(DType::f32); }
TEST(Chains, every_pair_of_f64_gives_the_bits_of_the_operations) {
  check_pairs<double>(DType::f64);
}

TEST(Chains, a_pair_has_the_bits_of_the_operations_at_every_length) {
  on_every_vector_target([&](const char* target) {
    SCOPED_TRACE(target);
    const std::vector<LinkOp> here = all_links(DType::f32);
    for (std::size_t count = 1; count <= 300; ++count)
      for (const Operands of : kOperands)
        for (std::size_t i = 0; i < here.size(); ++i) {
          const LinkOp& second = here[(i + count) % here.size()];
          Pair<float>{here[i], second, of, second.arity == 1 ? kOperands[0] : of}.check(
              count, static_cast<unsigned>(count));
        }
  });
}

/// Operands multiplied by one element, which some links do themselves: x op y*s, x*s op y,
/// x*s op y*s, with the product's operands on both sides.
template <class T>
void check_scaled(DType type) {
  on_every_vector_target([&](const char* target) {
    SCOPED_TRACE(target);
    std::vector<LinkOp> links = all_links(type);
    const auto product = std::find_if(links.begin(), links.end(),
                                      [](const LinkOp& op) { return op.form.multiplies; });
    ASSERT_NE(product, links.end());
    unsigned seed = 0;
    for (const LinkOp& op : links)
      for (const int scaled : {1, 2, 3})
        for (const std::size_t count : {1 + seed % 70, 128u + seed % 200}) {
          if (op.arity == 1) continue;
          const auto x = numbers<T>(count, ++seed), y = numbers<T>(count, seed + 100),
                     s = numbers<T>(1, seed + 200);
          const std::vector<T> copies(count, s[0]);
          const auto run = [&](const LinkOp& o, const T* left, const T* right) {
            std::vector<T> out(count);
            const void* const in[] = {left, right};
            o.kernel({in, out.data(), count, nullptr});
            return out;
          };
          const auto left = scaled & 1 ? run(*product, x.data(), copies.data()) : x;
          const auto right = scaled & 2 ? run(*product, copies.data(), y.data()) : y;
          const auto want = run(op, left.data(), right.data());
          TileProgramBuilder b(1, static_cast<std::int64_t>(count));
          Value in[] = {b.input(Extent::kFull, sizeof(T), 0), b.input(Extent::kFull, sizeof(T), 1)};
          const Value one = b.input(Extent::kScalar, sizeof(T), 2);
          const auto apply = [&](const LinkOp& o, Value a, Value c) {
            return b.apply(o.kernel, std::vector<Value>{a, c}, Extent::kFull, sizeof(T), 0.1f,
                           o.form);
          };
          if (scaled & 1) in[0] = apply(*product, in[0], one);
          if (scaled & 2) in[1] = apply(*product, one, in[1]);
          b.store(apply(op, in[0], in[1]), 0);
          const auto program = b.finish({});
          std::vector<T> got(count);
          const void* const inputs[] = {x.data(), y.data(), s.data()};
          void* const outputs[] = {got.data()};
          program.run(inputs, outputs, nullptr, 1, nullptr);
          EXPECT_EQ(program.operations(), scaled == 3 ? 3u : 2u);
          expect_same(got, want, std::string(op.name) + " scaled " + std::to_string(scaled));
        }
  });
}

TEST(Chains, scaled_operands_give_the_bits_of_the_operations) {
  check_scaled<float>(DType::f32);
  check_scaled<double>(DType::f64);
}

/// A program of random operations, with or without their forms as links.
TileProgramBuilder random_program(unsigned seed, std::int64_t rows, std::int64_t columns,
                                  bool chains, std::uint32_t& results) {
  const std::vector<LinkOp> links = all_links(DType::f32);
  std::mt19937 random(seed);
  TileProgramBuilder b(rows, columns);
  const float three = 3;
  std::vector<Value> values = {b.input(Extent::kFull, 4, 0),   b.input(Extent::kFull, 4, 1),
                               b.input(Extent::kPerRow, 4, 2), b.input(Extent::kPerColumn, 4, 3),
                               b.input(Extent::kScalar, 4, 4), b.constant(&three, 4)};
  results = 0;
  for (int i = 0; i < 24; ++i) {
    const LinkOp& op = links[random() % links.size()];
    // Recent values more often, so that chains form.
    const auto pick = [&] {
      return random() % 2 ? values.back() : values[random() % values.size()];
    };
    const Value in[] = {pick(), pick()};
    bool per_row = true;
    for (std::size_t k = 0; k < op.arity; ++k) {
      const Extent extent = b.extent(in[k]);
      per_row = per_row && (extent == Extent::kPerRow || extent == Extent::kScalar);
    }
    const Extent extent = per_row ? Extent::kPerRow : Extent::kFull;
    values.push_back(b.apply(op.kernel, {in, op.arity}, extent, 4, 0.1f,
                             chains ? op.form : kernels::ChainForm()));
    if (extent == Extent::kFull && (i == 23 || (results < 3 && random() % 4 == 0)))
      b.store(values.back(), results++);
  }
  return b;
}

std::vector<std::vector<float>> run_program(const TileProgramBuilder& b, std::int64_t rows,
                                            std::int64_t columns, std::uint32_t results,
                                            bool in_place) {
  const auto count = static_cast<std::size_t>(rows * columns);
  std::vector<std::vector<float>> in = {numbers<float>(count, 1), numbers<float>(count, 2),
                                        numbers<float>(static_cast<std::size_t>(rows), 3),
                                        numbers<float>(static_cast<std::size_t>(columns), 4),
                                        numbers<float>(1, 7)};
  std::vector<std::vector<float>> out(results, std::vector<float>(count));
  std::vector<const void*> inputs;
  for (const auto& array : in) inputs.push_back(array.data());
  std::vector<void*> outputs;
  for (auto& array : out) outputs.push_back(array.data());
  std::vector<SlotAlias> aliases;
  for (std::uint32_t k = 0; in_place && k < std::min(results, 2u); ++k) {
    aliases.push_back({k, k});
    outputs[k] = in[k].data();
  }
  const auto program = b.finish(aliases);
  program.run(inputs.data(), outputs.data(), nullptr, 2, nullptr);
  for (std::size_t k = 0; k < aliases.size(); ++k) out[k] = in[k];
  return out;
}

TEST(Chains, programs_with_chains_give_the_bits_of_programs_without) {
  if (all_links(DType::f32).empty()) GTEST_SKIP() << "no vectors";
  struct Shape {
    std::int64_t rows, columns;
  };
  for (const Shape s : {Shape{1, 10}, {1, 5000}, {128, 10}, {7, 300}, {2, 1500}, {300, 3}})
    for (unsigned seed = 0; seed < 60; ++seed) {
      std::uint32_t results = 0;
      const auto plain = random_program(seed, s.rows, s.columns, false, results);
      const auto chains = random_program(seed, s.rows, s.columns, true, results);
      for (const bool in_place : {false, true}) {
        const auto want = run_program(plain, s.rows, s.columns, results, in_place);
        const auto got = run_program(chains, s.rows, s.columns, results, in_place);
        for (std::uint32_t k = 0; k < results; ++k)
          expect_same(got[k], want[k],
                      "program " + std::to_string(seed) + " result " + std::to_string(k));
      }
    }
}

}  // namespace
}  // namespace nx
