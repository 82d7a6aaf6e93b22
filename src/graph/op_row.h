// The row of a graph primitive: everything any part of the library needs to know of an operation,
// in one place. The rows themselves are in ops/; compilers and passes know them only as rows.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "graph/attrs.h"
#include "graph/graph.h"
#include "kernels/chain.h"
#include "kernels/tile.h"
#include "nx/tensor.h"
#include "stablehlo/writer.h"

namespace nx::graph {

using Tensors = std::vector<Tensor>;

/// A member that has no default: a row that leaves it out does not compile.
template <class T>
class Required {
 public:
  Required() = delete;
  constexpr Required(T value) : value_(value) {}
  template <class U>
    requires std::is_convertible_v<U, T>
  constexpr Required(U&& value) : value_(std::forward<U>(value)) {}
  constexpr const T& operator*() const noexcept { return value_; }
  constexpr const T* operator->() const noexcept { return &value_; }

 private:
  T value_;
};

/// Who asked for an operation, as errors tell it: the place, and the public function where it is
/// not called as the row is (take, which is a gather).
struct Caller {
  SourceLocation where = {};
  std::string_view function = {};
  Caller() = default;
  Caller(SourceLocation place, std::string_view name = {}) : where(place), function(name) {}
  std::string_view name_or(std::string_view row) const { return function.empty() ? row : function; }
};

// -- shapes and types -------------------------------------------------------------------------
/// Types of the results. Throws ShapeError or DTypeError named after the operation.
using InferFn = TensorTypes (*)(std::span<const TensorType> in, const Attrs& attrs);

// -- gradient ---------------------------------------------------------------------------------
/// The reverse rule, written with the public operations on traced tensors.
struct GradCall {
  std::span<const Tensor> in;      // operands of the node
  std::span<const Tensor> out;     // its results
  std::span<const Tensor> g;       // upstream gradient of each result; empty handle: zero
  const Attrs& attrs;
  std::span<const bool> wanted;    // which operands need a gradient
};
/// One gradient per operand, of the operand's type and shape; an empty handle means zero.
using GradFn = Tensors (*)(const GradCall& call);
struct Gradient {
  GradFn fn = nullptr;
  const char* reason = nullptr;  // why there is none; then grad throws UnsupportedError with it
  constexpr Gradient(GradFn f) : fn(f) {}
  constexpr Gradient(GradFn f, const char* r) : fn(f), reason(r) {}
};
constexpr Gradient no_gradient(const char* reason) { return Gradient(nullptr, reason); }
/// The result does not vary with the operands (comparisons, floor, argmax): the gradient is zero.
inline Tensors zero_gradient_rule(const GradCall& call) { return Tensors(call.in.size()); }

// -- vectorise --------------------------------------------------------------------------------
/// All operands have the same `count` leading axes to be mapped over; the rule emits the operation
/// with its own axes shifted past them.
struct VectorizeCall {
  std::span<const Tensor> in;
  const Attrs& attrs;
  int count;
};
using VectorizeFn = Tensors (*)(const VectorizeCall& call);

// -- StableHLO --------------------------------------------------------------------------------
struct LowerCall {
  stablehlo::Writer& writer;
  std::span<const stablehlo::Value> in;
  std::span<const TensorType> in_types;
  std::span<const TensorType> out_types;
  const Attrs& attrs;
};
using LowerFn = std::vector<stablehlo::Value> (*)(const LowerCall& call);

// -- host -------------------------------------------------------------------------------------
/// All operands have the result's dims; the compiler fuses these into tile programs.
struct ElementwiseRule {
  /// The kernel for these operand types, or null when the type is not supported.
  kernels::TileKernel (*kernel)(std::span<const DType> in, DType out);
  float cost_ns = 0.1f;  // for one element, on one thread
  /// How it is a link of chains of operands and results of this type; null or empty when it is not.
  kernels::ChainForm (*chain)(DType type) = nullptr;
};
/// A reduction over `axes` (ReduceAttrs) of one operand into the same element type.
struct ReduceRule {
  kernels::TileKernel (*combine)(DType type);       // acc = combine(acc, x), elementwise
  kernels::RowReduceKernel (*row)(DType type);      // contiguous rows into one value each
  Number (*identity)(DType type);                   // what the accumulator begins with
};
/// The result reads the operand at strides: result element (i0, i1, …) is the operand's element
/// `offset + i0*strides[0] + …` (in elements). Broadcast, transpose, slice, reverse.
struct ViewRule {
  struct View {
    std::int64_t offset = 0;
    Dims strides;
  };
  View (*view)(const TensorType& in, const TensorType& out, const Attrs& attrs);
};
/// The operand's bytes under another shape or (same-width) type: reshape, bitcast, alias.
struct RelabelRule {};
/// A kernel over whole contiguous arrays.
struct KernelSpec {
  std::span<const TensorType> in;
  std::span<const TensorType> out;
  const Attrs& attrs;
};
struct KernelRule {
  std::unique_ptr<kernels::PreparedKernel> (*prepare)(const KernelSpec& spec);
  /// The operand that result 0 may overwrite in place (put_slice), or -1.
  int in_place_operand = -1;
  /// Whether the kernel was measured to outrun what XLA makes of the operation on a CPU: programs
  /// of XLA then call it. Null: never.
  bool (*outruns_xla)(const KernelSpec& spec) = nullptr;
};
/// For `outruns_xla`: from so many elements of the first operand on.
template <std::int64_t kElements>
bool is_from(const KernelSpec& spec) {
  return spec.in[0].count() >= kElements;
}
/// Produces values from attributes alone, element by element; `first` is the flat index.
struct GenerateRule {
  void (*fill)(const TensorType& out, const Attrs& attrs, std::int64_t first, std::size_t count,
               void* to);
};
/// Parameters and literals: the compiler provides them itself.
struct StructuralRule {};
using HostRule = std::variant<ElementwiseRule, ReduceRule, ViewRule, RelabelRule, KernelRule,
                              GenerateRule, StructuralRule>;

// -- simplify (optional) ----------------------------------------------------------------------
/// What an operation becomes when its operands have a certain form, as `x + 0 -> x`. Operands are
/// handles in the trace that is being rewritten; graph/match.h looks behind them.
struct SimplifyCall {
  std::span<const Tensor> in;
  std::span<const TensorType> out;
  const Attrs& attrs;
};
/// The replacement of result 0, or an empty handle to leave the node as it is.
using SimplifyFn = Tensor (*)(const SimplifyCall& call);

struct OpRow {
  std::string_view name;
  Required<InferFn> infer;
  Required<Gradient> gradient;
  Required<VectorizeFn> vectorize;
  Required<LowerFn> lower;
  Required<HostRule> host;
  SimplifyFn simplify = nullptr;
  bool effect = false;       // must run, in order; CSE and dead code leave it alone
  bool commutative = false;

  template <class Rule>
  const Rule* host_as() const noexcept { return std::get_if<Rule>(&*host); }
  bool is(const OpRow& other) const noexcept { return this == &other; }
};

/// Attributes shared by all reductions: axes in ascending order; the result drops them.
struct ReduceAttrs {
  Dims axes;
  template <class F>
  static void fields(F&& f) {
    f("axes", &ReduceAttrs::axes);
  }
};

}  // namespace nx::graph
