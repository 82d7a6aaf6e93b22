// Reports about gradients: clip and its bounds, ties, kinks, constants beside traced values, loops.
#include <cmath>
#include <functional>
#include <limits>

#include "reports/report.h"

namespace nx::test {

REPORT_SUITE(AutodiffReports);

std::vector<float> rounded(const Tensor& t) {
  std::vector<float> values = values_of(t);
  for (float& v : values) v = std::round(v * 1e5f) / 1e5f;
  return values;
}

TEST_P(AutodiffReports, clip_multiplies_the_upstream_gradient_once) {
  const auto of_mean = jit(grad([](Tensor x) { return mean(clip(x, 0, 1)); }), options());
  EXPECT_EQ(values_of(of_mean(tensor({.2f, .5f, 2.f, -1.f}))),
            (std::vector<float>{.25f, .25f, 0, 0}));
  for (const float upstream : {-3.f, 0.5f, 7.f}) {
    const auto scaled =
        jit(grad([=](Tensor x) { return sum(upstream * clip(x, 0, 1)); }), options());
    EXPECT_EQ(values_of(scaled(tensor({.5f}))), std::vector<float>{upstream});
    EXPECT_EQ(values_of(scaled(tensor({1.5f}))), std::vector<float>{0});
  }
}

TEST_P(AutodiffReports, the_bounds_of_clip_have_gradients) {
  const Tensor x = on_device(tensor({.4f, .1f, -.3f, .2f}));
  // Above n: .4 and .2 give +1 each; below -n: -.3 gives -1.
  const auto both = jit(grad([&](Tensor n) { return sum(clip(x, -n, n)); }), options());
  EXPECT_EQ(rounded(both(on_device(tensor(.11f)))), std::vector<float>{1});
  EXPECT_EQ(values_of(grad([&](Tensor n) { return sum(clip(x, -n, n)); })(tensor(.11f))),
            std::vector<float>{1});
  const auto low = jit(grad([&](Tensor n) { return sum(2 * clip(x, n, 9)); }), options());
  EXPECT_EQ(rounded(low(on_device(tensor(.15f)))), std::vector<float>{4});  // .1 and -.3
  const auto high = jit(grad([&](Tensor n) { return sum(2 * clip(x, -9, n)); }), options());
  EXPECT_EQ(rounded(high(on_device(tensor(.15f)))), std::vector<float>{4});  // .4 and .2
}

TEST_P(AutodiffReports, a_loop_whose_body_contains_the_variable_has_the_right_gradient) {
  const auto power = [](int n, bool divide) {
    return [=](Tensor x) {
      Tensor acc = ones({});
      for (int i = 0; i < n; ++i) acc = divide ? acc / x : acc * x;
      return acc;
    };
  };
  const Tensor half = on_device(tensor(.5f));
  for (int n = 1; n < 8; ++n) {
    const float up = jit(grad(power(n, false)), options())(half).to_number<float>();
    EXPECT_FLOAT_EQ(up, static_cast<float>(n * std::pow(.5, n - 1))) << n;
    const float down = jit(grad(power(n, true)), options())(half).to_number<float>();
    EXPECT_FLOAT_EQ(down, static_cast<float>(-n * std::pow(.5, -n - 1))) << n;
  }
  // d/dx of x^2, x^3 and x^-3 at 1/2.
  EXPECT_FLOAT_EQ(grad(power(2, false))(half).to_number<float>(), 1.f);
  EXPECT_FLOAT_EQ(grad(power(3, false))(half).to_number<float>(), .75f);
  EXPECT_FLOAT_EQ(grad(power(3, true))(half).to_number<float>(), -48.f);
}

TEST_P(AutodiffReports, tensors_of_the_device_beside_traced_ones_are_constants) {
  const Tensor data = on_device(reshape(iota({6}, {.type = f32}), {2, 3}));
  const Tensor index = on_device(tensor({1, 0, 1}));
  const Tensor mask = on_device(tensor({{1, 0, 1}, {0, 1, 0}}, {.type = u8}));
  using Function = std::function<Tensor(Tensor)>;
  const std::pair<const char*, Function> functions[] = {
      {"pad with a constant",
       [&](Tensor k) {
         return pad(k, sum(data), {{1, 1}, {0, 2}});
       }},
      {"pad a constant",
       [&](Tensor k) {
         return pad(data, sum(k), {{1, 1, 1}, {0, 2}});
       }},
      {"dot", [&](Tensor k) { return dot(transpose(data), k); }},
      {"concatenate",
       [&](Tensor k) {
         return concatenate({data, k, data});
       }},
      {"take", [&](Tensor k) { return take(k, index) * 2; }},
      {"take of a constant", [&](Tensor k) { return take(data, index) * sum(k); }},
      {"select", [&](Tensor k) { return select(mask, k, data); }},
      {"select by itself", [&](Tensor k) { return select(k > 2.f, k * 3, data); }},
      {"clip", [&](Tensor k) { return clip(k, min(sum(data), 1), 4); }},
      {"put_slice",
       [&](Tensor k) {
         return put_slice(data, {0, 1}, slice(k, {0, 0}, {2, 2}));
       }},
      {"indexed_add",
       [&](Tensor k) {
         return indexed_add(data, tensor({{0, 1}, {0, 1}}), slice(reshape(k, {6}), {0}, {2}));
       }},
      {"divide", [&](Tensor k) { return data / (k + 1.f); }},
  };
  const Tensor k = on_device(reshape(iota({6}, {.type = f32}) * 0.5f + 0.7f, {2, 3}));
  for (const auto& [name, f] : functions) {
    const auto loss = [f = f](Tensor t) {
      const Tensor y = f(t);
      const Tensor weights = reshape(sin(iota({y.size()}, {.type = f32}) + 1.f), Dims(y.shape()));
      return sum(y * weights);  // a gradient that is not uniform
    };
    std::vector<float> traced, eager;
    ASSERT_NO_THROW(traced = values_of(jit(grad(loss), options())(k))) << name;
    ASSERT_NO_THROW(eager = values_of(grad(loss)(k))) << name;
    // Central differences at each element.
    const std::vector<float> at = values_of(k);
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto shifted = [&](float by) {
        std::vector<float> moved = at;
        moved[i] += by;
        return loss(reshape(tensor(moved), {2, 3})).to_number<double>();
      };
      const double slope = (shifted(1e-2f) - shifted(-1e-2f)) / 2e-2;
      EXPECT_NEAR(traced[i], slope, 2e-2 * (1 + std::abs(slope))) << name << " " << i;
      EXPECT_NEAR(eager[i], traced[i], 1e-4 * (1 + std::abs(slope))) << name << " " << i;
    }
  }
}

