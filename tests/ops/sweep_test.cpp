// Every public function through everything that can be asked of all of them: its examples, jit,
// gradients of first and second order, vectorised axes, donation, the other compiler. Rows are not
// named here; what a row says of itself decides what applies.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "nx/donation.h"
#include "nx/grad.h"
#include "nx/inspect.h"
#include "ops/sweep_inputs.h"
#include "ops/wide_registers.h"

namespace nx::ops {
namespace {

using detail::Access;

JitOptions host() { return {.compiler = "host", .donation = DonationPolicy::lenient}; }
JitOptions xla() { return {.compiler = "xla", .donation = DonationPolicy::lenient}; }

using Loss = std::function<Tensor(const std::vector<Tensor>&)>;

/// Central differences of `loss` against `gradients`, element by element.
void expect_numeric_gradient(const Loss& loss, const std::vector<Tensor>& leaves,
                             const std::vector<Tensor>& gradients) {
  ASSERT_EQ(leaves.size(), gradients.size());
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const auto values = leaves[k].to_flat_list<double>();
    const auto analytic = gradients[k].to_flat_list<double>();
    ASSERT_EQ(values.size(), analytic.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double h = 1e-6 * std::max(1.0, std::abs(values[i]));
      auto moved = leaves;
      auto at = values;
      at[i] = values[i] + h;
      moved[k] = f64_like(leaves[k], at);
      const double above = loss(moved).to_number<double>();
      at[i] = values[i] - h;
      moved[k] = f64_like(leaves[k], at);
      const double below = loss(moved).to_number<double>();
      const double numeric = (above - below) / (2 * h);
      if (!std::isfinite(numeric)) continue;  // outside of the function's domain
      EXPECT_NEAR(analytic[i], numeric, 2e-5 * std::max(1.0, std::abs(numeric)))
          << "leaf " << k << ", element " << i << " at " << values[i];
    }
  }
}

// -- the checks ---------------------------------------------------------------------------------

void gives_its_examples(const FunctionRow& row) {
  const Examples examples = (*row.examples)();
  ASSERT_FALSE(examples.empty());
  for (const Example& e : examples)
    expect_close(e.result, (*row.call)(e.args, e.options), row.accuracy->ulp);
}

void equals_itself_under_jit(const FunctionRow& row) {
  for (const Example& e : examples_of(row)) {
    const Value eager = (*row.call)(e.args, e.options);
    EXPECT_TRUE(are_wide_registers_clean()) << "after the eager call";
    const Value traced = run_traced(*row.call, e.args, e.options, host());
    EXPECT_TRUE(are_wide_registers_clean()) << "after the compiled call";
    expect_same_bits(eager, traced);
  }
}

void declares_the_shape_it_has(const FunctionRow& row) {
  for (const Example& e : examples_of(row)) {
    std::vector<std::string> declared, real;
    const Call call = [&](std::span<const Value> args, const Options& options) {
      Value result = (*row.call)(args, options);
      declared.clear();
      for (const Tensor& t : tensors_of(result)) declared.push_back(to_string(t.type(), t.shape()));
      return result;
    };
    for (const Tensor& t : tensors_of(run_traced(call, e.args, e.options, host())))
      real.push_back(to_string(t.type(), t.shape()));
    EXPECT_EQ(declared, real);
  }
}

void keeps_the_bits_when_donated(const FunctionRow& row) {
  for (const Example& e : examples_of(row)) {
    const Value plain = run_traced(*row.call, e.args, e.options, host());
    std::vector<Value> marked = e.args;
    for (Value& arg : marked)
      for_each_tensor(arg, [](Tensor& t) { t = donatable(clone(t)); });
    const Value donated = run_traced(*row.call, marked, e.options, host());
    expect_same_bits(plain, donated);
    for (const Tensor& t : tensors_of(donated)) EXPECT_FALSE(is_donatable(t));
  }
}

void has_the_gradient_of_differences(const FunctionRow& row) {
  for (const Example& e : examples_of(row)) {
    const auto args = smooth_arguments(row, e);
    const auto leaves = smooth_leaves(args);
    if (leaves.empty() || !has_float((*row.call)(args, e.options))) continue;
    const Loss loss = [&](const std::vector<Tensor>& at) {
      return weighted((*row.call)(with_leaves(args, at), e.options));
    };
    const auto gradients = nx::grad([&](std::vector<Tensor> at) { return loss(at); })(leaves);
    expect_numeric_gradient(loss, leaves, gradients);
  }
}

void has_the_second_gradient_of_differences(const FunctionRow& row) {
  for (const Example& e : examples_of(row)) {
    const auto args = smooth_arguments(row, e);
    const auto leaves = smooth_leaves(args);
    if (leaves.empty() || !has_float((*row.call)(args, e.options))) continue;
    const auto first = nx::grad([&](std::vector<Tensor> at) {
      return weighted((*row.call)(with_leaves(args, at), e.options));
    });
    const Loss loss = [&](const std::vector<Tensor>& at) {
      Value::List list;
      for (const Tensor& t : first(at)) list.push_back(t);
      return weighted(list);
    };
    const auto gradients = nx::grad([&](std::vector<Tensor> at) { return loss(at); })(leaves);
    expect_numeric_gradient(loss, leaves, gradients);
  }
}

/// Where formulas divide 0 by 0 or multiply 0 by infinity, unless somebody thought of it: zeros,
/// ones, elements that are all equal, numbers beyond the range of e^x, a single finite element. The
/// first number is the first element, the second all others.
constexpr double kCorners[][2] = {{0, 0},       {1, 1},         {-1, -1},      {0, 1},
                                  {1, 0},       {0.5, 0.5},     {2, -2},       {1000, 1000},
                                  {-1000, 1000}, {1e10, -1e10}, {0, -INFINITY}};

Tensor filled(const Tensor& like, const double (&corner)[2]) {
  std::vector<double> values(static_cast<std::size_t>(like.size()), corner[1]);
  if (!values.empty()) values[0] = corner[0];
  return f64_like(like, values);
}

bool is_finite(const Value& result) {
  for (const Tensor& t : tensors_of(result))
    if (is_float(t.type()))
      for (const double v : t.to_flat_list<double>())
        if (!std::isfinite(v)) return false;
  return true;
}

/// No element of a gradient is NaN where differences have a limit: none is asked for outside of the
/// domain (powers of a negative base by their exponent) or at a jump (angles at the origin).
void expect_no_nan(const Loss& loss, const std::vector<Tensor>& leaves) {
  const auto gradients = nx::grad([&](std::vector<Tensor> at) { return loss(at); })(leaves);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const auto values = leaves[k].to_flat_list<double>();
    const auto analytic = gradients[k].to_flat_list<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!std::isnan(analytic[i])) continue;
      const auto loss_at = [&](double v) {
        auto moved = leaves;
        auto at = values;
        at[i] = v;
        moved[k] = f64_like(leaves[k], at);
        return loss(moved).to_number<double>();
      };
      // Small enough for the least denominators (1e-6), and never a whole number.
      const double step = 1.37e-9 * std::max(1.0, std::abs(values[i]));
      const double difference = loss_at(values[i] + step) - loss_at(values[i] - step);
      if (!std::isfinite(difference) || std::abs(difference) > 0.1) continue;
      std::string where;
      for (const Tensor& leaf : leaves)
        where += ::testing::PrintToString(leaf.to_flat_list<double>());
      ADD_FAILURE() << "leaf " << k << ", element " << i << " of " << where
                    << ": the gradient is NaN; expected " << difference / (2 * step);
    }
  }
}

