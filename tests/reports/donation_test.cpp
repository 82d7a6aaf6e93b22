// Reports about donation: the calls that were refused, the leaves that were named, the values that
// came out wrong elsewhere.
#include <algorithm>
#include <map>

#include "ops/rows.h"
#include "reports/report.h"

namespace reports {
struct Nested {
  nx::Tensor a, b;
};
NX_CONTAINER(Nested, a, b)
struct Call {
  Nested x;
  nx::Tensor state, step;
};
NX_CONTAINER(Call, x, state, step)
struct Moments {
  nx::Tensor m, v, s;
};
NX_CONTAINER(Moments, m, v, s)
}  // namespace reports

namespace nx::test {

REPORT_SUITE(DonationReports);

using ::reports::Call;
using ::reports::Moments;
using ::reports::Nested;

TEST_P(DonationReports, state_keeps_its_values_and_memory_wherever_same_shaped_outputs_stand) {
  // Positions of three state scalars among six outputs of their shape, all twenty of them.
  std::vector<int> is_state{0, 0, 0, 1, 1, 1};
  do {
    const auto f = jit(
        [&](std::array<Tensor, 3> s, Tensor value) {
          std::vector<Tensor> out;
          std::size_t next = 0;
          for (const int own : is_state) {
            if (own) out.push_back(s[next++]);
            else out.push_back(value - value);
          }
          return out;
        },
        options());
    const std::array s{on_device(tensor(1.f)), on_device(tensor(2.f)), on_device(tensor(3.f))};
    const std::array memory{memory_of(s[0]), memory_of(s[1]), memory_of(s[2])};
    const std::vector<Tensor> out = f(donatable(s), on_device(tensor(5.f)));
    std::size_t next = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      EXPECT_EQ(out[i].to_number<float>(), is_state[i] ? static_cast<float>(next + 1) : 0.f);
      if (is_state[i]) {
        EXPECT_EQ(memory_of(out[i]), memory[next++]);
      }
    }
  } while (std::next_permutation(is_state.begin(), is_state.end()));
}

TEST_P(DonationReports, a_state_that_shares_memory_with_a_batch_is_refused_and_lives_on) {
  constexpr std::int64_t kCount = 1 << 18;
  const auto update = jit(
      [](Call c, Tensor batch) {
        return Call{{c.x.a + batch, c.x.b * 2}, c.state + batch, c.step + 1};
      },
      options("update"));
  Call s{{vector_of(kCount), vector_of(kCount)}, vector_of(kCount), on_device(tensor(0.f))};
  for (int round = 0; round < 10; ++round) {
    const Tensor batch = s.x.b;  // deep in the tree
    const std::string text = error_of<ArgumentError>([&] { update(donatable(s), batch); });
    EXPECT_HAS(text, "arg0.x.b");
    EXPECT_HAS(text, "arg1");
    s = update(donatable(s), clone(batch));
  }
  EXPECT_EQ(s.step.to_number<float>(), 10);
  EXPECT_EQ(values_of(s.x.b)[3], 3 * 1024);
  EXPECT_EQ(values_of(s.x.a)[1], 1 + 1023);
}

TEST_P(DonationReports, a_second_call_with_a_consumed_array_names_the_first_and_never_crashes) {
  const auto g = jit([](Tensor b) { return b + 1; }, options("g"));
  for (const std::int64_t count : {0, 1, 1000}) {
    const Tensor b = on_device(full({count}, 1.f));
    g(donatable(b));
    const std::uint64_t call = g.counters().calls;
    for (int again = 0; again < 100; ++again) {
      const std::string text = error_of<DonatedError>([&] { g(donatable(b)); });
      EXPECT_HAS(text, "call #" + std::to_string(call) + " of g");
      error_of<DonatedError>([&] { g(b); });
    }
    EXPECT_EQ(g(donatable(vector_of(4))).to_flat_list<float>()[3], 4);
  }
}