TEST_P(AutodiffReports, ties_are_split_evenly_and_relu_is_flat_at_its_kink) {
  const auto at_zero = [&](auto f) {
    return jit(grad(f), options())(on_device(tensor(0.f))).template to_number<float>();
  };
  EXPECT_EQ(at_zero([](Tensor x) { return max(x, 0); }), .5f);
  EXPECT_EQ(at_zero([](Tensor x) { return max(0, x); }), .5f);
  EXPECT_EQ(at_zero([](Tensor x) { return min(x, 0); }), .5f);
  EXPECT_EQ(at_zero([](Tensor x) { return select(x > 0.f, x, 0.f); }), 0.f);
  EXPECT_EQ(at_zero([](Tensor x) { return nn::relu(x); }), 0.f);
  EXPECT_EQ(at_zero([](Tensor x) { return abs(x); }), 1.f);
  for (const int equal : {1, 2, 3, 5, 33}) {
    const auto largest = jit(grad([](Tensor x) { return reduce_max(x); }), options());
    const auto smallest = jit(grad([](Tensor x) { return reduce_min(x); }), options());
    const Tensor x = on_device(full({equal}, 2.f));
    for (const Tensor& g : {largest(x), smallest(x)})
      for (const float share : values_of(g))
        EXPECT_FLOAT_EQ(share, 1.f / static_cast<float>(equal));
  }
}

TEST_P(AutodiffReports, a_spread_of_zero_has_a_gradient_of_zero) {
  using Measure = Tensor (*)(const Operand&, const VarianceOptions&);
  for (const Measure measure : {&variance, &standard_deviation})
    for (const int count : {1, 2, 3, 17})
      for (const std::int64_t ddof : {0, 1}) {
        if (ddof == count) continue;  // divides by 0
        const auto f = [=](Tensor t) { return sum(measure(t, {.axes = 1, .ddof = ddof})); };
        // Rows of 1 and a row of different elements, which keeps its gradient.
        const Tensor flat = full({2, count}, 1.f), steps = reshape(iota({count}), {1, count});
        const Tensor x = on_device(concatenate({flat, as_type(steps, f32)}));
        const auto got = values_of(jit(grad(f), options())(x));
        const auto eager = values_of(grad(f)(x));
        const auto n = static_cast<std::size_t>(count);
        for (std::size_t i = 0; i < 2 * n; ++i) EXPECT_EQ(got[i], 0) << count;
        for (std::size_t i = 0; i < 2 * n; ++i) EXPECT_EQ(eager[i], 0) << count;
        if (n == 1) {
          EXPECT_EQ(got[2], 0);
        } else {
          EXPECT_GT(got[3 * n - 1], 0) << count;
        }
      }
}

