// Every public function through everything that can be asked of all of them: its examples, jit,
// gradients of first and second order, vectorised axes, donation, the other compiler. Rows are not
// named here; what a row says of itself decides what applies.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "core/body.h"
#include "graph/dispatch.h"
#include "nx/binary.h"
#include "nx/creation.h"
#include "nx/donation.h"
#include "nx/grad.h"
#include "nx/inspect.h"
#include "nx/reduce.h"
#include "nx/type.h"
#include "ops/rows.h"
#include "ops/sweep_compare.h"

namespace nx::ops {
namespace {

using detail::Access;

JitOptions host() { return {.compiler = "host", .donation = DonationPolicy::lenient}; }
JitOptions xla() { return {.compiler = "xla", .donation = DonationPolicy::lenient}; }

// -- inputs -------------------------------------------------------------------------------------

struct Draw {
  std::uint64_t state = 88172645463325252u;
  double next() {  // in [0, 1), xorshift
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<double>(state >> 11) * 0x1p-53;
  }
};

bool is_smooth_input(const Tensor& t) {
  if (!is_float(t.type())) return false;
  for (const double v : t.to_flat_list<double>())
    if (!std::isfinite(v)) return false;
  return true;
}

Tensor f64_like(const Tensor& like, const std::vector<double>& values) {
  const auto& body = Access::checked(like, "sweep");
  Tensor made = graph::new_tensor(DType::f64, body.dims, body.labels);
  std::copy(values.begin(), values.end(), graph::data_of<double>(made));
  return made;
}

/// The example with its float tensors in f64, moved a little off the round numbers that people
/// choose (where a maximum has ties and |x| a corner); for elementwise functions drawn evenly within
/// the range of the row's accuracy.
std::vector<Value> smooth_arguments(const FunctionRow& row, const Example& example) {
  std::vector<Value> args = example.args;
  Draw draw;
  const double low = row.accuracy->low, high = row.accuracy->high;
  const double middle = (low + high) / 2, half = std::min((high - low) / 2, 2.0) * 0.9;
  for (Value& arg : args)
    for_each_tensor(arg, [&](Tensor& t) {
      if (!is_smooth_input(t)) return;
      std::vector<double> values = t.to_flat_list<double>();
      for (double& v : values)
        v = row.elementwise ? middle + half * (2 * draw.next() - 1) : v + 0.01 + 0.1 * draw.next();
      t = f64_like(t, values);
    });
  return args;
}

std::vector<Tensor> smooth_leaves(const std::vector<Value>& args) {
  std::vector<Tensor> leaves;
  for (const Value& arg : args)
    for (const Tensor& t : tensors_of(arg))
      if (t.type() == DType::f64) leaves.push_back(t);
  return leaves;
}

std::vector<Value> with_leaves(std::vector<Value> args, const std::vector<Tensor>& leaves) {
  std::size_t next = 0;
  for (Value& arg : args)
    for_each_tensor(arg, [&](Tensor& t) {
      if (t.type() == DType::f64) t = leaves[next++];
    });
  return args;
}

/// A scalar of a result: its float elements weighted by numbers that are all different, so that a
/// gradient that ignores its upstream is found out.
Tensor weighted(const Value& result) {
  Tensor total = tensor(0.0, {.type = DType::f64});
  for (const Tensor& t : tensors_of(result)) {
    if (!is_float(t.type())) continue;
    const auto& dims = Access::checked(t, "sweep").dims;
    const Tensor weights = add(multiply(iota(dims, {.type = DType::f64}), 0.37), 0.61);
    const Tensor plain = Access::with_labels(t, {}, {});
    total = add(total, sum(multiply(as_type(plain, DType::f64), weights)));
  }
  return total;
}

bool has_float(const Value& result) {
  for (const Tensor& t : tensors_of(result))
    if (is_float(t.type()) && !t.is_template()) return true;
  return false;
}

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
  for (const Example& e : (*row.examples)()) {
    const Value eager = (*row.call)(e.args, e.options);
    const Value traced = run_traced(*row.call, e.args, e.options, host());
    expect_same_bits(eager, traced);
  }
}

void declares_the_shape_it_has(const FunctionRow& row) {
  for (const Example& e : (*row.examples)()) {
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
  for (const Example& e : (*row.examples)()) {
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
  for (const Example& e : (*row.examples)()) {
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
  for (const Example& e : (*row.examples)()) {
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
  for (const Example& e : (*row.examples)()) {
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
  for (const Example& e : (*row.examples)())
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