void has_a_gradient_wherever_it_is_finite(const FunctionRow& row) {
  for (const Example& e : examples_of(row)) {
    const auto args = smooth_arguments(row, e);
    const auto like = smooth_leaves(args);
    // Infinities are masks of a function's only operand; a product with one has no gradient.
    const std::size_t corners = std::size(kCorners) - (like.size() > 1 ? 1 : 0);
    std::vector<std::size_t> chosen(like.size(), 0);  // counts through the corners of all leaves
    for (std::size_t k = 0; k < chosen.size();) {
      std::vector<Tensor> leaves;
      for (std::size_t i = 0; i < like.size(); ++i)
        leaves.push_back(filled(like[i], kCorners[chosen[i]]));
      const auto call = [&](const std::vector<Tensor>& at) {
        return (*row.call)(with_leaves(args, at), e.options);
      };
      const Value result = call(leaves);
      if (has_float(result) && is_finite(result))
        expect_no_nan([&](const std::vector<Tensor>& at) { return weighted(call(at)); }, leaves);
      for (k = 0; k < chosen.size() && ++chosen[k] == corners; ++k) chosen[k] = 0;
    }
  }
}

/// Two lanes: the tensor and the same elements in reverse order.
Tensor two_lanes(const Tensor& t) {
  const auto& body = Access::checked(t, "sweep");
  const detail::HostRead read(t, "sweep");
  const std::size_t width = byte_size_of(body.type), count = static_cast<std::size_t>(read.count());
  detail::Storage* const storage = graph::dispatch().allocate(2 * count * width);
  auto* const to = static_cast<std::byte*>(storage->data());
  const auto* const from = static_cast<const std::byte*>(read.data());
  std::memcpy(to, from, count * width);
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(to + (2 * count - 1 - i) * width, from + i * width, width);
  Dims dims = body.dims;
  dims.insert(dims.begin(), 2);
  detail::Labels* const labels = detail::make_labels(t.names(), {{Name("lane"), 2}});
  const Tensor made = Access::make_buffer(body.type, dims, storage, labels);
  detail::release_labels(labels);
  return made;
}
Tensor lane_of(const Tensor& t, std::int64_t lane) {
  const auto& body = Access::checked(t, "sweep");
  const detail::HostRead read(t, "sweep");
  const auto bytes = static_cast<std::size_t>(read.count()) * byte_size_of(body.type) / 2;
  detail::Storage* const storage = graph::dispatch().allocate(bytes);
  std::memcpy(storage->data(), static_cast<const std::byte*>(read.data()) + lane * bytes, bytes);
  detail::Labels* const labels = detail::make_labels(t.names(), {});
  const Tensor made =
      Access::make_buffer(body.type, Dims(body.dims.begin() + 1, body.dims.end()), storage, labels);
  detail::release_labels(labels);
  return made;
}

