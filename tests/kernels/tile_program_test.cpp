// Tile programs on their own: extents, reductions, and results written over operands.
#include "kernels/tile_program.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

namespace nx::kernels {
namespace {

void add(const TileCall& c) {
  for (std::size_t i = 0; i < c.count; ++i)
    static_cast<float*>(c.out)[i] =
        static_cast<const float*>(c.in[0])[i] + static_cast<const float*>(c.in[1])[i];
}
void subtract(const TileCall& c) {
  for (std::size_t i = 0; i < c.count; ++i)
    static_cast<float*>(c.out)[i] =
        static_cast<const float*>(c.in[0])[i] - static_cast<const float*>(c.in[1])[i];
}
void sum_rows(const void* in, std::size_t rows, std::size_t columns, void* acc) {
  for (std::size_t i = 0; i < rows * columns; ++i)
    static_cast<float*>(acc)[i / columns] += static_cast<const float*>(in)[i];
}
ReductionKernels sum() {
  ReductionKernels reduction;
  reduction.combine = add;
  reduction.row = sum_rows;
  return reduction;
}
std::vector<float> counted(std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}
void run(const TileProgram& program, std::vector<const void*> in, std::vector<void*> out,
         int threads = 1) {
  std::vector<std::byte> scratch(program.scratch_bytes() + 64);
  void* at = scratch.data();
  std::size_t room = scratch.size();
  at = std::align(64, program.scratch_bytes(), at, room);
  program.run(in.data(), out.data(), at, threads, nullptr);
}

struct Shape {
  std::int64_t rows, columns;
};
const Shape kShapes[] = {{1, 1},    {1, 10},    {128, 10}, {7, 300},   {3, 1024},
                         {2, 1025}, {1, 40000}, {5000, 3}, {100, 2000}};

TEST(TileProgram, row_and_column_operands_are_repeated) {
  for (const Shape s : kShapes) {
    const auto full = counted(s.rows * s.columns), row = counted(s.columns),
               column = counted(s.rows);
    TileProgramBuilder b(s.rows, s.columns);
    using Value = TileProgramBuilder::Value;
    const Value x = b.input(Extent::kFull, 4, 0), r = b.input(Extent::kPerColumn, 4, 1),
                c = b.input(Extent::kPerRow, 4, 2), one = b.input(Extent::kScalar, 4, 3);
    Value y = b.apply(add, std::vector<Value>{x, r}, Extent::kFull, 4, 0.1f);
    y = b.apply(subtract, std::vector<Value>{y, c}, Extent::kFull, 4, 0.1f);
    b.store(b.apply(add, std::vector<Value>{y, one}, Extent::kFull, 4, 0.1f), 0);
    const float scalar = 0.5f;
    for (const int threads : {1, 2}) {
      std::vector<float> out(full.size());
      run(b.finish({}), {full.data(), row.data(), column.data(), &scalar}, {out.data()}, threads);
      for (std::int64_t i = 0; i < s.rows * s.columns; ++i)
        ASSERT_EQ(out[i], full[i] + row[i % s.columns] - column[i / s.columns] + scalar)
            << s.rows << "x" << s.columns << " at " << i;
    }
  }
}

TEST(TileProgram, reductions_have_the_same_bits_on_any_number_of_threads) {
  for (const Shape s : kShapes)
    for (const bool rows : {true, false}) {
      std::vector<float> full = counted(s.rows * s.columns);
      for (float& value : full) value = 1.0f / value;
      TileProgramBuilder b(s.rows, s.columns);
      const auto x = b.input(Extent::kFull, 4, 0);
      b.store(rows ? b.reduce_rows(sum(), x) : b.reduce_columns(sum(), x), 0);
      const TileProgram program = b.finish({});
      const auto count = static_cast<std::size_t>(rows ? s.rows : s.columns);
      std::vector<float> one(count), many(count);
      run(program, {full.data()}, {one.data()}, 1);
      for (const int threads : {2, 3}) {
        run(program, {full.data()}, {many.data()}, threads);
        EXPECT_EQ(std::memcmp(one.data(), many.data(), count * 4), 0);
      }
      std::vector<double> exact(count);
      for (std::int64_t i = 0; i < s.rows * s.columns; ++i)
        exact[static_cast<std::size_t>(rows ? i / s.columns : i % s.columns)] += full[i];
      for (std::size_t i = 0; i < count; ++i) ASSERT_NEAR(one[i], exact[i], 1e-4 * exact[i]);
    }
}

TEST(TileProgram, columns_of_groups_have_the_same_bits_on_any_number_of_threads) {
  for (const Shape s : {Shape{1, 1}, {2, 3}, {9, 64}, {128, 128}, {600, 300}, {1500, 1}, {3, 2500}})
    for (const std::int64_t groups : {1, 2, 7, 33}) {
      std::vector<float> full = counted(groups * s.rows * s.columns);
      for (float& value : full) value = 1.0f / value;
      TileProgramBuilder b(groups * s.rows, s.columns);
      const auto x = b.input(Extent::kFull, 4, 0);
      b.store(b.reduce_columns(sum(), x, groups), 0);
      // Registers that are used again within a tile are not those of the columns.
      const std::vector<TileProgramBuilder::Value> twice{x, x};
      const auto y = b.apply(add, twice, Extent::kFull, 4, 0.1f);
      b.store(b.reduce_columns(sum(), y, groups), 1);
      b.store(b.apply(subtract, std::vector{y, x}, Extent::kFull, 4, 0.1f), 2);
      const TileProgram program = b.finish({});
      const auto count = static_cast<std::size_t>(groups * s.columns);
      std::vector<float> one(count), doubled(count), many(count), same(full.size());
      run(program, {full.data()}, {one.data(), doubled.data(), same.data()}, 1);
      EXPECT_EQ(full, same);
      for (const int threads : {2, 3}) {
        run(program, {full.data()}, {many.data(), doubled.data(), same.data()}, threads);
        EXPECT_EQ(std::memcmp(one.data(), many.data(), count * 4), 0);
      }
      std::vector<double> exact(count);
      for (std::int64_t i = 0; i < groups * s.rows * s.columns; ++i)
        exact[static_cast<std::size_t>(i / (s.rows * s.columns) * s.columns + i % s.columns)] +=
            full[i];
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_NEAR(one[i], exact[i], 1e-4 * exact[i]);
        ASSERT_NEAR(doubled[i], 2 * exact[i], 2e-4 * exact[i]);
      }
    }
}

TEST(TileProgram, results_may_lie_on_operands_that_are_read_later) {
  for (const std::int64_t n : {5, 1000, 5000}) {
    auto a = counted(n), b = counted(n);
    for (float& value : b) value *= 3;
    const auto a0 = a, b0 = b;
    TileProgramBuilder builder(1, n);
    using Value = TileProgramBuilder::Value;
    const Value x = builder.input(Extent::kFull, 4, 0), y = builder.input(Extent::kFull, 4, 1);
    builder.store(builder.apply(add, std::vector<Value>{x, y}, Extent::kFull, 4, 0.1f), 0);
    builder.store(builder.apply(subtract, std::vector<Value>{x, y}, Extent::kFull, 4, 0.1f), 1);
    const SlotAlias aliases[] = {{0, 0}, {1, 1}};
    run(builder.finish(aliases), {a.data(), b.data()}, {a.data(), b.data()});
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i], a0[i] + b0[i]);
      ASSERT_EQ(b[i], a0[i] - b0[i]);
    }
  }
}