TEST_P(DonationReports, a_flag_for_nan_computed_in_the_step_costs_no_donation) {
  const auto f = jit(
      [](Tensor x) {
        const Tensor y = x / 0.f * 0.f;
        return std::pair(y, any(is_nan(y)));
      },
      options());
  const Tensor x = vector_of(64);
  const void* const memory = memory_of(x);
  const auto [y, has_nan] = f(donatable(x));
  EXPECT_EQ(has_nan.to_number<int>(), 1);
  EXPECT_EQ(memory_of(y), memory);
  EXPECT_EQ(f.last_call().aliased, 1u);
}

TEST_P(DonationReports, the_report_lists_exactly_the_leaves_that_were_marked) {
  // Every subset of four leaves, two of them in a nested structure.
  const char* const paths[] = {"arg0.a", "arg0.b", "arg1", "arg2"};
  for (unsigned marks = 0; marks < 16; ++marks) {
    const auto f =
        jit([](Nested x, Tensor y, Tensor z) { return std::tuple(x.a + 1, x.b + 2, y + 3, z + 4); },
            options());
    Nested x{vector_of(8), vector_of(8)};
    std::array rest{vector_of(8), vector_of(8)};
    if (marks & 1) x.a = donatable(x.a);
    if (marks & 2) x.b = donatable(x.b);
    if (marks & 4) rest[0] = donatable(rest[0]);
    if (marks & 8) rest[1] = donatable(rest[1]);
    f(x, rest[0], rest[1]);
    std::vector<std::string> listed, expected;
    for (const DonationRow& row : f.donation_report().rows) listed.push_back(row.leaf);
    for (unsigned i = 0; i < 4; ++i)
      if (marks & (1u << i)) expected.emplace_back(paths[i]);
    EXPECT_EQ(listed, expected);
    const std::array leaves{x.a, x.b, rest[0], rest[1]};
    for (unsigned i = 0; i < 4; ++i)
      EXPECT_EQ(leaves[i].is_consumed(), (marks >> i & 1) == 1) << paths[i];
  }
}

TEST_P(DonationReports, a_part_of_an_argument_is_donated_by_its_name) {
  const auto f = jit([](Call c) { return Call{c.x, c.state + c.x.a, c.step}; }, options());
  Call c{{vector_of(8), vector_of(8)}, vector_of(8), on_device(tensor(1.f))};
  c.state = donatable(c.state);  // a misspelt member does not compile
  const Call r = f(c);
  EXPECT_TRUE(c.state.is_consumed());
  EXPECT_EQ(values_of(c.x.a)[7], 7);
  EXPECT_EQ(values_of(c.x.b)[7], 7);
  EXPECT_EQ(values_of(r.state)[7], 14);
  ASSERT_EQ(f.donation_report().rows.size(), 1u);
  EXPECT_EQ(f.donation_report().rows[0].leaf, "arg0.state");
}

TEST_P(DonationReports, one_state_is_trained_and_evaluated_in_turn) {
  const auto train = jit(
      [](Nested s, Tensor x) {
        return Nested{s.a + x, s.b + s.a};
      },
      options("train"));
  const auto eval = jit([](Nested s) { return sum(s.a) + sum(s.b); }, options("eval"));
  Nested s{vector_of(4), vector_of(4)};
  for (int i = 0; i < 5; ++i) {
    s = train(donatable(s), vector_of(4, 1));
    const float first = eval(s).to_number<float>();
    EXPECT_EQ(eval(s).to_number<float>(), first) << "evaluation changed the state";
    EXPECT_EQ(first, sum(s.a).to_number<float>() + sum(s.b).to_number<float>());
  }
  EXPECT_EQ(eval.counters().aliased + eval.counters().freed, 0u);
}

TEST_P(DonationReports, a_result_kept_over_the_call_that_takes_it_is_an_error_not_garbage) {
  const auto multiply =
      jit([](Tensor c, Tensor a, Tensor b) { return dot(a, b) + c * 0.f; }, options("multiply"));
  const auto square = [&](float k) {
    return on_device(reshape(iota({64}, {.type = f32}) * k, {8, 8}));
  };
  const Tensor first = multiply(donatable(square(0)), square(1), square(1));
  const float kept = values_of(first)[9];
  const Tensor second = multiply(donatable(first), square(2), square(1));
  const std::string text = error_of<DonatedError>([&] { (void)values_of(first); });
  EXPECT_HAS(text, "call #2 of multiply");
  EXPECT_HAS(inspect(first), "consumed by donation");
  EXPECT_EQ(values_of(second)[9], 2 * kept);
}

