// Printing and hashing of attribute fields.
#include "graph/attrs.h"

#include <fmt/format.h>

#include <functional>

namespace nx::graph {

void print_field(std::string& out, std::int64_t value) { out += fmt::format("{}", value); }
void print_field(std::string& out, double value) { out += fmt::format("{}", value); }
void print_field(std::string& out, DType value) { out += name_of(value); }
void print_field(std::string& out, const Number& value) { out += value.to_string(); }
void print_field(std::string& out, const Dims& value) { out += nx::to_string(value); }
void print_field(std::string& out, const std::string& value) {
  out += fmt::format("\"{}\"", value);
}

std::uint64_t hash_field(std::int64_t value) noexcept {
  return mix_hash(1, static_cast<std::uint64_t>(value));
}
std::uint64_t hash_field(double value) noexcept {
  return mix_hash(2, std::bit_cast<std::uint64_t>(value));
}
std::uint64_t hash_field(DType value) noexcept {
  return mix_hash(3, static_cast<std::uint64_t>(value));
}
std::uint64_t hash_field(const Number& value) noexcept {
  const std::uint64_t h = mix_hash(static_cast<std::uint64_t>(value.kind()),
                                   static_cast<std::uint64_t>(value.integer()));
  return mix_hash(h, std::bit_cast<std::uint64_t>(value.imag()));
}
std::uint64_t hash_field(const Dims& value) noexcept {
  std::uint64_t h = value.size();
  for (const std::int64_t v : value) h = mix_hash(h, static_cast<std::uint64_t>(v));
  return h;
}
std::uint64_t hash_field(const std::string& value) noexcept {
  return std::hash<std::string>{}(value);
}

}  // namespace nx::graph
