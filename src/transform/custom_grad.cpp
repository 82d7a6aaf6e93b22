// Values whose gradient is said by the caller: constants for grad, and custom reverse rules. The
// nodes exist for the sweep of grad alone; simplification replaces each by its first operand.
#include <fmt/format.h>

#include "core/body.h"
#include "graph/trace.h"
#include "nx/grad.h"

namespace nx {
namespace transform {
namespace {

using graph::Attrs;
using graph::OpRow;
using graph::Tensors;

using BackwardFn = std::function<std::vector<Tensor>(const Tensor&)>;

// The closure as an attribute. Two are equal when they are the same object; printing and hashing
// know nothing of it, since neither may depend on addresses.
struct Backward {
  std::shared_ptr<const BackwardFn> call;  // sees labels, as the rest of the caller's code does
  friend bool operator==(const Backward&, const Backward&) = default;
};
void print_field(std::string& out, const Backward&) { out += "custom"; }
std::uint64_t hash_field(const Backward&) noexcept { return 7; }

struct CustomGradAttrs {
  Backward backward;
  template <class F>
  static void fields(F&& f) {
    f("backward", &CustomGradAttrs::backward);
  }
};

graph::TensorTypes infer_first(std::span<const graph::TensorType> in, const Attrs&) {
  return {in[0]};
}
Tensors vectorize_first(const graph::VectorizeCall& call) { return {call.in[0]}; }
std::vector<stablehlo::Value> lower_first(const graph::LowerCall& call) { return {call.in[0]}; }
Tensor simplify_first(const graph::SimplifyCall& call) { return call.in[0]; }

Tensors custom_gradient(const graph::GradCall& call) {
  Tensors result(1);  // the value itself passes nothing on
  for (Tensor& g : (*call.attrs.as<CustomGradAttrs>().backward.call)(call.g[0]))
    result.push_back(std::move(g));
  return result;
}

}  // namespace

const OpRow kStopGrad{
    .name = "stop_grad",
    .infer = infer_first,
    .gradient = graph::Gradient(graph::zero_gradient_rule),
    .vectorize = vectorize_first,
    .lower = lower_first,
    .host = graph::HostRule(graph::RelabelRule{}),
    .simplify = simplify_first,
};

const OpRow kCustomGrad{
    .name = "custom_grad",
    .infer = infer_first,
    .gradient = graph::Gradient(custom_gradient),
    .vectorize = vectorize_first,
    .lower = lower_first,
    .host = graph::HostRule(graph::RelabelRule{}),
    .simplify = simplify_first,
};

}  // namespace transform

Tensor stop_grad(const Tensor& x, SourceLocation where) {
  const detail::Body& body = detail::Access::checked(x, "stop_grad", where);
  if (graph::current_trace() == nullptr) return detail::Access::with_mark(x, false);
  return graph::emit(transform::kStopGrad, {x}, {}, where, body.labels);
}

Tensor custom_grad(const Tensor& value, std::vector<Tensor> inputs,
                   std::function<std::vector<Tensor>(const Tensor&)> backward,
                   SourceLocation where) {
  const detail::Body& body = detail::Access::checked(value, "custom_grad", where);
  if (graph::current_trace() == nullptr) return detail::Access::with_mark(value, false);
  const std::size_t count = inputs.size();
  auto checked = [backward = std::move(backward), count, where, names = value.names(),
                  axes = value.vectorized_axes()](const Tensor& g) {
    std::vector<Tensor> found = backward(detail::Access::with_labels(g, names, axes));
    if (found.size() != count)
      throw ArgumentError("custom_grad",
                          fmt::format("the backward function must return a gradient for each "
                                      "input; expected {}, got {}", count, found.size()),
                          where);
    for (Tensor& gradient : found)
      if (gradient.has_value()) gradient = detail::Access::with_labels(gradient, {}, {});
    return found;
  };
  inputs.insert(inputs.begin(), value);
  transform::CustomGradAttrs attrs{
      {std::make_shared<const transform::BackwardFn>(std::move(checked))}};
  return graph::emit(transform::kCustomGrad, inputs, graph::Attrs::of(std::move(attrs)), where,
                     body.labels);
}

}  // namespace nx