TEST(TileProgram, tiles_of_several_rows_begin_with_a_cache_line) {
  for (const Shape s : {Shape{128, 90}, {1000, 3}, {128, 10}, {50, 63}, {300, 32}}) {
    TileProgramBuilder builder(s.rows, s.columns);
    using Value = TileProgramBuilder::Value;
    const Value x = builder.input(Extent::kFull, 4, 0),
                row = builder.input(Extent::kPerColumn, 4, 1);
    builder.store(builder.apply(add, std::vector<Value>{x, row}, Extent::kFull, 4, 0.1f), 0);
    const TileProgram program = builder.finish({});
    EXPECT_LT(program.tile_rows(), s.rows);
    EXPECT_EQ(program.tile_rows() * s.columns % 16, 0) << s.rows << " x " << s.columns;
  }
}

TEST(TileProgram, the_reduction_of_a_row_within_a_tile_can_be_used_at_once) {
  const Shape s{300, 7};
  const auto full = counted(s.rows * s.columns);
  TileProgramBuilder b(s.rows, s.columns);
  using Value = TileProgramBuilder::Value;
  const Value x = b.input(Extent::kFull, 4, 0);
  const Value total = b.reduce_rows(sum(), x);
  b.store(b.apply(subtract, std::vector<Value>{x, total}, Extent::kFull, 4, 0.1f), 0);
  b.store(b.apply(add, std::vector<Value>{total, total}, Extent::kPerRow, 4, 0.1f), 1);
  std::vector<float> out(full.size()), twice(static_cast<std::size_t>(s.rows));
  run(b.finish({}), {full.data()}, {out.data(), twice.data()});
  for (std::int64_t r = 0; r < s.rows; ++r) {
    float expected = 0;
    for (std::int64_t c = 0; c < s.columns; ++c) expected += full[r * s.columns + c];
    EXPECT_EQ(twice[r], 2 * expected);
    EXPECT_EQ(out[r * s.columns], full[r * s.columns] - expected);
  }
}

}  // namespace
}  // namespace nx::kernels
