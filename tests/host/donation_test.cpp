// Donation on the host compiler: where results lie, and that it never changes a bit.
#include <omp.h>

#include <set>
#include <thread>

#include "program.h"

namespace nx::host_test {
namespace {

/// A program drawn from the seed: all kinds of host rules, shapes with axes of size 1, outputs
/// that are inputs, computed values and repeats.
class RandomProgram {
 public:
  explicit RandomProgram(unsigned seed) : engine_(seed) {
    rows_ = pick<std::int64_t>({1, 2, 7, 40, 129, 1100});
    columns_ = pick<std::int64_t>({1, 3, 10, 64, 300, 1500});
    for (int i = 0; i < 3 + draw(3); ++i)
      edges_.push_back(
          p.input(pick<Dims>({{rows_, columns_}, {rows_, columns_}, {columns_}, {rows_}, {}})));
    for (int i = 0; i < 6 + draw(18); ++i) add_operation();
    for (int i = 0; i < 1 + draw(5); ++i) p.output(any());
  }
  Program p;

  /// Donated leaves paired with outputs of the same bytes, at random.
  std::vector<DonationPair> pairs() {
    std::vector<DonationPair> result;
    std::set<std::uint32_t> taken;
    for (std::uint32_t i = 0; i < p.graph.parameters.size(); ++i) {
      if (draw(4) == 0) continue;
      for (std::uint32_t o = 0; o < p.graph.outputs.size(); ++o) {
        if (taken.count(o) || draw(3) == 0) continue;
        if (p.bytes({p.graph.parameters[i].node, 0}) != p.bytes(p.graph.outputs[o].edge)) continue;
        taken.insert(o);
        result.push_back({i, o, static_cast<PairKind>(1 + draw(6))});
        break;
      }
    }
    return result;
  }
  int draw(int below) { return static_cast<int>(engine_() % static_cast<unsigned>(below)); }

 private:
  template <class T>
  T pick(std::vector<T> from) {
    return from[static_cast<std::size_t>(draw(static_cast<int>(from.size())))];
  }
  Edge any() { return pick(edges_); }
  Edge widened(Edge x, const Dims& dims) {
    const Dims own = p.dims(x);
    if (own == dims) return x;
    if (own.empty()) return p.broadcast(x, dims, {});
    if (dims.size() == 2 && own.size() == 1 && own[0] == dims[1] && draw(2))
      return p.broadcast(x, dims, {1});
    if (dims.size() == 2 && own.size() == 1 && own[0] == dims[0]) return p.broadcast(x, dims, {0});
    if (dims.size() == 2 && own.size() == 1 && own[0] == dims[1]) return p.broadcast(x, dims, {1});
    return p.broadcast(p.number(draw(5) - 2), dims, {});
  }
  void add_operation() {
    const Edge x = any();
    const Dims dims = p.dims(x);
    switch (draw(9)) {
      case 0: edges_.push_back(p.op(*pick<const OpRow*>({&kNeg, &kSqrt}), {x})); break;
      case 1:
        if (!dims.empty()) {
          const auto axis = static_cast<std::int64_t>(draw(static_cast<int>(dims.size())));
          edges_.push_back(p.sum(x, draw(4) || dims.size() < 2 ? Dims{axis} : Dims{0, 1}));
        }
        break;
      case 2:
        if (dims.size() == 2) edges_.push_back(p.transpose(x, {1, 0}));
        break;
      case 3:
        if (dims.size() == 2) edges_.push_back(p.reshape(x, {dims[1], dims[0]}));
        break;
      case 4:
        for (const Edge y : edges_)
          if (dims.size() == 2 && p.dims(y).size() == 2 && p.dims(y)[0] == dims[1] &&
              dims[0] * dims[1] * p.dims(y)[1] < 1000000) {
            edges_.push_back(p.op(kMatmul, {x, y}));
            break;
          }
        break;
      case 5:
        for (const Edge y : edges_)
          if (p.bytes(y) <= p.bytes(x) && !(y == x)) {
            edges_.push_back(p.op(kPutFirst, {x, y}));
            break;
          }
        break;
      case 6: {
        const Edge y = widened(any(), dims);
        edges_.push_back(p.op(kSelect, {p.op(kLess, {x, y}), y, x}));
        break;
      }
      default: {
        const Edge y = widened(any(), dims);
        edges_.push_back(p.op(*pick<const OpRow*>({&kAdd, &kSub, &kMul, &kMax}), {x, y}));
      }
    }
  }

