// layer: ops
// Triangles and diagonals of matrices; axes before the last two are a batch.
#pragma once

#include "nx/config.h"
#include "nx/tensor.h"

namespace nx {

struct TriOptions {
  std::int64_t k = 0;  ///< The diagonal the triangle reaches to; above the main one for k > 0.
  template <class F>
  static void fields(F&& f) {
    f("k", &TriOptions::k);
  }
};
using TrilOptions = TriOptions;
using TriuOptions = TriOptions;
/// Ones at and below a diagonal, zeros above it: u8[rows, columns].
NX_API Tensor tri(std::int64_t rows, std::int64_t columns, const TriOptions& options = {});
/// x with zeros above a diagonal. Throws ShapeError for less than two axes.
NX_API Tensor tril(const Operand& x, const TrilOptions& options = {});
/// x with zeros below a diagonal.
NX_API Tensor triu(const Operand& x, const TriuOptions& options = {});

struct DiagonalOptions {
  std::int64_t offset = 0;  ///< Above the main diagonal for positive ones.
  template <class F>
  static void fields(F&& f) {
    f("offset", &DiagonalOptions::offset);
  }
};
using MakeDiagonalOptions = DiagonalOptions;
using TakeDiagonalOptions = DiagonalOptions;
using PutDiagonalOptions = DiagonalOptions;
/// A square matrix with x, of one axis, on a diagonal and zeros elsewhere.
NX_API Tensor make_diagonal(const Operand& x, const MakeDiagonalOptions& options = {});
/// A diagonal, [..., rows, columns] -> [..., length]. Throws ArgumentError for an offset that
/// leaves the matrix.
NX_API Tensor take_diagonal(const Operand& x, const TakeDiagonalOptions& options = {});
/// x with a diagonal replaced by `values`, [..., length].
NX_API Tensor put_diagonal(const Operand& x, const Operand& values,
                           const PutDiagonalOptions& options = {});

}  // namespace nx