TEST_P(AutodiffReports, lengths_of_zero_have_finite_gradients) {
  // A vector of zeros: y / eps is the slope of y x / max(|y| |x|, eps) there.
  const Tensor y = on_device(tensor({{3.f, 4.f}, {0.f, 0.f}}));
  const auto loss = [](Tensor t, Tensor p) {
    return sum(nn::cosine_similarity(t, p, {.eps = .5}));
  };
  const auto of_zeros = jit(grad([&](Tensor p) { return loss(y, p); }), options());
  EXPECT_EQ(values_of(of_zeros(on_device(zeros({2, 2})))), (std::vector<float>{6, 8, 0, 0}));
  const auto of_targets = jit(grad([&](Tensor t) { return loss(t, y); }), options());
  EXPECT_EQ(values_of(of_targets(on_device(zeros({2, 2})))), (std::vector<float>{6, 8, 0, 0}));
}

TEST_P(AutodiffReports, a_row_of_minus_infinity_takes_no_part_in_logsumexp) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  const Tensor x = on_device(tensor({{kNothing, kNothing}, {0.f, kNothing}, {1.f, 1.f}}));
  using Function = Tensor (*)(Tensor);
  for (const Function f : {Function([](Tensor t) { return logsumexp(t, {.axes = 1}); }),
                           Function([](Tensor t) { return nn::log_sumexp(t); })}) {
    const auto values = values_of(jit(f, options())(x));
    EXPECT_EQ(values[0], kNothing);
    EXPECT_EQ(values[1], 0);
    const auto loss = [=](Tensor t) { return sum(f(t)); };
    const std::vector<float> expected{0, 0, 1, 0, .5f, .5f};
    EXPECT_EQ(rounded(jit(grad(loss), options())(x)), expected);
    EXPECT_EQ(rounded(grad(loss)(x)), expected);
  }
  EXPECT_EQ(nn::log_sumexp(tensor({-kNothing, 1.f})).to_flat_list<float>()[0], -kNothing);
}

TEST_P(AutodiffReports, clipping_by_a_norm_of_zero_gives_zeros) {
  Tree zero;
  zero["w"] = on_device(zeros({3}));
  const auto update = optim::clip_by_global_norm({.max_norm = 1});
  const optim::State state = update.init(zero);
  const auto step =
      jit([&](Tree g, Tree p) { return update.update(g, state, p).first; }, options());
  EXPECT_EQ(values_of(step(zero, zero).at("w")), (std::vector<float>{0, 0, 0}));
  const auto to_nothing = optim::clip_by_global_norm({.max_norm = 0});
  EXPECT_EQ(values_of(to_nothing.update(zero, state, zero).first.at("w")),
            (std::vector<float>{0, 0, 0}));
}

TEST_P(AutodiffReports, an_update_of_zero_gradients_has_finite_gradients) {
  const Tensor w = on_device(zeros({2})), p = on_device(tensor({1.f, 2.f}));
  const auto gradient = [&](const optim::Update& update, Tensor params) {
    Tree like;
    like["w"] = params;
    const optim::State state = update.init(like);
    return values_of(jit(grad([&](Tensor g) {
                           Tree updates;
                           updates["w"] = g;
                           return sum(update.update(updates, state, like).first.at("w").tensor);
                         }),
                         options())(w));
  };
  const std::vector<float> ones{1, 1};
  EXPECT_EQ(gradient(optim::clip_by_global_norm({.max_norm = 1}), p), ones);
  EXPECT_EQ(gradient(optim::scale_by_trust_ratio(), p), ones);
  EXPECT_EQ(gradient(optim::scale_by_trust_ratio(), w), ones);
}

TEST_P(AutodiffReports, a_batch_of_a_million_rows_has_the_gradient_of_a_small_one) {
  const auto loss = [](Tensor x, Tensor y, Tensor w) {
    return mean(dot(y - x, w) + 0.f * sum(x, {.axes = {1}}));
  };
  const Tensor w = on_device(tensor({1.f, 2.f, 3.f}));
  const auto g = jit(grad(loss), options());
  for (const std::int64_t rows : {1, 7, 1000, 1'000'000}) {
    const Tensor x = on_device(zeros({rows, 3})), y = on_device(ones({rows, 3}));
    const std::vector<float> got = values_of(sum(g(x, y, w), {.axes = {0}}));
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(got[static_cast<std::size_t>(i)], -(i + 1), 1e-2) << rows;
    const auto of_shift = jit(
        grad([=](Tensor s, Tensor a, Tensor b, Tensor v) { return loss(a + s, b, v); }), options());
    const std::vector<float> shift = values_of(of_shift(on_device(zeros({3})), x, y, w));
    for (int i = 0; i < 3; ++i)
      EXPECT_NEAR(shift[static_cast<std::size_t>(i)], -(i + 1), 1e-3) << rows;
  }
}

}  // namespace nx::test
