// layer: data
// Tensors in files of the safetensors format: 8 bytes of header length, a JSON header of names,
// types, shapes and offsets, then the values.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "nx/container.h"
#include "nx/tree.h"

namespace nx {

namespace detail {
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;
NX_API void save_named(const std::string& path, const NamedTensors& tensors);
NX_API NamedTensors load_named(const std::string& path);
/// The file's tensors in the order of `wanted`. Throws IoError for one that is missing, that is
/// not wanted, or of another type or shape than its template.
NX_API std::vector<Tensor> load_matching(const std::string& path, const NamedTensors& wanted);
}  // namespace detail

/// Writes every tensor leaf under its path (`parameters.dense_0.kernel`). The file appears whole or
/// not at all: it is written beside, synced and renamed, so a failed save leaves the previous file
/// as it was. Throws IoError.
template <Container T>
void save(const std::string& path, const T& container) {
  detail::NamedTensors named;
  detail::for_each_leaf_with_path(container, "", [&](const std::string& name, const Tensor& t) {
    named.emplace_back(name.empty() ? "tensor" : name, t);
  });
  detail::save_named(path, named);
}

/// Reads into a container like the one that was saved: its leaves (tensors or templates) say which
/// names, types and shapes are expected. Nothing is changed unless everything fits; then every leaf
/// has a buffer of its own. Throws IoError naming the leaf, expected and got.
template <Container T>
void load(const std::string& path, T& container) {
  detail::NamedTensors wanted;
  detail::for_each_leaf_with_path(container, "", [&](const std::string& name, Tensor& t) {
    wanted.emplace_back(name.empty() ? "tensor" : name, t);
  });
  std::vector<Tensor> loaded = detail::load_matching(path, wanted);
  std::size_t i = 0;
  detail::for_each_leaf(container, [&](Tensor& t) { t = std::move(loaded[i++]); });
}

/// Reads a file whose structure is not known: names become paths of a tree, split at dots.
NX_API Tree load_tree(const std::string& path);

}  // namespace nx