/// The first tensor argument is vectorised, the others are shared by the lanes.
void maps_over_vectorised_axes(const FunctionRow& row) {
  for (const Example& e : examples_of(row)) {
    if (e.args.empty() || e.args[0].as<Tensor>() == nullptr) continue;
    auto args = e.args;
    const Tensor both = two_lanes(*e.args[0].as<Tensor>());
    args[0] = both;
    const Value vectorised = (*row.call)(args, e.options);
    std::vector<std::vector<Tensor>> lanes;
    for (const std::int64_t lane : {0, 1}) {
      args[0] = lane_of(both, lane);
      lanes.push_back(tensors_of((*row.call)(args, e.options)));
    }
    const auto results = tensors_of(vectorised);
    ASSERT_EQ(results.size(), lanes[0].size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      ASSERT_EQ(results[i].vectorized_axes().size(), 1u) << results[i];
      for (const std::int64_t lane : {0, 1})
        expect_close(lanes[static_cast<std::size_t>(lane)][i], lane_of(results[i], lane),
                     row.accuracy->ulp);
    }
  }
}

void agrees_on_both_compilers(const FunctionRow& row) {
  for (const Example& e : examples_of(row))
    expect_close(run_traced(*row.call, e.args, e.options, host()),
                 run_traced(*row.call, e.args, e.options, xla()),
                 2 * row.accuracy->ulp + 2);
}

bool has_xla() {
  static const bool found = [] {
    try {
      nx::jit([](Tensor x) { return x; }, xla())(tensor(1));
      return true;
    } catch (const BackendError&) {
      return false;
    }
  }();
  return found;
}

// -- registration ---------------------------------------------------------------------------------

class RowTest : public ::testing::Test {
 public:
  RowTest(const FunctionRow& row, void (*check)(const FunctionRow&)) : row_(row), check_(check) {}
  void TestBody() override {
    if (check_ == agrees_on_both_compilers && !has_xla())
      GTEST_SKIP() << "no XLA plugin here (scripts/setup gets one)";
    check_(row_);
  }

 private:
  const FunctionRow& row_;
  void (*check_)(const FunctionRow&);
};

void add_test(const FunctionRow& row, const char* name, void (*check)(const FunctionRow&)) {
  const std::string suite = "Sweep/" + std::string(*row.module) + "." + std::string(*row.name);
  ::testing::RegisterTest(suite.c_str(), name, nullptr, nullptr, __FILE__, __LINE__,
                          [&row, check]() -> ::testing::Test* { return new RowTest(row, check); });
}

}  // namespace

void add_tests() {
  for (const FunctionRow* const row : all_rows()) {
    add_test(*row, "gives_its_examples", gives_its_examples);
    if (reads_values(*row)) continue;
    add_test(*row, "equals_itself_under_jit", equals_itself_under_jit);
    add_test(*row, "declares_the_shape_it_has", declares_the_shape_it_has);
    add_test(*row, "keeps_the_bits_when_donated", keeps_the_bits_when_donated);
    add_test(*row, "agrees_on_both_compilers", agrees_on_both_compilers);
    const bool changes_lanes = row->name->find("vectorize") != std::string_view::npos;
    if (*row->accepts != Accepts::kSpecial && !changes_lanes)
      add_test(*row, "maps_over_vectorised_axes", maps_over_vectorised_axes);
    if (!row->differentiable) continue;
    add_test(*row, "has_the_gradient_of_differences", has_the_gradient_of_differences);
    add_test(*row, "has_a_gradient_wherever_it_is_finite", has_a_gradient_wherever_it_is_finite);
    if (row->elementwise)
      add_test(*row, "has_the_second_gradient_of_differences",
               has_the_second_gradient_of_differences);
  }
}

}  // namespace nx::ops

// Rows may be made by initialisers of other files, so tests are added when those have run.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  nx::ops::add_tests();
  return RUN_ALL_TESTS();
}
