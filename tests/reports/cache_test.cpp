// Reports about caches, recompilation, and the time that tracing, compiling and dispatch take.
#include "reports/report.h"

namespace nx::test {

REPORT_SUITE(CacheReports);

TEST_P(CacheReports, executables_over_many_shapes_are_bounded_in_number_and_can_be_cleared) {
  JitOptions o = options();
  o.cache_entries = 8;
  const auto f = jit([](Tensor x) { return x + 1; }, o);
  const int shapes = is_xla() ? 40 : 2000;
  for (int i = 1; i <= shapes; ++i) {
    (void)f(zeros({5, i}));
    ASSERT_LE(f.cache().entries, 8u);
  }
  EXPECT_EQ(f.cache().misses, static_cast<std::uint64_t>(shapes));
  EXPECT_EQ(f.cache().evictions, static_cast<std::uint64_t>(shapes) - 8);
  (void)f(zeros({5, shapes}));  // the newest is still there
  (void)f(zeros({5, shapes - 7}));
  EXPECT_EQ(f.cache().hits, 2u);
  (void)f(zeros({5, 1}));  // the oldest is not
  EXPECT_EQ(f.cache().misses, static_cast<std::uint64_t>(shapes) + 1);
  auto copy = f;  // copies share the cache
  copy.clear_cache();
  EXPECT_EQ(f.cache().entries, 0u);
  EXPECT_EQ(f.cache().bytes, 0u);
  (void)f(zeros({5, 1}));
  EXPECT_EQ(f.cache().entries, 1u);
}

TEST_P(CacheReports, executables_are_bounded_in_bytes_too) {
  JitOptions o = options();
  const auto body = [](Tensor x) { return tanh(dot(x, transpose(x))) + 1; };
  const auto one = jit(body, o);
  (void)one(zeros({64, 8}));
  const std::size_t bytes = one.cache().bytes;
  ASSERT_GT(bytes, 0u);
  o.cache_bytes = 3 * bytes + bytes / 2;
  const auto f = jit(body, o);
  for (int i = 0; i < 12; ++i) {
    (void)f(zeros({64, 8 + i}));
    EXPECT_LE(f.cache().bytes, o.cache_bytes) << i;
  }
  EXPECT_GT(f.cache().evictions, 0u);
}

TEST_P(CacheReports, clearing_after_each_shape_leaves_memory_flat) {
  auto f = jit([](Tensor x) { return sum(sin(x)); }, options());
  expect_flat_memory(GetParam(), is_xla() ? 50 : 500, 4 << 20, [&](int i) {
    (void)f(zeros({i % 500 + 1}));
    f.clear_cache();
  });
}

TEST_P(CacheReports, a_number_and_the_result_made_of_it_are_one_compilation) {
  const auto f = jit([](Tensor x) { return x * 2 + 1; }, options());
  Tensor x = f(0.f);
  for (int i = 0; i < 5; ++i) x = f(x);
  (void)f(1.5);
  EXPECT_EQ(f.cache().misses, 1u);
  EXPECT_EQ(x.to_number<float>(), 63);
  (void)f(1);  // an integer is another type, and that is said
  EXPECT_EQ(f.cache().misses, 2u);
  EXPECT_HAS(f.explain_recompile(), "arg0");
  EXPECT_HAS(f.explain_recompile(), "f32[]");
  EXPECT_HAS(f.explain_recompile(), "s32[]");
}

TEST_P(CacheReports, the_explanation_names_the_first_leaf_that_differs_and_how) {
  const auto f = jit([](Pair s, Tensor x) { return s.a + s.b + x; }, options());
  const Pair s{vector_of(4), vector_of(4)};
  (void)f(s, vector_of(4));
  (void)f(s, on_device(zeros({1})));
  EXPECT_HAS(f.explain_recompile(), "`arg1` was f32[4], is now f32[1]");
  (void)f(Pair{s.a, on_device(zeros({4}, {.type = f64}))}, on_device(zeros({1})));
  EXPECT_HAS(f.explain_recompile(), "`arg0.b` was f32[4], is now f64[4]");
  (void)f(Pair{donatable(s.a), s.b}, vector_of(4));
  EXPECT_HAS(f.explain_recompile(), "f32[4] [donatable]");
}

TEST_P(CacheReports, every_optimizer_keeps_the_types_of_its_state_from_init_on) {
  const std::pair<const char*, optim::Update> updates[] = {
      {"adam", optim::adam()},
      {"adamw", optim::adamw({.decay = 0.1})},
      {"sgd", optim::sgd()},
      {"momentum", optim::sgd({.momentum = 0.9})},
      {"nesterov", optim::sgd({.momentum = 0.9, .nesterov = true})},
      {"chain", optim::clip({.delta = 1}).then(optim::trace()).then(optim::scale(-0.1))},
      {"clip_by_global_norm", optim::clip_by_global_norm().then(optim::adam())},
      {"centralize", optim::centralize().then(optim::scale_by_adam())},
  };
  for (const auto& [name, update] : updates) {
    for (const DType type : {DType::f32, DType::f64, DType::bf16}) {
      Tree params;
      params["w"] = on_device(full({3, 2}, 0.5f, {.type = type}));
      params["b"] = on_device(full({2}, 0.25f, {.type = type}));
      optim::State state = update.init(params);
      const auto step = jit(
          [update = update](Tree p, optim::State s, Tree g) {
            auto [updates, next] = update.update(g, s, p);
            return std::pair(optim::apply_updates(p, updates), next);
          },
          options(name));
      const Tree gradients = params;
      for (int i = 0; i < 3; ++i) std::tie(params, state) = step(params, state, gradients);
      EXPECT_EQ(step.cache().misses, 1u)
          << name << " of " << name_of(type) << ": " << step.explain_recompile();
    }
  }
}

TEST_P(CacheReports, a_new_value_in_place_of_a_captured_tensor_costs_no_recompile) {
  int traces = 0;
  const auto f = jit(
      [&](Tensor x, Tensor c) {
        ++traces;
        return x + c;
      },
      options());
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(values_of(f(vector_of(4), vector_of(4, static_cast<float>(i))))[3], 6 + i);
  EXPECT_EQ(traces, 1);
}

TEST_P(CacheReports, a_captured_tensor_is_an_input_of_the_program_and_is_not_traced_again) {
  int traces = 0;
  const Tensor c = vector_of(4, 100);
  const auto f = jit(
      [&, c](Tensor x) {
        ++traces;
        return x + c;
      },
      options());
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(values_of(f(vector_of(4, static_cast<float>(i))))[3], 106 + i);
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(f.explain().find("103"), std::string::npos) << "a value in the program\n"
                                                        << f.explain();
}

TEST_P(CacheReports, a_long_program_is_traced_once_and_dispatched_without_walking_it) {
  int traces = 0;
  const auto chain = jit(
      [&](Tensor x) {
        ++traces;
        Tensor y = x;
        for (int i = 0; i < 1024; ++i) y = y + x;
        return y;
      },
      options());
  const Tensor x = on_device(tensor(1.f));
  EXPECT_EQ(chain(x).to_number<float>(), 1025);
  const double seconds = shortest_seconds(1000, [&] { (void)wait(chain(x)); });
  EXPECT_EQ(traces, 1);
  EXPECT_EQ(chain.cache().misses, 1u);
  if (!test::kSanitized) {
    EXPECT_LT(seconds, 50e-6);
  }
}

TEST_P(CacheReports, a_large_captured_tensor_is_no_constant_of_the_program) {
  const Tensor c = on_device(iota({10'000'000}));
  const auto begin = std::chrono::steady_clock::now();
  const auto f = jit([&](Tensor i) { return sum(take(c, i)); }, options());
  EXPECT_EQ(f(tensor({1, 10, 9'999'999})).to_number<int>(), 10'000'010);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(f.cache().bytes, std::size_t{1} << 20);
  if (!test::kSanitized) {
    EXPECT_LT(time.count(), 2.0);
  }
}

TEST_P(CacheReports, a_large_constant_with_one_element_set_compiles_at_once) {
  const auto begin = std::chrono::steady_clock::now();
  const auto f = compile(
      [](Tensor x) {
        return put_slice(ones({500, 500, 500}), {1, 2, 3}, reshape(x, {1, 1, 1}));
      },
      options(), make_template({}, f32));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  if (!test::kSanitized) {
    EXPECT_LT(time.count(), 1.0);
  }
  EXPECT_LT(f.explain().size(), 100000u) << "the constant is written out";
}

TEST_P(CacheReports, tensors_of_rank_ten_contract_in_any_order) {
  // Ten tensors of ten axes of size 2, joined two axes at a time.
  const auto f = jit(
      [](std::vector<Tensor> t) {
        Tensor r = t[0];
        for (std::size_t i = 1; i < t.size(); ++i)
          r = dot(r, t[i], {.contract_a = {0, 2, 4, 6, 8}, .contract_b = {9, 7, 5, 3, 1}}) * 0.125f;
        return r;
      },
      options());
  std::vector<Tensor> t;
  for (int i = 0; i < 10; ++i) t.push_back(on_device(full({2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, 1.f)));
  const Tensor r = f(t);
  EXPECT_EQ(r.rank(), 10);
  // Each contraction of all-equal tensors sums 32 products: times 32 / 8 = 4, nine times.
  EXPECT_EQ(values_of(r)[1023], 262144.f);
}

TEST_P(CacheReports, programs_of_thousands_of_operations_run_from_the_cache) {
  for (const int terms : {100, is_xla() ? 300 : 2500}) {
    const auto log_probability = jit(
        [=](Tensor x) {
          Tensor total = x * 0.f;
          for (int i = 0; i < terms; ++i) {  // four operations each
            const Tensor d = x - static_cast<float>(i % 7);
            total = total + d * d * -0.5f;
          }
          return total;
        },
        options());
    double expected = 0;
    for (int i = 0; i < terms; ++i) expected -= 0.5 * (1.0 - i % 7) * (1.0 - i % 7);
    const Tensor x = on_device(tensor(1.f));
    for (int call = 0; call < 3; ++call)
      EXPECT_NEAR(log_probability(x).to_number<float>(), expected, -expected * 1e-5);
    EXPECT_EQ(log_probability.cache().misses, 1u);
  }
}

}  // namespace nx::test
