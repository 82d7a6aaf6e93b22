// Dimensions, interned axis names and their resolution to indices.
#include "nx/shape.h"

#include <fmt/format.h>

#include <mutex>
#include <unordered_set>

#include "nx/error.h"

namespace nx {

std::int64_t element_count(const Dims& dims) {
  std::int64_t count = 1;
  bool zero = false;
  for (const std::int64_t size : dims) {
    if (size < 0) throw ShapeError("shape", fmt::format("negative size in {}", to_string(dims)));
    if (size == 0) zero = true;
    if (!zero && __builtin_mul_overflow(count, size, &count))
      throw ShapeError("shape", fmt::format("{} has more elements than can be counted",
                                            to_string(dims)));
  }
  return zero ? 0 : count;
}

std::string to_string(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }

std::string to_string(DType type, const Dims& dims) {
  return fmt::format("{}{}", name_of(type), to_string(dims));
}

Name::Name(std::string_view text) {
  if (text.empty()) return;
  // Never destroyed: a name may live in a global tensor that dies after this table would.
  static auto* const mutex = new std::mutex;
  static auto* const table = new std::unordered_set<std::string>;
  const std::lock_guard lock(*mutex);
  text_ = &*table->emplace(text).first;
}

std::string Axis::describe() const {
  return is_named() ? fmt::format("\"{}\"", name_.view()) : fmt::format("{}", index_);
}

int Axis::resolve(std::string_view operation, int rank, const Names& names) const {
  if (is_named()) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name_) return static_cast<int>(i);
    std::string have;
    for (const Name name : names) {
      if (!have.empty()) have += ", ";
      have += name.empty() ? "nil" : std::string(name.view());
    }
    throw ShapeError(operation, fmt::format("unknown axis \"{}\"; expected one of [{}]",
                                            name_.view(), have));
  }
  if (index_ < -rank || index_ >= rank)
    throw ShapeError(operation, fmt::format("axis out of range; expected {} to {}, got {}", -rank,
                                            rank - 1, index_));
  return static_cast<int>(index_ < 0 ? index_ + rank : index_);
}

Axes Axes::of(std::span<const std::int64_t> indices) {
  std::vector<Axis> list;
  for (const std::int64_t index : indices) list.emplace_back(index);
  return Axes(std::move(list));
}

InlineVector<std::int64_t, 6> Axes::resolve(std::string_view operation, int rank,
                                            const Names& names) const {
  InlineVector<std::int64_t, 6> indices;
  for (const Axis& axis : list_) {
    const int index = axis.resolve(operation, rank, names);
    if (std::find(indices.begin(), indices.end(), index) != indices.end())
      throw ShapeError(operation, fmt::format("axis {} is given twice", axis.describe()));
    indices.push_back(index);
  }
  return indices;
}

}  // namespace nx
