// A few operations of every kind of host rule, so that these tests stand on no family of ops/.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>

#include "graph/op_row.h"

namespace nx::host_test {

using graph::Attrs;
using graph::HostRule;
using graph::OpRow;
using graph::TensorType;
using graph::TensorTypes;
using kernels::TileCall;

// -- pieces every row needs and no test here uses ------------------------------------------------
inline graph::Tensors no_vectorize(const graph::VectorizeCall&) { return {}; }
inline std::vector<stablehlo::Value> no_lower(const graph::LowerCall&) { return {}; }
inline TensorTypes same_type(std::span<const TensorType> in, const Attrs&) { return {in[0]}; }

inline OpRow make_row(std::string_view name, graph::InferFn infer, HostRule host) {
  return OpRow{.name = name,
               .infer = infer,
               .gradient = graph::no_gradient("a test"),
               .vectorize = no_vectorize,
               .lower = no_lower,
               .host = std::move(host)};
}

// -- elementwise
// -----------------------------------------------------------------------------------
template <class T, class F>
void loop1(const TileCall& call) {
  const T* const a = static_cast<const T*>(call.in[0]);
  auto* const out = static_cast<decltype(F{}(T{}))*>(call.out);
  for (std::size_t i = 0; i < call.count; ++i) out[i] = F{}(a[i]);
}
template <class T, class F>
void loop2(const TileCall& call) {
  const T* const a = static_cast<const T*>(call.in[0]);
  const T* const b = static_cast<const T*>(call.in[1]);
  auto* const out = static_cast<decltype(F{}(T{}, T{}))*>(call.out);
  for (std::size_t i = 0; i < call.count; ++i) out[i] = F{}(a[i], b[i]);
}
template <class F>
HostRule unary_rule() {
  return graph::ElementwiseRule{[](std::span<const DType> in, DType) -> kernels::TileKernel {
                                  if (in[0] == DType::f32) return loop1<float, F>;
                                  if (in[0] == DType::f64) return loop1<double, F>;
                                  return nullptr;
                                },
                                1.0f};
}
template <class F>
HostRule binary_rule() {
  return graph::ElementwiseRule{[](std::span<const DType> in, DType) -> kernels::TileKernel {
                                  if (in[0] == DType::f32) return loop2<float, F>;
                                  if (in[0] == DType::f64) return loop2<double, F>;
                                  if (in[0] == DType::s32) return loop2<std::int32_t, F>;
                                  return nullptr;
                                },
                                0.1f};
}
struct AddF {
  template <class T>
  T operator()(T a, T b) const {
    return a + b;
  }
};
struct SubF {
  template <class T>
  T operator()(T a, T b) const {
    return a - b;
  }
};
struct MulF {
  template <class T>
  T operator()(T a, T b) const {
    return a * b;
  }
};
struct MaxF {
  template <class T>
  T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};
struct LessF {
  template <class T>
  std::uint8_t operator()(T a, T b) const {
    return a < b;
  }
};
struct NegF {
  template <class T>
  T operator()(T a) const {
    return -a;
  }
};
struct ExpF {
  template <class T>
  T operator()(T a) const {
    return std::exp(a);
  }
};
struct SqrtF {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(std::abs(a));
  }
};

inline TensorTypes predicate_type(std::span<const TensorType> in, const Attrs&) {
  return {{DType::u8, in[0].dims}};
}
inline const OpRow kAdd = make_row("add", same_type, binary_rule<AddF>());
inline const OpRow kSub = make_row("subtract", same_type, binary_rule<SubF>());
inline const OpRow kMul = make_row("multiply", same_type, binary_rule<MulF>());
inline const OpRow kMax = make_row("max", same_type, binary_rule<MaxF>());
inline const OpRow kLess = make_row("less", predicate_type, binary_rule<LessF>());
inline const OpRow kNeg = make_row("negate", same_type, unary_rule<NegF>());
inline const OpRow kExp = make_row("exp", same_type, unary_rule<ExpF>());
inline const OpRow kSqrt = make_row("sqrt", same_type, unary_rule<SqrtF>());

inline void select_f32(const TileCall& call) {
  const auto* const p = static_cast<const std::uint8_t*>(call.in[0]);
  const auto* const a = static_cast<const float*>(call.in[1]);
  const auto* const b = static_cast<const float*>(call.in[2]);
  auto* const out = static_cast<float*>(call.out);
  for (std::size_t i = 0; i < call.count; ++i) out[i] = p[i] ? a[i] : b[i];
}
inline TensorTypes second_type(std::span<const TensorType> in, const Attrs&) { return {in[1]}; }
inline const OpRow kSelect =
    make_row("select", second_type,
             graph::ElementwiseRule{[](std::span<const DType> in, DType) -> kernels::TileKernel {
                                      return in[1] == DType::f32 ? select_f32 : nullptr;
                                    },
                                    0.2f});