  std::mt19937 engine_;
  std::int64_t rows_, columns_;
  std::vector<Edge> edges_;
};

TEST(DonationHostR19, random_programs_give_the_same_bits_with_and_without_donation) {
  const int most = omp_get_max_threads();
  for (unsigned seed = 1; seed <= 400; ++seed) {
    RandomProgram random(seed);
    const Program& p = random.p;
    const std::size_t outputs = p.graph.outputs.size();
    const auto inputs = random_inputs(p, seed * 31);
    const auto expected = p.evaluate(inputs);
    const auto pairs = random.pairs();
    const auto plain = p.compile();
    const auto donated = p.compile(pairs);
    const std::string text = graph::to_string(p.graph) + donated->to_string();
    for (const int threads : {1, 2}) {
      omp_set_num_threads(threads);
      ASSERT_EQ(call(*plain, inputs, outputs).bytes(), expected)
          << seed << graph::to_string(p.graph) << plain->to_string();
      std::vector<InputMode> donate(inputs.size(), InputMode::kRead), protect = donate;
      for (const DonationPair& pair : pairs) {
        donate[pair.parameter] = InputMode::kDonated;
        protect[pair.parameter] = InputMode::kProtected;
      }
      const auto in_place = call(*donated, inputs, outputs, donate);
      ASSERT_EQ(in_place.bytes(), expected) << seed << text;
      ASSERT_EQ(in_place.aliased, pairs.size());
      std::set<const void*> addresses;
      for (const Buffer& buffer : in_place.outputs)
        if (buffer.get()->bytes() != 0)
          ASSERT_TRUE(addresses.insert(buffer.get()->data()).second) << text;
      for (const DonationPair& pair : pairs) {
        ASSERT_EQ(in_place.outputs[pair.output].get()->data(),
                  in_place.input_addresses[pair.parameter]);
      }
      const auto safe = call(*donated, inputs, outputs, protect);
      ASSERT_EQ(safe.bytes(), expected) << seed << text;
      for (std::size_t i = 0; i < inputs.size(); ++i) ASSERT_EQ(safe.inputs[i].bytes(), inputs[i]);
    }
  }
  omp_set_num_threads(most);
}

TEST(DonationHostR19, the_order_of_outputs_changes_no_bit) {
  for (unsigned seed = 1000; seed < 1040; ++seed) {
    RandomProgram random(seed);
    Program& p = random.p;
    const auto inputs = random_inputs(p, seed);
    const auto expected = p.evaluate(inputs);
    std::vector<std::size_t> order(p.graph.outputs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto outputs = p.graph.outputs;
    do {
      for (std::size_t i = 0; i < order.size(); ++i) p.graph.outputs[i] = outputs[order[i]];
      const auto result = call(*p.compile(), inputs, order.size());
      for (std::size_t i = 0; i < order.size(); ++i)
        ASSERT_EQ(result.outputs[i].bytes(), expected[order[i]]) << seed;
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

/// Compiles with the pairs, donates all of them, and expects results as of single operations.
std::unique_ptr<graph::Executable> expect_donated(const Program& p,
                                                  std::vector<DonationPair> pairs) {
  auto executable = p.compile(pairs);
  const auto inputs = random_inputs(p, 7);
  std::vector<InputMode> modes(inputs.size(), InputMode::kRead);
  for (const DonationPair& pair : pairs) modes[pair.parameter] = InputMode::kDonated;
  EXPECT_EQ(call(*executable, inputs, p.graph.outputs.size(), modes).bytes(), p.evaluate(inputs))
      << executable->to_string();
  return executable;
}

TEST(DonationHostR9, two_results_of_one_loop_are_both_in_place) {
  Program p;
  const Dims dims{1000};
  const Edge a = p.input(dims), b = p.input(dims);
  p.output(p.op(kAdd, {a, b}));
  p.output(p.op(kSub, {a, b}));
  const auto e = expect_donated(p, {{0, 0, PairKind::kInPlace}, {1, 1, PairKind::kInPlace}});
  EXPECT_EQ(e->memory().temporaries, 0u) << e->to_string();
}

TEST(DonationHostR9, crossed_leaves_are_both_in_place) {
  Program p;
  const Dims dims{3000};
  const Edge a = p.input(dims), b = p.input(dims);
  p.output(p.op(kMul, {b, p.full(2, dims)}));
  p.output(p.op(kAdd, {a, p.full(1, dims)}));
  const auto e = expect_donated(p, {{1, 0, PairKind::kInPlace}, {0, 1, PairKind::kInPlace}});
  EXPECT_EQ(e->memory().temporaries, 0u) << e->to_string();
}

TEST(DonationHostR9, swapped_leaves_are_not_touched) {
  Program p;
  const Edge a = p.input({64}), b = p.input({64});
  p.output(b);
  p.output(a);
  const auto e = expect_donated(p, {{1, 0, PairKind::kSame}, {0, 1, PairKind::kSame}});
  EXPECT_EQ(e->memory().temporaries, 0u);
  // The same pairs the other way round cannot be served without one copy aside.
  expect_donated(p, {{0, 0, PairKind::kTypeShape}, {1, 1, PairKind::kTypeShape}});
}

TEST(DonationHostR9, adam_needs_no_temporaries_in_any_order_of_outputs) {
  std::array<int, 3> order{0, 1, 2};
  do {
    Program p;
    const Dims dims{90, 32};
    const Edge w = p.input(dims), m = p.input(dims), v = p.input(dims), x = p.input(dims);
    const Edge g = p.op(kMul, {w, x});
    const Edge m2 =
        p.op(kAdd, {p.op(kMul, {p.full(0.9, dims), m}), p.op(kMul, {p.full(0.1, dims), g})});
    const Edge v2 = p.op(kAdd, {p.op(kMul, {p.full(0.999, dims), v}),
                                p.op(kMul, {p.full(0.001, dims), p.op(kMul, {g, g})})});
    const Edge w2 = p.op(kSub, {w, p.op(kMul, {m2, p.op(kSqrt, {v2})})});
    const std::array<Edge, 3> results{w2, m2, v2};
    std::vector<DonationPair> pairs;
    for (std::uint32_t o = 0; o < 3; ++o) {
      p.output(results[order[o]]);
      pairs.push_back({static_cast<std::uint32_t>(order[o]), o, PairKind::kInPlace});
    }
    const auto e = expect_donated(p, pairs);
    EXPECT_EQ(e->memory().temporaries, 0u) << e->to_string();
    EXPECT_EQ(e->memory().aliased, 3 * p.bytes(w));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(DonationHostR9, other_readers_of_a_leaf_run_before_it_is_overwritten) {
  Program p;
  const Edge a = p.input({40, 40}), b = p.input({40, 40});
  const Edge next = p.op(kAdd, {a, b});        // made first, written over `a`
  const Edge product = p.op(kMatmul, {a, b});  // reads `a` later in the order of nodes
  p.output(next);
  p.output(product);
  const auto e = expect_donated(p, {{0, 0, PairKind::kInPlace}});
  EXPECT_EQ(e->memory().temporaries, 40u * 8 + 0u)
      << e->to_string();  // the product's scratch alone
}

TEST(DonationHostR9, a_slice_update_is_in_place) {
  Program p;
  const Edge a = p.input({1000}), b = p.input({10});
  p.output(p.op(kPutFirst, {a, b}));
  EXPECT_EQ(expect_donated(p, {{0, 0, PairKind::kInPlace}})->memory().temporaries, 0u);
}

TEST(DonationHostR4, every_result_is_a_buffer_of_its_own) {
  Program p;
  const Edge a = p.input({8}), b = p.op(kNeg, {a});
  for (const Edge edge : {a, a, b, b, p.reshape(b, {2, 4}), p.reshape(a, {8, 1})}) p.output(edge);
  const auto inputs = random_inputs(p, 3);
  const auto result = call(*p.compile(), inputs, 6);
  EXPECT_EQ(result.bytes(), p.evaluate(inputs));
  std::set<const void*> addresses{result.inputs[0].get()->data()};
  for (const Buffer& buffer : result.outputs)
    EXPECT_TRUE(addresses.insert(buffer.get()->data()).second);
}

TEST(DonationHostR11, a_leaf_without_partner_is_freed_after_its_last_reader) {
  Program p;
  const Edge a = p.input({100}), b = p.input({100});
  p.output(p.sum(p.op(kMul, {a, b}), {0}));
  const auto executable = p.compile();
  const auto inputs = random_inputs(p, 3);
  const auto result = call(*executable, inputs, 1, {InputMode::kDonated, InputMode::kRead});
  EXPECT_EQ(result.freed, 1u);
  EXPECT_EQ(result.inputs[0].get()->data(), nullptr);
  EXPECT_EQ(result.inputs[1].bytes(), inputs[1]);
  EXPECT_EQ(result.bytes(), p.evaluate(inputs));
}

TEST(DonationHostR20, temporaries_live_in_results_that_are_not_final_yet) {
  Program p;
  const Edge x = p.input({50, 60}), w = p.input({60, 50});
  const Edge product = p.op(kMatmul, {x, w});  // 50 x 50, dies in the loop below
  p.output(p.op(kExp, {p.op(kAdd, {product, p.full(1, {50, 50})})}));
  const auto e = p.compile();
  EXPECT_EQ(e->memory().temporaries, 448u) << e->to_string();  // the product's scratch alone
  EXPECT_EQ(e->memory().results, 50u * 50 * 4);
  EXPECT_EQ(e->memory().arguments, 2u * 50 * 60 * 4);
}

TEST(HostExecutable, many_threads_call_one_executable_at_once) {
  Program p;
  const Edge x = p.input({60, 70}), w = p.input({70, 30});
  const Edge h = p.op(kMatmul, {x, w});
  p.output(p.sum(p.op(kExp, {p.op(kMul, {h, p.full(0.01, {60, 30})})}), {0}));
  p.output(p.op(kMatmul, {p.transpose(h, {1, 0}), x}));
  const auto executable = p.compile();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      const auto inputs = random_inputs(p, 100 + t);
      const auto expected = p.evaluate(inputs);
      for (int i = 0; i < 50; ++i) wrong += call(*executable, inputs, 2).bytes() != expected;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace nx::host_test