TEST_P(DonationReports, of_64_leaves_two_that_are_one_buffer_are_named_by_their_paths) {
  Tree state;
  for (int layer = 0; layer < 16; ++layer)
    for (const char* part : {"kernel", "bias", "mean", "scale"})
      state["layer_" + std::to_string(layer)][part] = vector_of(8);
  const auto f =
      jit([](Tree s) { return map_leaves(s, [](const Tensor& t) { return t + 1; }); }, options());
  const Tree healthy = state;
  const std::pair<const char*, const char*> places[] = {
      {"layer_0", "layer_15"}, {"layer_7", "layer_8"}, {"layer_15", "layer_3"}};
  for (const auto& [one, two] : places) {
    Tree spoilt = healthy;
    spoilt[one]["kernel"] = healthy.at(two).at("mean");
    const std::string text = error_of<ArgumentError>([&] { f(donatable(spoilt)); });
    EXPECT_HAS(text, std::string("arg0.") + one + ".kernel");
    EXPECT_HAS(text, std::string("arg0.") + two + ".mean");
  }
  EXPECT_NO_THROW(f(donatable(healthy)));
}

TEST_P(DonationReports,
       zero_initialised_fields_that_share_a_buffer_are_named_and_clone_parts_them) {
  const Tensor zero = on_device(zeros({4}));
  const auto f = jit([](Moments s) { return Moments{s.m + 1, s.v + 2, s.s + 3}; }, options());
  const std::string text = error_of<ArgumentError>([&] {
    f(donatable(Moments{zero, zero, vector_of(4)}));
  });
  EXPECT_HAS(text, "arg0.m");
  EXPECT_HAS(text, "arg0.v");
  error_of<ArgumentError>([&] { f(donatable(Moments{zero, zero, zero})); });
  const Moments r = f(donatable(clone(Moments{zero, zero, zero})));
  EXPECT_EQ(values_of(r.m)[0], 1);
  EXPECT_EQ(values_of(r.v)[0], 2);
  EXPECT_EQ(values_of(r.s)[0], 3);
}

TEST_P(DonationReports, a_batch_donated_as_a_whole_gives_what_is_usable_without_a_word) {
  const auto f = jit([](Tensor kv, Tensor index) { return kv + sum(index); }, lenient());
  const Tensor kv = vector_of(4096), index = on_device(iota({128}));
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  const void* const memory = memory_of(kv);
  const Tensor r = f(donatable(kv), donatable(index));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(memory_of(r), memory);
  EXPECT_EQ(f.last_call().aliased, 1u);
  EXPECT_EQ(f.last_call().freed, 1u);
}

TEST_P(DonationReports, a_released_buffer_is_refused_before_anything_runs) {
  const Tensor t = on_device(tensor({{1.f, 2.f}, {3.f, 4.f}}));
  const Tensor other = t, alive = on_device(ones({2, 2}));
  deallocate(t);
  const auto f = jit([](Tensor a, Tensor b) { return a + b; }, options());
  for (const Tensor& handle : {t, other}) {
    EXPECT_HAS(error_of<ArgumentError>([&] {
                 (void)add(handle, tensor({{1, 2}, {3, 4}}));
               }),
               "deallocated");
    EXPECT_HAS(error_of<ArgumentError>([&] { f(handle, handle); }), "deallocated");
    EXPECT_HAS(error_of<ArgumentError>([&] { f(donatable(handle), alive); }), "deallocated");
    EXPECT_NO_THROW((void)inspect(handle));
  }
}

