// Single operations: operands that repeat, and what kernels report.
#include "program.h"

namespace nx::host_test {
namespace {

std::vector<float> add_eagerly(const std::vector<float>& a, const Dims& a_dims,
                               const std::vector<float>& b, const Dims& b_dims, const Dims& dims) {
  std::vector<float> out(static_cast<std::size_t>(element_count(dims)));
  const host::EagerInput in[] = {{a.data(), DType::f32, a_dims}, {b.data(), DType::f32, b_dims}};
  host::run_eager_elementwise(kAdd, in, {out.data(), DType::f32, dims}, nullptr);
  return out;
}

/// Element `flat` of an array of `dims` repeated to `to`.
float repeated_at(const std::vector<float>& x, const Dims& dims, const Dims& to,
                  std::int64_t flat) {
  std::int64_t at = 0, step = 1;
  for (std::size_t a = to.size(); a-- > 0;) {
    const std::int64_t index = flat % to[a];
    flat /= to[a];
    const std::size_t shift = to.size() - dims.size();
    if (a < shift) continue;
    if (dims[a - shift] != 1) at += index * step;
    step *= dims[a - shift];
  }
  return x[static_cast<std::size_t>(at)];
}

TEST(HostEager, operands_repeat_along_missing_axes_and_axes_of_size_one) {
  const Dims shapes[][2] = {
      {{8}, {8}},          {{8}, {}},           {{}, {8}},
      {{128, 10}, {10}},   {{10}, {128, 10}},   {{128, 10}, {128, 1}},
      {{128, 1}, {1, 10}}, {{3, 1, 5}, {4, 1}}, {{700, 3}, {1, 3}},
      {{2, 600}, {600}},   {{2, 2000}, {2000}}, {{400, 300}, {300}},
      {{4, 7, 6}, {7, 1}}, {{0, 3}, {3}},       {{1, 1}, {1}},
      {{60000}, {1}},      {{9, 50, 4}, {4}},   {{5, 6, 4}, {6, 4}},
  };
  for (const auto& [a_dims, b_dims] : shapes) {
    const std::size_t rank = std::max(a_dims.size(), b_dims.size());
    Dims dims(rank, 1);
    for (const Dims* d : {&a_dims, &b_dims})
      for (std::size_t i = 0; i < d->size(); ++i)
        if ((*d)[i] != 1) dims[rank - d->size() + i] = (*d)[i];
    const auto a = random_floats(element_count(a_dims), 1),
               b = random_floats(element_count(b_dims), 2);
    const auto out = add_eagerly(a, a_dims, b, b_dims, dims);
    for (std::int64_t i = 0; i < element_count(dims); ++i)
      ASSERT_EQ(out[static_cast<std::size_t>(i)],
                repeated_at(a, a_dims, dims, i) + repeated_at(b, b_dims, dims, i))
          << to_string(a_dims) << to_string(b_dims) << " at " << i;
  }
}

TEST(HostEager, a_kernel_reports_its_first_error) {
  const OpRow failing =
      make_row("failing", same_type,
               graph::ElementwiseRule{[](std::span<const DType>, DType) -> kernels::TileKernel {
                 return [](const TileCall& call) {
                   if (call.status) call.status->set(kernels::KernelError::kDivisionByZero);
                 };
               }});
  float x = 0, y = 0;
  const host::EagerInput in[] = {{&x, DType::f32, {}}};
  const host::EagerOutput out[] = {{&y, DType::f32, {}}};
  kernels::KernelStatus status;
  host::run_eager(failing, in, {}, out, &status);
  EXPECT_EQ(status.error(), kernels::KernelError::kDivisionByZero);
}

TEST(HostEager, a_type_without_kernel_is_refused_by_name) {
  std::int64_t x = 0;
  const host::EagerInput in[] = {{&x, DType::s64, {}}};
  const host::EagerOutput out[] = {{&x, DType::s64, {}}};
  EXPECT_THROW(host::run_eager(kNeg, in, {}, out, nullptr), UnsupportedError);
}

TEST(HostEager, prepared_kernels_are_kept_and_the_cache_is_bounded) {
  for (int round = 0; round < 2; ++round)
    for (std::int64_t n = 1; n < 1500; n += round ? 100 : 1) {
      const std::vector<float> x(static_cast<std::size_t>(2 * n), 1.0f);
      std::vector<float> out(2);
      const host::EagerInput in[] = {{x.data(), DType::f32, {2, n}}};
      const host::EagerOutput results[] = {{out.data(), DType::f32, {2}}};
      host::run_eager(kSum, in, Attrs::of(graph::ReduceAttrs{{1}}), results, nullptr);
      ASSERT_EQ(out[1], static_cast<float>(n));
    }
}

}  // namespace
}  // namespace nx::host_test
