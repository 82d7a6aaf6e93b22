// Functions and rows of triangles and diagonals: compositions of views, comparisons and select.
#include "nx/diagonal.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/at.h"
#include "ops/arithmetic.h"
#include "ops/creation.h"
#include "ops/elementwise.h"
#include "ops/families.h"
#include "ops/labels.h"
#include "ops/movement.h"
#include "ops/operand.h"
#include "ops/row_values.h"

namespace nx {

using ops::Plain;
using ops::plain_operand;
using ops::with_labels;

namespace {

/// Column minus row of every element of a matrix.
Tensor diagonal_numbers(std::int64_t rows, std::int64_t columns) {
  const Dims dims{rows, columns};
  return subtract(ops::iota_along(DType::s64, dims, 1), ops::iota_along(DType::s64, dims, 0));
}

/// x where `kept` says so, else 0.
Tensor masked(std::string_view operation, const Operand& operand, std::int64_t k, bool below) {
  const Plain x = plain_operand(operation, operand);
  const Dims dims = ops::dims_of(x.tensor);
  if (x.rank() < 2)
    throw ShapeError(
        operation, fmt::format("expected at least two axes, got {}", to_string(x.dims())), x.where);
  const Tensor number = diagonal_numbers(dims[dims.size() - 2], dims.back());
  const Tensor kept = below ? less_equal(number, k) : greater_equal(number, k);
  const Tensor zero = ops::scalar(Number(0), x.tensor.type());
  return with_labels(select(ops::broadcast_to(kept, dims), x.tensor, zero), x.names, x.vector_axes);
}

/// Where a diagonal runs in the matrix as one row of elements.
struct Run {
  std::int64_t rows = 0, columns = 0, start = 0, length = 0;
  std::int64_t step() const { return columns + 1; }
  std::int64_t end() const { return start + (length - 1) * step() + 1; }
};
Run find_run(std::string_view operation, const Plain& x, std::int64_t offset) {
  const Dims dims = x.dims();
  if (dims.size() < 2)
    throw ShapeError(operation, fmt::format("expected at least two axes, got {}", to_string(dims)),
                     x.where);
  Run run;
  run.rows = dims[dims.size() - 2];
  run.columns = dims.back();
  if (offset <= -run.rows || offset >= run.columns)
    throw ArgumentError(
        operation,
        fmt::format("offset; expected {} to {}, got {}", 1 - run.rows, run.columns - 1, offset),
        x.where);
  run.start = offset >= 0 ? offset : -offset * run.columns;
  run.length = std::min(offset >= 0 ? run.rows : run.rows + offset,
                        offset >= 0 ? run.columns - offset : run.columns);
  return run;
}

/// The sizes of x with `count` last axes replaced by one.
Dims with_last(const Dims& dims, std::size_t count, std::int64_t size) {
  Dims out(dims.begin(), dims.end() - static_cast<std::ptrdiff_t>(count));
  out.push_back(size);
  return out;
}

}  // namespace

Tensor tri(std::int64_t rows, std::int64_t columns, const TriOptions& options) {
  if (rows < 1 || columns < 1)
    throw ShapeError("tri", fmt::format("expected positive sizes, got [{}, {}]", rows, columns));
  return less_equal(diagonal_numbers(rows, columns), options.k);
}

Tensor tril(const Operand& x, const TrilOptions& options) {
  return masked("tril", x, options.k, true);
}

Tensor triu(const Operand& x, const TriuOptions& options) {
  return masked("triu", x, options.k, false);
}

Tensor make_diagonal(const Operand& operand, const MakeDiagonalOptions& options) {
  const Plain x = plain_operand("make_diagonal", operand);
  if (x.rank() != 1)
    throw ShapeError("make_diagonal", fmt::format("expected one axis, got {}", to_string(x.dims())),
                     x.where);
  const std::int64_t k = options.offset, above = std::max<std::int64_t>(k, 0);
  const std::int64_t below = std::max<std::int64_t>(-k, 0);
  const std::int64_t size = x.dims()[0] + above + below;
  // Element j - above of x in every row of column j, then all but the diagonal cleared.
  Dims low(at(x.lead), 0), high = low;
  low.push_back(above);
  high.push_back(below);
  const Dims none(low.size(), 0);
  const Tensor columns = ops::pad_dims(x.tensor, {}, low, high, none);
  const Dims dims = x.with_lead({size, size});
  Dims axes = ops::iota_dims(at(x.lead));
  axes.push_back(x.lead + 1);
  const Tensor kept = ops::broadcast_to(equal(diagonal_numbers(size, size), k), dims);
  return with_labels(select(kept, ops::broadcast_dims(columns, dims, axes),
                            ops::scalar(Number(0), x.tensor.type())),
                     {}, x.vector_axes);
}

Tensor take_diagonal(const Operand& operand, const TakeDiagonalOptions& options) {
  const Plain x = plain_operand("take_diagonal", operand);
  const Run run = find_run("take_diagonal", x, options.offset);
  const Dims dims = ops::dims_of(x.tensor);
  const Dims flat = with_last(dims, 2, run.rows * run.columns);
  Dims starts(flat.size(), 0), limits = flat, strides(flat.size(), 1);
  starts.back() = run.start;
  limits.back() = run.end();
  strides.back() = run.step();
  return with_labels(ops::slice_dims(ops::reshape_dims(x.tensor, flat), starts, limits, strides),
                     {}, x.vector_axes);
}

Tensor put_diagonal(const Operand& operand, const Operand& value_operand,
                    const PutDiagonalOptions& options) {
  const Plain given = plain_operand("put_diagonal", operand);
  const Plain values = plain_operand("put_diagonal", value_operand);
  const Run run = find_run("put_diagonal", given, options.offset);
  if (const Dims expected = with_last(given.dims(), 2, run.length); values.dims() != expected)
    throw ShapeError("put_diagonal",
                     fmt::format("values of the diagonal; expected {}, got {}", to_string(expected),
                                 to_string(values.dims())),
                     given.where);
  const Operand both[] = {operand, value_operand};
  const DType type = ops::merge_operand_types(both);
  const Tensor labelled[] = {with_labels(given.tensor, {}, given.vector_axes),
                             with_labels(values.tensor, {}, values.vector_axes)};
  const VectorAxes axes = ops::merge_vector_axes("put_diagonal", labelled, given.where);
  const Tensor x = as_type(ops::align_vector_axes(labelled[0], axes, 0, true), type);
  const Tensor y = as_type(ops::align_vector_axes(labelled[1], axes, 0, true), type);
  // The values at their places in the flat matrix, zeros between them.
  const Dims dims = ops::dims_of(x);
  const Dims zeros(dims.size() - 1, 0);
  Dims low = zeros, high = zeros, interior = zeros;
  low.back() = run.start;
  high.back() = run.rows * run.columns - run.end();
  interior.back() = run.step() - 1;
  const Tensor spread = ops::reshape_dims(ops::pad_dims(y, {}, low, high, interior), dims);
  const Tensor replaced = equal(diagonal_numbers(run.rows, run.columns), options.offset);
  return with_labels(select(ops::broadcast_to(replaced, dims), spread, x), given.names, axes);
}

namespace ops {
namespace {

constexpr RowMaker matrix_function{
    .module = "Nx", .accepts = Accepts::kAny, .names = NamesRule::kSpecial, .accuracy = Accuracy{}};

// Values from NumPy: tri, tril, triu, diag, diagonal.
constexpr FunctionRow kFunctions[] = {
    matrix_function(
        "tri", "Ones at and below a diagonal, zeros above it.", erase<&nx::tri>,
        +[]() -> Examples {
          return {{{2, 3}, {}, t({{1, 0, 0}, {1, 1, 0}}, {.type = u8})},
                  {{2, 3}, {{"k", 1}}, t({{1, 1, 0}, {1, 1, 1}}, {.type = u8})}};
        }),
    matrix_function(
        "tril", "The matrix with zeros above a diagonal.", erase<&nx::tril>,
        +[]() -> Examples {
          return {{{f({{1, 2}, {3, 4}})}, {}, f({{1, 0}, {3, 4}})},
                  {{f({{1, 2}, {3, 4}})}, {{"k", -1}}, f({{0, 0}, {3, 0}})}};
        }),
    matrix_function(
        "triu", "The matrix with zeros below a diagonal.", erase<&nx::triu>,
        +[]() -> Examples {
          return {{{f({{1, 2}, {3, 4}})}, {}, f({{1, 2}, {0, 4}})},
                  {{f({{1, 2}, {3, 4}})}, {{"k", 1}}, f({{0, 2}, {0, 0}})}};
        }),
    matrix_function(
        "make_diagonal", "A square matrix with the elements on a diagonal.",
        erase<&nx::make_diagonal>,
        +[]() -> Examples {
          return {{{f({1, 2})}, {}, f({{1, 0}, {0, 2}})},
                  {{f({1, 2})}, {{"offset", 1}}, f({{0, 1, 0}, {0, 0, 2}, {0, 0, 0}})},
                  {{f({1})}, {{"offset", -1}}, f({{0, 0}, {1, 0}})}};
        }),
    matrix_function(
        "take_diagonal", "A diagonal of each matrix.", erase<&nx::take_diagonal>,
        +[]() -> Examples {
          return {{{f({{1, 2, 3}, {4, 5, 6}})}, {}, f({1, 5})},
                  {{f({{1, 2, 3}, {4, 5, 6}})}, {{"offset", 1}}, f({2, 6})},
                  {{f({{1, 2, 3}, {4, 5, 6}})}, {{"offset", -1}}, f({4})}};
        }),
    matrix_function(
        "put_diagonal", "The matrix with a diagonal replaced.", erase<&nx::put_diagonal>,
        +[]() -> Examples {
          return {{{f({{1, 2, 3}, {4, 5, 6}}), f({8, 9})}, {}, f({{8, 2, 3}, {4, 9, 6}})},
                  {{f({{1, 2}, {3, 4}}), f({9})}, {{"offset", -1}}, f({{1, 2}, {9, 4}})}};
        }),
};

}  // namespace

constinit const Family kDiagonalFamily{"diagonal", {}, kFunctions};

}  // namespace ops
}  // namespace nx