TEST_P(DonationReports, a_result_of_a_donated_call_survives_the_calls_it_is_passed_to) {
  const auto f = jit([](Tensor x) { return x + 1; }, options("f"));
  const auto total = jit([](Tensor x) { return sum(x); }, options("total"));
  const Tensor y = f(donatable(vector_of(16)));
  EXPECT_EQ(total(y).to_number<float>(), 136);
  EXPECT_EQ(sum(y).to_number<float>(), 136);
  EXPECT_EQ(f(y).to_flat_list<float>()[0], 2);
  EXPECT_FALSE(y.is_consumed());
  EXPECT_EQ(values_of(y)[15], 16);
}

TEST_P(DonationReports, a_donated_leaf_gives_right_values_in_every_layout_of_the_result) {
  using Movement = Tensor (*)(const Tensor&);
  const Movement movements[] = {
      [](const Tensor& x) {
        return reshape(tanh(x), {1, 24});
      },
      [](const Tensor& x) {
        return reshape(tanh(x), {24, 1});
      },
      [](const Tensor& x) { return new_axis(tanh(x), 0); },
      [](const Tensor& x) {
        return transpose(reshape(tanh(x), {4, 6}));
      },
      [](const Tensor& x) {
        return tanh(transpose(reshape(x, {2, 3, 4}), {.axes = {1, 2, 0}}));
      },
      [](const Tensor& x) { return reverse(x * 2) + x; },
      [](const Tensor& x) {
        return broadcast(reshape(tanh(x), {1, 24}), {1, 24}) + 1;
      },
      [](const Tensor& x) {
        return reshape(transpose(reshape(x, {6, 4})) * 3 + 1, {24});
      },
      [](const Tensor& x) {
        return concatenate({slice(x, {12}, {12}), slice(x, {0}, {12})});
      },
  };
  for (const Movement movement : movements) {
    const auto donated = jit([=](Tensor x) { return movement(x); }, options());
    const auto plain = jit([=](Tensor x) { return movement(x); }, options());
    const Tensor expected = plain(vector_of(24, -3.5f));
    const Tensor got = donated(donatable(vector_of(24, -3.5f)));
    EXPECT_EQ(got.shape(), expected.shape());
    EXPECT_EQ(values_of(got), values_of(expected)) << donated.explain();
  }
}

TEST_P(DonationReports, several_updates_of_one_leaf_in_a_step_are_one_alias) {
  for (const int updates : {1, 2, 3, 10}) {
    const auto f = jit(
        [=](Tensor t) {
          for (int i = 0; i < updates; ++i) {
            t = t + 1;
            t = t * 3;
          }
          return t;
        },
        options());
    const Tensor t = on_device(zeros({5, 5}));
    const void* const memory = memory_of(t);
    const Tensor r = f(donatable(t));
    float expected = 0;
    for (int i = 0; i < updates; ++i) expected = (expected + 1) * 3;
    EXPECT_EQ(values_of(r)[24], expected);
    EXPECT_EQ(memory_of(r), memory);
    EXPECT_EQ(f.donation_report().aliased_bytes, 100);
    EXPECT_EQ(f.donation_report().temporary_bytes, 0);
  }
}

/// Expects that a call of the function named `name` left every tensor of `values` alive.
void expect_alive(const std::vector<ops::Value>& values, const std::string& name) {
  for (ops::Value value : values)
    ops::for_each_tensor(value, [&](Tensor& t) { EXPECT_FALSE(t.is_consumed()) << name; });
}

TEST(DonationReportsOfEager, no_public_function_consumes_an_argument_marked_or_not) {
  int calls = 0;
  for (const ops::FunctionRow* row : ops::all_rows()) {
    for (ops::Example example : (*row->examples)()) {
      for (const bool marked : {false, true}) {
        if (marked)
          for (ops::Value& value : example.args)
            ops::for_each_tensor(value, [](Tensor& t) { t = donatable(t); });
        (void)(*row->call)(example.args, example.options);
        ++calls;
        expect_alive(example.args, std::string(*row->name));
      }
    }
  }
  EXPECT_GT(calls, 200);
}

}  // namespace nx::test
