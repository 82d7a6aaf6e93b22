// R19: the same bits with and without donation, for random programs and every order of outputs.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "donation/rule.h"

namespace nx::test {

DONATION_RULE(R19);

/// A random program over leaves of one shape: a list of steps that can be replayed.
struct Program {
  struct Step {
    int op, a, b;
  };
  int leaves = 2;
  std::vector<Step> steps;
  std::vector<int> outputs;

  static Program draw(std::mt19937& random) {
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    Program p;
    p.leaves = 2 + below(3);
    const int count = 3 + below(8);
    for (int i = 0; i < count; ++i) {
      const int values = p.leaves + i;
      p.steps.push_back({below(9), below(values), below(values)});
    }
    for (int i = 0; i < p.leaves; ++i) p.outputs.push_back(p.leaves + count - 1 - below(count));
    if (below(4) == 0) p.outputs.push_back(below(p.leaves));  // a leaf passed through
    std::sort(p.outputs.begin(), p.outputs.end());
    p.outputs.erase(std::unique(p.outputs.begin(), p.outputs.end()), p.outputs.end());
    return p;
  }

  std::vector<Tensor> run(const std::vector<Tensor>& in) const {
    std::vector<Tensor> v = in;
    for (const Step& s : steps) {
      const Tensor &a = v[static_cast<std::size_t>(s.a)], &b = v[static_cast<std::size_t>(s.b)];
      switch (s.op) {
        case 0: v.push_back(a + b); break;
        case 1: v.push_back(a - b); break;
        case 2: v.push_back(a * 0.5f + b); break;
        case 3: v.push_back(tanh(a)); break;
        case 4: v.push_back(a + sum(b, {.axes = {1}, .keep_axes = true})); break;
        case 5: v.push_back(transpose(a)); break;
        case 6: v.push_back(dot(a, b) * 0.01f); break;
        case 7: v.push_back(max(a, b)); break;
        default: v.push_back(a * sum(b, {.axes = {0}, .keep_axes = true}) * 0.01f); break;
      }
    }
    std::vector<Tensor> out;
    for (const int o : outputs) out.push_back(v[static_cast<std::size_t>(o)]);
    return out;
  }
};

std::vector<std::vector<float>> values_of(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<float>> all;
  for (const Tensor& t : tensors) all.push_back(t.to_flat_list<float>());
  return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

RULE_TEST(R19, random_programs_give_the_same_bits_with_donation_in_every_order_of_outputs) {
  std::mt19937 random(20261130);
  const int programs = is_xla() ? 4 : 60;
  for (int number = 0; number < programs; ++number) {
    Program program = Program::draw(random);
    const std::int64_t side = number % 3 == 0 ? 7 : 40;
    std::vector<Tensor> leaves;
    for (int i = 0; i < program.leaves; ++i)
      leaves.push_back(on_device(
          sin(reshape(iota({side * side}, {.type = f32}), {side, side}) * 0.37f + 1.3f * i)));
    if (is_xla() && program.outputs.size() > 3) program.outputs.resize(3);  // six orders
    do {
      const auto f = [&](std::vector<Tensor> in) { return program.run(in); };
      // The same executable with protected inputs on XLA; a separate plain one on the host.
      JitOptions donating = lenient("program");
      donating.keep_on_failure = is_xla();
      const auto plain = is_xla() ? jit(f, donating) : jit(f, options("program"));
      const auto donated = jit(f, lenient("program"));
      std::vector<Tensor> mine, theirs;
      for (const Tensor& t : leaves) {
        mine.push_back(on_device(t));
        theirs.push_back(on_device(t));
      }
      const auto expected =
          values_of(is_xla() ? plain(donatable(theirs)) : plain(theirs));
      const auto got = values_of(donated(donatable(mine)));
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_TRUE(same_bits(got[i], expected[i]))
            << "program " << number << ", output " << i << "\n" << donated.explain();
    } while (std::next_permutation(program.outputs.begin(), program.outputs.end()));
  }
}

/// Draws a program over s32 leaves, where every operation is exact.
std::vector<Tensor> exact_program(unsigned seed, const std::vector<Tensor>& in) {
  std::mt19937 random(seed);
  std::vector<Tensor> v = in;
  for (int i = 0; i < 8; ++i) {
    const Tensor a = v[random() % v.size()], b = v[random() % v.size()];
    switch (random() % 6) {
      case 0: v.push_back(a + b); break;
      case 1: v.push_back(a * 3 - b); break;
      case 2: v.push_back(max(a, b)); break;
      case 3: v.push_back(transpose(a)); break;
      case 4: v.push_back(as_type(a < b, s32) + a); break;
      default: v.push_back(a - sum(b, {.axes = {0}, .keep_axes = true})); break;
    }
  }
  return {v[v.size() - 1], v[v.size() - 2], in[random() % in.size()]};
}

RULE_TEST(R19, integers_bools_and_passed_leaves_are_the_same_as_of_an_undonated_program) {
  for (unsigned seed = 0; seed < (is_xla() ? 6u : 40u); ++seed) {
    const auto f = [&](std::vector<Tensor> in) { return exact_program(seed, in); };
    const auto plain = jit(f, lenient("plain")), donated = jit(f, lenient("donated"));
    std::vector<Tensor> leaves, mine;
    for (int i = 0; i < 3; ++i) {
      leaves.push_back(on_device(reshape(iota({400}, {.type = s32}) * (i + 2) - 300, {20, 20})));
      mine.push_back(on_device(leaves.back()));
    }
    const std::vector<Tensor> expected = plain(leaves), got = donated(donatable(mine));
    for (std::size_t o = 0; o < expected.size(); ++o)
      ASSERT_EQ(got[o].to_flat_list<int>(), expected[o].to_flat_list<int>())
          << "program " << seed << ", output " << o;
  }
}

RULE_TEST(R19, floats_are_near_those_of_an_undonated_program) {
  std::mt19937 random(3);
  for (int number = 0; number < (is_xla() ? 2 : 20); ++number) {
    const Program program = Program::draw(random);
    const auto f = [&](std::vector<Tensor> in) { return program.run(in); };
    const auto plain = jit(f, lenient("plain")), donated = jit(f, lenient("donated"));
    std::vector<Tensor> leaves, mine;
    for (int i = 0; i < program.leaves; ++i) {
      leaves.push_back(on_device(sin(reshape(iota({400}, {.type = f32}) * 0.3f + i, {20, 20}))));
      mine.push_back(on_device(leaves.back()));
    }
    const auto expected = values_of(plain(leaves)), got = values_of(donated(donatable(mine)));
    for (std::size_t o = 0; o < expected.size(); ++o)
      for (std::size_t k = 0; k < expected[o].size(); ++k) {
        const float bound = is_xla() ? 1e-4f * (1 + std::abs(expected[o][k])) : 0;
        ASSERT_LE(std::abs(got[o][k] - expected[o][k]), bound) << "program " << number;
      }
  }
}

RULE_TEST(R19, a_slice_update_gives_the_same_bits_with_and_without_donation) {
  const auto update = [](Tensor x, Tensor u) {
    return put_slice(x * 1.1f + 0.3f, {3, 5}, u * 0.7f + 0.1f);
  };
  const auto f = jit(update, options());
  JitOptions kept = options();
  kept.keep_on_failure = true;
  const auto plain = is_xla() ? jit(update, kept) : jit(update, options());
  const Tensor x = on_device(sin(reshape(iota({1700}, {.type = f32}), {34, 50})));
  const Tensor u = on_device(cos(reshape(iota({60}, {.type = f32}), {6, 10})));
  const auto expected = is_xla() ? plain(donatable(on_device(x)), u) : plain(x, u);
  const Tensor mine = on_device(x);
  const void* const memory = memory_of(mine);
  const Tensor got = f(donatable(mine), u);
  EXPECT_EQ(memory_of(got), memory);
  EXPECT_TRUE(same_bits(got.to_flat_list<float>(), expected.to_flat_list<float>()));
}

}  // namespace nx::test
