// Collecting the values of a tile program.
#include <cstring>

#include "kernels/tile_program.h"

namespace nx::kernels {

using Value = TileProgramBuilder::Value;

Value TileProgramBuilder::add(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<Value>(nodes_.size() - 1);
}

Value TileProgramBuilder::input(Extent extent, std::size_t element, std::uint32_t slot,
                                std::int64_t offset) {
  Node node{Kind::kInput, extent, static_cast<std::uint32_t>(element)};
  node.slot = slot;
  node.offset = offset;
  return add(std::move(node));
}

Value TileProgramBuilder::strided_input(const StridedView& view, std::size_t element,
                                        std::uint32_t slot) {
  Node node{Kind::kStrided, Extent::kFull, static_cast<std::uint32_t>(element)};
  node.slot = slot;
  node.extra = static_cast<std::uint32_t>(views_.size());
  views_.push_back(collapse(view));
  return add(std::move(node));
}

Value TileProgramBuilder::constant(const void* bytes, std::size_t element) {
  std::array<std::byte, 16> value{};
  std::memcpy(value.data(), bytes, element);
  for (Value v = 0; v < nodes_.size(); ++v)
    if (nodes_[v].kind == Kind::kConstant && nodes_[v].element == element &&
        constants_[nodes_[v].extra] == value)
      return v;
  Node node{Kind::kConstant, Extent::kScalar, static_cast<std::uint32_t>(element)};
  node.extra = static_cast<std::uint32_t>(constants_.size());
  constants_.push_back(value);
  return add(std::move(node));
}

Value TileProgramBuilder::generate(std::shared_ptr<const Generator> generator,
                                   std::size_t element) {
  Node node{Kind::kGenerate, Extent::kFull, static_cast<std::uint32_t>(element)};
  node.extra = static_cast<std::uint32_t>(generators_.size());
  node.cost_ns = 0.2f;
  generators_.push_back(std::move(generator));
  return add(std::move(node));
}

Value TileProgramBuilder::widened(Value value, Extent extent) {
  if (extent != Extent::kFull || nodes_[value].extent != Extent::kPerRow) return value;
  for (Value v = value + 1; v < nodes_.size(); ++v)
    if (nodes_[v].kind == Kind::kExpand && nodes_[v].in[0] == value) return v;
  Node node{Kind::kExpand, Extent::kFull, nodes_[value].element};
  node.in = {value};
  node.cost_ns = 0.1f;
  return add(std::move(node));
}

Value TileProgramBuilder::apply(TileKernel kernel, std::span<const Value> in, Extent extent,
                                std::size_t element, float cost_ns, const ChainForm& form) {
  Node node{Kind::kApply, extent, static_cast<std::uint32_t>(element)};
  node.kernel = kernel;
  node.form = form;
  node.cost_ns = cost_ns;
  for (const Value value : in) node.in.push_back(widened(value, extent));
  return add(std::move(node));
}

Value TileProgramBuilder::reduce_rows(const ReductionKernels& reduction, Value full) {
  const bool whole = columns_ <= kTileElements;
  Node node{whole ? Kind::kReduceRow : Kind::kReduceLongRow, Extent::kPerRow, reduction.element};
  node.in = {widened(full, Extent::kFull)};
  node.extra = static_cast<std::uint32_t>(reductions_.size());
  node.cost_ns = 0.1f;
  reductions_.push_back(reduction);
  return add(std::move(node));
}

Value TileProgramBuilder::reduce_columns(const ReductionKernels& reduction, Value full,
                                         std::int64_t groups) {
  groups_ = groups;
  Node node{Kind::kReduceColumn, Extent::kPerColumn, reduction.element};
  node.in = {widened(full, Extent::kFull)};
  node.extra = static_cast<std::uint32_t>(reductions_.size());
  node.cost_ns = 0.1f;
  reductions_.push_back(reduction);
  return add(std::move(node));
}

Value TileProgramBuilder::copy(Value value, Extent extent) {
  Node node{Kind::kCopy, extent, nodes_[value].element};
  node.in = {widened(value, extent)};
  node.cost_ns = 0.1f;
  return add(std::move(node));
}

void TileProgramBuilder::store(Value value, std::uint32_t slot) { nodes_[value].store = slot; }

}  // namespace nx::kernels
