// Reports about memory: what is alive after a scope, a call, an epoch or a thousand of them, and
// what the ledger says of it.
#include <cmath>
#include <memory>
#include <thread>

#include "reports/report.h"

namespace nx::test {

REPORT_SUITE(MemoryReports);

constexpr std::int64_t kMillion = 1 << 20;
constexpr std::size_t kMillionBytes = kMillion * sizeof(float);

TEST_P(MemoryReports, a_host_array_may_change_and_die_once_a_tensor_was_made_of_it) {
  const auto f = jit([](Tensor x) { return x * 1.f; }, options());
  for (const std::size_t count : {1u, 16u, 100u, 1024u, 65536u, 1u << 18}) {
    auto values = std::make_unique<std::vector<float>>(count);
    for (std::size_t i = 0; i < count; ++i) (*values)[i] = static_cast<float>(i);
    const Tensor t = tensor(*values);
    const Tensor binary = from_binary(std::as_bytes(std::span(*values)), DType::f32);
    const Tensor on = f(t);
    (*values)[0] = -1;
    const Tensor later = f(t);
    values.reset();
    for (const Tensor& made : {t, binary, on, later}) {
      const std::vector<float> got = values_of(made);
      EXPECT_EQ(got.front(), 0) << count;
      EXPECT_EQ(got.back(), static_cast<float>(count - 1)) << count;
    }
  }
}

TEST_P(MemoryReports, lent_memory_is_read_in_place_and_neither_kept_nor_written) {
  alignas(64) static float lent[1024];
  for (int i = 0; i < 1024; ++i) lent[i] = static_cast<float>(i);
  const auto f = jit([](Tensor x) { return x + 1; }, options());
  int deleted = 0;
  {
    const Tensor t = from_pointer(lent, f32, {1024}, {.deleter = [&](void*) { ++deleted; }});
    const Tensor r = f(t);
    EXPECT_EQ(values_of(r)[1023], 1024);
    EXPECT_EQ(deleted, 0) << "the tensor still lives";
    EXPECT_EQ(lent[1023], 1023) << "an undonated argument was written to";
  }
  EXPECT_EQ(deleted, 1);
  const Tensor borrowed = from_pointer(lent, f32, {1024});
  error_of<ArgumentError>([&] { f(donatable(borrowed)); });
}

TEST_P(MemoryReports, calling_one_function_forever_leaves_memory_flat) {
  const auto f = jit([](Tensor x, Tensor y) { return sin(x) * y + 1; }, options());
  const Tensor x = vector_of(64), y = vector_of(64);
  expect_flat_memory(GetParam(), is_xla() ? 20000 : 200000, 1 << 20, [&](int) { (void)f(x, y); });
}

TEST_P(MemoryReports, numbers_and_results_fed_back_through_the_host_leave_memory_flat) {
  const auto identity = jit([](Tensor x) { return x; }, options());
  std::vector<float> values(100000);
  expect_flat_memory(GetParam(), 300, 4 << 20, [&](int i) {
    values[0] = static_cast<float>(i);
    values = values_of(identity(tensor(values)));
  });
  const auto add_number = jit([](Tensor x, Tensor k) { return x + k; }, options());
  const Tensor x = vector_of(4);
  expect_flat_memory(GetParam(), 5000, 1 << 20, [&](int i) { (void)add_number(x, i * 0.5f); });
}

TEST_P(MemoryReports, functions_that_are_made_called_and_dropped_leave_nothing_behind) {
  const Tensor x = on_device(iota({1024, 12}, {.type = f32}));
  expect_flat_memory(GetParam(), is_xla() ? 20 : 200, 4 << 20, [&](int) {
    const auto f = jit(
        [](Tensor t) {
          std::vector<Tensor> parts;
          for (int i = 0; i < 3; ++i)
            parts.push_back(slice(t, {0, 4 * i}, {1024, 4}) * static_cast<float>(i));
          return std::pair(concatenate(parts, {.axis = 1}), parts);
        },
        options());
    const auto [joined, parts] = f(x);
    EXPECT_EQ(parts[1].to_flat_list<float>()[0], 4);
  });
}

TEST_P(MemoryReports, a_scope_can_be_measured_by_live_and_peak_bytes) {
  const auto f = jit([](Tensor x) { return tanh(x) * 2; }, options());
  const Tensor x = vector_of(kMillion);
  f(x);
  const std::size_t start = memory::stats(GetParam()).live;
  memory::reset_peak(GetParam());
  EXPECT_EQ(memory::stats(GetParam()).peak, start);
  {
    const Tensor y = f(x);
    EXPECT_EQ(memory::stats(GetParam()).live, start + kMillionBytes);
    EXPECT_GE(memory::stats(GetParam()).peak, start + kMillionBytes);
  }
  EXPECT_EQ(memory::stats(GetParam()).live, start);
  EXPECT_GE(memory::stats(GetParam()).peak, start + kMillionBytes);
  error_of<ArgumentError>([] { (void)memory::stats("nonesuch"); });
}

TEST_P(MemoryReports, what_a_scope_made_is_freed_at_its_end_on_any_thread) {
  const std::size_t before = memory::stats(GetParam()).live;
  for (int round = 0; round < 20; ++round) {
    const Tensor big = vector_of(kMillion);
    EXPECT_EQ(memory::stats(GetParam()).live, before + kMillionBytes);
  }
  EXPECT_EQ(memory::stats(GetParam()).live, before);
  std::thread([&] {
    for (int round = 0; round < 20; ++round) {
      const Tensor big = vector_of(kMillion);
      EXPECT_EQ(memory::stats(GetParam()).live, before + kMillionBytes);
    }
  }).join();
  EXPECT_EQ(memory::stats(GetParam()).live, before);
}

TEST(MemoryReportsOfHost, dropped_memory_is_cached_and_trim_gives_it_back) {
  memory::trim();
  const std::size_t before = memory::stats().live;
  constexpr std::int64_t kLarge = 16 << 20;
  { const Tensor big = full({kLarge}, 1.f); }
  EXPECT_EQ(memory::stats().live, before);
  const std::uint64_t made = memory::stats().allocations;
  { const Tensor again = full({kLarge}, 2.f); }
  EXPECT_GT(memory::stats().allocations, made);
  const std::size_t cached = memory::stats().cached;
  const std::int64_t resident = resident_bytes();
  EXPECT_GE(memory::trim(), cached);
  EXPECT_EQ(memory::stats().cached, 0u);
  if (!test::kSanitized && cached > 0) {
    EXPECT_LE(resident_bytes(), resident - static_cast<std::int64_t>(cached) / 2);
  }
}

TEST_P(MemoryReports, accumulating_gradients_costs_no_memory_however_many_batches) {
  const auto add_gradient = jit(
      [](Tensor sum_of, Tensor w, Tensor x) {
        return sum_of + grad([](Tensor v, Tensor at) { return sum(tanh(dot(at, v))); })(w, x);
      },
      options("accumulate"));
  const Tensor w = on_device(reshape(iota({256 * 256}, {.type = f32}) * 1e-6f, {256, 256}));
  const Tensor x = on_device(reshape(iota({16 * 256}, {.type = f32}) * 1e-4f, {16, 256}));
  const auto peak_of = [&](int batches) {
    Tensor total = on_device(zeros({256, 256}));
    total = add_gradient(donatable(total), w, x);
    const std::size_t before = memory::stats(GetParam()).live;
    memory::reset_peak(GetParam());
    for (int i = 0; i < batches; ++i) total = add_gradient(donatable(total), w, x);
    return memory::stats(GetParam()).peak - before;
  };
  const std::size_t one = peak_of(1);
  EXPECT_EQ(peak_of(2), one);
  EXPECT_EQ(peak_of(32), one);
}

TEST_P(MemoryReports, update_and_accumulation_chosen_on_the_host_are_both_in_place) {
  using State = std::array<Tensor, 3>;  // parameters, momentum, accumulated gradients
  const auto accumulate = jit(
      [](State s, Tensor g) {
        return State{s[0], s[1], s[2] + g};
      },
      options("accumulate"));
  const auto update = jit(
      [](State s, Tensor g) {
        const Tensor m = 0.9f * s[1] + s[2] + g;
        return State{s[0] - 0.1f * m, m, zeros({kMillion})};
      },
      options("update"));
  State s{vector_of(kMillion), vector_of(kMillion), on_device(zeros({kMillion}))};
  const Tensor g = vector_of(kMillion);
  const std::size_t before = memory::stats(GetParam()).live;
  for (int k = 0; k < 8; ++k) {
    memory::reset_peak(GetParam());
    s = k % 4 == 3 ? update(donatable(s), g) : accumulate(donatable(s), g);
    EXPECT_EQ(memory::stats(GetParam()).live, before);
    // XLA may clear an array only by making another: it cannot promise to read the old one first.
    const std::size_t cleared = is_xla() && k % 4 == 3 ? kMillionBytes : 0;
    EXPECT_LE(memory::stats(GetParam()).peak - before, cleared + 4096)
        << k << "\n"
        << update.donation_report().to_string();
  }
}

TEST_P(MemoryReports, forward_passes_without_a_backward_pass_leave_nothing_behind) {
  const Tensor w1 = on_device(ones({4, 512})), w2 = on_device(ones({512, 4}));
  const Tensor x = on_device(ones({8, 4}));
  const auto forward = [](Tensor a, Tensor b, Tensor in) { return dot(tanh(dot(in, a)), b); };
  const auto jitted = jit(forward, options());
  expect_flat_memory(GetParam(), 1000, 2 << 20, [&](int) {
    (void)jitted(w1, w2, x);
    (void)forward(w1, w2, x);
  });
  // The value of a differentiated function, its gradient thrown away.
  const auto both = jit(
      value_and_grad([](Tensor a, Tensor b, Tensor in) { return sum(dot(tanh(dot(in, a)), b)); }),
      options());
  expect_flat_memory(GetParam(), 1000, 2 << 20, [&](int) { (void)both(w1, w2, x).first; });
}

TEST_P(MemoryReports, a_differentiated_eager_forward_pass_that_throws_leaves_nothing_behind) {
  const Tensor x = vector_of(4096);
  expect_flat_memory(GetParam(), 200, 2 << 20, [&](int) {
    EXPECT_THROW(grad([](Tensor t) -> Tensor {
                   const Tensor y = tanh(t) * t;
                   throw std::runtime_error("of the test");
                 })(x),
                 std::runtime_error);
  });
}

TEST_P(MemoryReports, slices_of_a_large_tensor_are_freed_each_step_and_do_not_keep_it) {
  const auto pick = jit([](Tensor t, Tensor rows) { return take(t, rows) * 2; }, options());
  const std::size_t start = memory::stats(GetParam()).live;
  Tensor kept;
  {
    const Tensor big = on_device(reshape(iota({4096 * 256}, {.type = f32}), {4096, 256}));
    expect_flat_memory(GetParam(), 500, 2 << 20, [&](int i) {
      (void)pick(big, tensor({i, i + 1, i + 2}));
      (void)slice(big, {i, 0}, {2, 256});
    });
    kept = slice(big, {7, 0}, {1, 256});
  }
  EXPECT_LE(memory::stats(GetParam()).live, start + 2 * 256 * sizeof(float));
  EXPECT_EQ(values_of(kept)[1], 7 * 256 + 1);
}

TEST_P(MemoryReports, ten_thousand_optimizer_steps_leave_memory_flat) {
  using Params = std::pair<Tensor, Tensor>;
  const auto loss = [](Params p, Tensor x, Tensor y) {
    return mean(pow(dot(x, p.first) + p.second - y, 2));
  };
  const auto step = jit(
      [=](Params p, Tensor x, Tensor y) {
        const Params g = grad(loss)(p, x, y);
        return Params{p.first - 0.01f * g.first, p.second - 0.01f * g.second};
      },
      options("sgd"));
  const Tensor x = on_device(reshape(iota({12}, {.type = f32}) * 0.1f, {4, 3})), y = vector_of(4);
  for (const bool donate : {false, true}) {
    Params p{on_device(zeros({3})), on_device(zeros({}))};
    expect_flat_memory(GetParam(), is_xla() ? 3000 : 10000, 1 << 20,
                       [&](int) { p = donate ? step(donatable(p), x, y) : step(p, x, y); });
    EXPECT_TRUE(std::isfinite(p.second.to_number<float>()));
  }
}

TEST_P(MemoryReports, an_intermediate_that_is_read_again_shows_in_the_report_and_the_peak) {
  // x0 -> exp -> eight reads of single elements -> product with the whole.
  const auto f = jit(
      [](Tensor x0) {
        const Tensor xi = exp(x0);
        Tensor s = slice(xi, {0}, {1});
        for (std::int64_t i = 1; i < 8; ++i) s = s + slice(xi, {i * kMillion / 8}, {1});
        return xi * s;
      },
      options());
  const auto input = [&] { return on_device(iota({kMillion}, {.type = f32}) * 1e-6f); };
  f(donatable(input()));
  Tensor x = input();
  const std::size_t before = memory::stats(GetParam()).live;
  memory::reset_peak(GetParam());
  x = f(donatable(x));
  const DonationReport report = f.donation_report();
  const std::size_t growth = memory::stats(GetParam()).peak - before;
  EXPECT_LE(growth, static_cast<std::size_t>(report.result_bytes - report.aliased_bytes +
                                             report.temporary_bytes))
      << report.to_string();
  EXPECT_LE(growth, kMillionBytes + 4096) << report.to_string();
  if (!is_xla()) {
    EXPECT_LE(growth, 4096u) << report.to_string() << f.explain();
  }
}

}  // namespace nx::test
