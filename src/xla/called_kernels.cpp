// The table of names: what a kernel is prepared from is kept, the kernel itself by its programs.
#include "xla/called_kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <unordered_map>

#include "graph/op_row.h"

namespace nx::xla {
namespace {

using graph::Attrs;
using graph::Graph;
using graph::KernelRule;
using graph::Node;
using graph::TensorType;
using graph::TensorTypes;
using Kernel = std::shared_ptr<const kernels::PreparedKernel>;

struct Recipe {
  const KernelRule* rule;
  TensorTypes in, out;
  Attrs attrs;
  std::weak_ptr<const kernels::PreparedKernel> prepared = {};

  Kernel kernel() {
    Kernel found = prepared.lock();
    if (found == nullptr) prepared = found = rule->prepare({in, out, attrs});
    return found;
  }
};

struct Hash : std::hash<std::string_view> {
  using is_transparent = void;
};

struct Table {
  std::mutex mutex;
  std::unordered_map<std::string, Recipe, Hash, std::equal_to<>> recipes;
};

Table& table() {
  static auto* const all = new Table;  // never destroyed: a plugin's threads outlive main
  return *all;
}

TensorTypes operands_of(const Graph& graph, const Node& node) {
  TensorTypes types;
  for (const graph::Edge edge : node.inputs) types.push_back(graph.type(edge));
  return types;
}

std::string name_of(const Node& node, const TensorTypes& in) {
  std::string name(node.row->name);
  for (std::size_t i = 0; i < in.size(); ++i)
    name += fmt::format("{}{}", i == 0 ? "(" : ", ", graph::to_string(in[i]));
  const std::string attrs = node.attrs.to_string();
  return fmt::format("{}{}{})", name, attrs.empty() ? "" : "; ", attrs);
}

}  // namespace

std::optional<CalledKernel> CalledKernels::add(const Graph& graph, const Node& node) {
  const auto* const rule = node.row->host_as<KernelRule>();
  if (rule == nullptr || rule->outruns_xla == nullptr) return std::nullopt;
  const TensorTypes in = operands_of(graph, node);
  const auto is_packed = [](const TensorType& type) { return is_subbyte(type.type); };
  if (std::any_of(in.begin(), in.end(), is_packed) ||
      !rule->outruns_xla({in, node.outputs, node.attrs}) || !can_call_())
    return std::nullopt;
  CalledKernel called{name_of(node, in)};
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  Recipe& recipe = all.recipes.try_emplace(called.name, Recipe{rule, in, node.outputs, node.attrs})
                       .first->second;
  // Attributes are printed for readers: two that differ may look alike.
  if (recipe.rule != rule || recipe.attrs != node.attrs) return std::nullopt;
  kept_.push_back(recipe.kernel());
  called.scratch_bytes = kept_.back()->scratch_bytes();
  return called;
}

Kernel find_called_kernel(std::string_view name) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto found = all.recipes.find(name);
  return found == all.recipes.end() ? nullptr : found->second.kernel();
}

}  // namespace nx::xla