struct TypeAttrs {
  DType type = DType::f64;
  template <class F>
  static void fields(F&& f) {
    f("type", &TypeAttrs::type);
  }
};
template <class From, class To>
void convert_loop(const TileCall& call) {
  // From wide to narrow in place: element i is read before anything past it is written.
  const From* const a = static_cast<const From*>(call.in[0]);
  To* const out = static_cast<To*>(call.out);
  for (std::size_t i = 0; i < call.count; ++i) out[i] = static_cast<To>(a[i]);
}
inline const OpRow kConvert = make_row(
    "convert",
    [](std::span<const TensorType> in, const Attrs& attrs) -> TensorTypes {
      return {{attrs.as<TypeAttrs>().type, in[0].dims}};
    },
    graph::ElementwiseRule{[](std::span<const DType> in, DType out) -> kernels::TileKernel {
                             if (in[0] == DType::f32 && out == DType::f64)
                               return convert_loop<float, double>;
                             if (in[0] == DType::f64 && out == DType::f32)
                               return convert_loop<double, float>;
                             if (in[0] == DType::f32 && out == DType::s32)
                               return convert_loop<float, std::int32_t>;
                             if (in[0] == DType::s32 && out == DType::f32)
                               return convert_loop<std::int32_t, float>;
                             if (in[0] == DType::u8 && out == DType::f32)
                               return convert_loop<std::uint8_t, float>;
                             return nullptr;
                           },
                           0.1f});

// -- reductions
// --------------------------------------------------------------------------------------
template <class T, class F>
void row_loop(const void* in, std::size_t rows, std::size_t columns, void* acc) {
  for (std::size_t i = 0; i < rows * columns; ++i) {
    T& value = static_cast<T*>(acc)[i / columns];
    value = F{}(value, static_cast<const T*>(in)[i]);
  }
}
template <class F>
kernels::TileKernel combine_of(DType type) {
  return type == DType::f32 ? loop2<float, F> : type == DType::f64 ? loop2<double, F> : nullptr;
}
template <class F>
kernels::RowReduceKernel row_of(DType type) {
  return type == DType::f32   ? row_loop<float, F>
         : type == DType::f64 ? row_loop<double, F>
                              : nullptr;
}
inline TensorTypes reduced_type(std::span<const TensorType> in, const Attrs& attrs) {
  TensorType type{in[0].type, {}};
  const Dims& axes = attrs.as<graph::ReduceAttrs>().axes;
  for (std::size_t a = 0; a < in[0].dims.size(); ++a)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(a)) == axes.end())
      type.dims.push_back(in[0].dims[a]);
  return {type};
}
inline const OpRow kSum =
    make_row("sum", reduced_type,
             graph::ReduceRule{combine_of<AddF>, row_of<AddF>, [](DType) { return Number(0); }});
inline const OpRow kReduceMax = make_row(
    "reduce_max", reduced_type,
    graph::ReduceRule{combine_of<MaxF>, row_of<MaxF>,
                      [](DType) { return Number(-std::numeric_limits<double>::infinity()); }});

// -- views
// -------------------------------------------------------------------------------------------
struct BroadcastTo {
  Dims dims, axes;
  template <class F>
  static void fields(F&& f) {
    f("dims", &BroadcastTo::dims);
    f("axes", &BroadcastTo::axes);
  }
};
inline Dims strides_of(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t a = dims.size(); a-- > 1;) strides[a - 1] = strides[a] * dims[a];
  return strides;
}
inline const OpRow kBroadcast = make_row(
    "broadcast",
    [](std::span<const TensorType> in, const Attrs& attrs) -> TensorTypes {
      return {{in[0].type, attrs.as<BroadcastTo>().dims}};
    },
    graph::ViewRule{[](const TensorType& in, const TensorType& out, const Attrs& attrs) {
      const Dims own = strides_of(in.dims);
      graph::ViewRule::View view{0, Dims(out.dims.size(), 0)};
      const Dims& axes = attrs.as<BroadcastTo>().axes;
      for (std::size_t a = 0; a < axes.size(); ++a)
        view.strides[axes[a]] = in.dims[a] == 1 ? 0 : own[a];
      return view;
    }});
struct Permutation {
  Dims axes;
  template <class F>
  static void fields(F&& f) {
    f("axes", &Permutation::axes);
  }
};
inline const OpRow kTranspose = make_row(
    "transpose",
    [](std::span<const TensorType> in, const Attrs& attrs) -> TensorTypes {
      TensorType type{in[0].type, {}};
      for (const auto a : attrs.as<Permutation>().axes) type.dims.push_back(in[0].dims[a]);
      return {type};
    },
    graph::ViewRule{[](const TensorType& in, const TensorType&, const Attrs& attrs) {
      const Dims own = strides_of(in.dims);
      graph::ViewRule::View view;
      for (const auto a : attrs.as<Permutation>().axes) view.strides.push_back(own[a]);
      return view;
    }});
