// layer: trace
// A container whose structure is known only at run time: a tensor, or children by name.
#pragma once

#include <map>
#include <string>

#include "nx/container.h"

namespace nx {

/// A tensor leaf, or a map from names to trees. An empty tree has neither.
///
///   Tree params;
///   params["dense_0"]["kernel"] = kernel;
class Tree {
 public:
  using Map = std::map<std::string, Tree>;
  Tree() = default;
  Tree(Tensor leaf) : tensor(std::move(leaf)) {}

  bool is_leaf() const noexcept { return tensor.has_value(); }
  bool empty() const noexcept { return !is_leaf() && children.empty(); }
  /// The child of that name, made when missing.
  Tree& operator[](const std::string& name) { return children[name]; }
  /// The child of that name. Throws ArgumentError when there is none.
  const Tree& at(const std::string& name) const {
    const auto found = children.find(name);
    if (found == children.end()) throw ArgumentError("Tree", "no child named `" + name + "`");
    return found->second;
  }
  bool contains(const std::string& name) const { return children.count(name) != 0; }
  operator const Tensor&() const {
    if (!is_leaf()) throw ArgumentError("Tree", "expected a tensor, got a tree of children");
    return tensor;
  }

  Tensor tensor;
  Map children;

 private:
  template <class V, class S>
    requires std::same_as<std::remove_const_t<S>, Tree>
  friend void nx_visit_members_(V& visitor, S& tree) {
    visitor.structure(tree.is_leaf() ? 1 : 0);
    if (tree.is_leaf()) {
      visitor.leaf(tree.tensor);
      return;
    }
    visitor.structure(tree.children.size());
    for (auto& [name, child] : tree.children) {
      visitor.structure(std::string_view(name));
      detail::visit_member(visitor, name, child);
    }
  }
};

/// Applies `f(tensor)` to every leaf, in place order; the structure stays.
template <class T, class F>
T map_leaves(T container, F&& f) {
  detail::for_each_leaf(container, [&](Tensor& t) { t = f(std::as_const(t)); });
  return container;
}

/// Applies `f(a_leaf, b_leaf, …)` to corresponding leaves. Throws ArgumentError when the numbers
/// of leaves differ.
template <class F, class T, class... More>
T zip_leaves(F&& f, T first, const More&... more) {
  std::vector<const Tensor*> leaves[sizeof...(More) + 1];
  std::size_t k = 0;
  (detail::for_each_leaf(more, [&, at = k++](const Tensor& t) { leaves[at].push_back(&t); }), ...);
  std::size_t i = 0, count = 0;
  detail::for_each_leaf(std::as_const(first), [&](const Tensor&) { ++count; });
  for (std::size_t j = 0; j < sizeof...(More); ++j)
    if (leaves[j].size() != count)
      throw ArgumentError("zip_leaves", "expected " + std::to_string(count) + " leaves, got " +
                                            std::to_string(leaves[j].size()));
  detail::for_each_leaf(first, [&](Tensor& t) {
    t = [&]<std::size_t... J>(std::index_sequence<J...>) {
      return f(std::as_const(t), *leaves[J][i]...);
    }(std::index_sequence_for<More...>{});
    ++i;
  });
  return first;
}

}  // namespace nx