struct SliceTo {
  Dims starts, limits;
  template <class F>
  static void fields(F&& f) {
    f("starts", &SliceTo::starts);
    f("limits", &SliceTo::limits);
  }
};
inline const OpRow kSlice = make_row(
    "slice",
    [](std::span<const TensorType> in, const Attrs& attrs) -> TensorTypes {
      TensorType type{in[0].type, {}};
      const auto& s = attrs.as<SliceTo>();
      for (std::size_t a = 0; a < s.starts.size(); ++a)
        type.dims.push_back(s.limits[a] - s.starts[a]);
      return {type};
    },
    graph::ViewRule{[](const TensorType& in, const TensorType&, const Attrs& attrs) {
      graph::ViewRule::View view{0, strides_of(in.dims)};
      const auto& s = attrs.as<SliceTo>();
      for (std::size_t a = 0; a < s.starts.size(); ++a)
        view.offset += s.starts[a] * view.strides[a];
      return view;
    }});
struct DimsAttrs {
  Dims dims;
  template <class F>
  static void fields(F&& f) {
    f("dims", &DimsAttrs::dims);
  }
};
inline const OpRow kReshape = make_row(
    "reshape",
    [](std::span<const TensorType> in, const Attrs& attrs) -> TensorTypes {
      return {{in[0].type, attrs.as<DimsAttrs>().dims}};
    },
    graph::RelabelRule{});

// -- generated, and kernels over whole arrays
// --------------------------------------------------------
inline const OpRow kIota = make_row(
    "iota",
    [](std::span<const TensorType>, const Attrs& attrs) -> TensorTypes {
      return {{DType::f32, attrs.as<DimsAttrs>().dims}};
    },
    graph::GenerateRule{
        [](const TensorType&, const Attrs&, std::int64_t first, std::size_t count, void* to) {
          for (std::size_t i = 0; i < count; ++i)
            static_cast<float*>(to)[i] = static_cast<float>(first + static_cast<std::int64_t>(i));
        }});

class MatrixProduct final : public kernels::PreparedKernel {
 public:
  explicit MatrixProduct(const graph::KernelSpec& spec)
      : m_(spec.in[0].dims[0]), k_(spec.in[0].dims[1]), n_(spec.in[1].dims[1]) {}
  std::size_t scratch_bytes() const override { return static_cast<std::size_t>(n_) * 8; }
  void run(const kernels::KernelCall& call) const override {
    auto* const sums = static_cast<double*>(call.scratch);
    for (std::int64_t i = 0; i < m_; ++i) {
      std::fill_n(sums, n_, 0.0);
      for (std::int64_t k = 0; k < k_; ++k)
        for (std::int64_t j = 0; j < n_; ++j)
          sums[j] += static_cast<const float*>(call.in[0])[i * k_ + k] *
                     static_cast<const float*>(call.in[1])[k * n_ + j];
      for (std::int64_t j = 0; j < n_; ++j)
        static_cast<float*>(call.out[0])[i * n_ + j] = static_cast<float>(sums[j]);
    }
  }

 private:
  std::int64_t m_, k_, n_;
};
inline const OpRow kMatmul = make_row(
    "matmul",
    [](std::span<const TensorType> in, const Attrs&) -> TensorTypes {
      return {{in[0].type, {in[0].dims[0], in[1].dims[1]}}};
    },
    graph::KernelRule{
        [](const graph::KernelSpec& spec) -> std::unique_ptr<kernels::PreparedKernel> {
          return std::make_unique<MatrixProduct>(spec);
        }});

/// Writes its second operand over the beginning of the first.
class PutFirst final : public kernels::PreparedKernel {
 public:
  explicit PutFirst(const graph::KernelSpec& spec)
      : bytes_(spec.in[0].bytes()), update_(spec.in[1].bytes()) {}
  void run(const kernels::KernelCall& call) const override {
    if (call.in[0] != call.out[0]) std::memcpy(call.out[0], call.in[0], bytes_);
    std::memcpy(call.out[0], call.in[1], update_);
  }

 private:
  std::size_t bytes_, update_;
};
inline const OpRow kPutFirst =
    make_row("put_first", same_type,
             graph::KernelRule{
                 [](const graph::KernelSpec& spec) -> std::unique_ptr<kernels::PreparedKernel> {
                   return std::make_unique<PutFirst>(spec);
                 },
                 0});

}  // namespace nx::host_test
