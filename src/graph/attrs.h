// Attributes of a node: one aggregate for each operation with one `fields` list, from which
// printing, hashing and equality come. Floats compare and hash by bits.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nx/number.h"
#include "nx/shape.h"

namespace nx::graph {

// The primitive field types; an aggregate has only these (add one here to use another).
void print_field(std::string& out, std::int64_t value);
void print_field(std::string& out, double value);
void print_field(std::string& out, DType value);
void print_field(std::string& out, const Number& value);
void print_field(std::string& out, const Dims& value);
void print_field(std::string& out, const std::string& value);
std::uint64_t hash_field(std::int64_t value) noexcept;
std::uint64_t hash_field(double value) noexcept;
std::uint64_t hash_field(DType value) noexcept;
std::uint64_t hash_field(const Number& value) noexcept;
std::uint64_t hash_field(const Dims& value) noexcept;
std::uint64_t hash_field(const std::string& value) noexcept;
inline void print_field(std::string& out, int value) {
  print_field(out, static_cast<std::int64_t>(value));
}
inline void print_field(std::string& out, bool value) { out += value ? "true" : "false"; }
inline std::uint64_t hash_field(int v) noexcept { return hash_field(static_cast<std::int64_t>(v)); }
inline std::uint64_t hash_field(bool v) noexcept { return hash_field(static_cast<std::int64_t>(v)); }
template <class T>
bool equal_field(const T& a, const T& b) noexcept {
  return a == b;
}
inline bool equal_field(double a, double b) noexcept {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

constexpr std::uint64_t mix_hash(std::uint64_t seed, std::uint64_t value) noexcept {
  std::uint64_t h = (seed ^ value) * 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

class AttrsBase {
 public:
  virtual ~AttrsBase() = default;
  virtual void print(std::string& out) const = 0;
  virtual std::uint64_t hash() const noexcept = 0;
  virtual bool equal(const AttrsBase& other) const noexcept = 0;
  const void* kind() const noexcept { return kind_; }

 protected:
  explicit AttrsBase(const void* kind) : kind_(kind) {}

 private:
  const void* kind_;
};

template <class T>
inline constexpr char kAttrsKind = 0;

/// `T` is an aggregate with
///   `template <class F> static void fields(F&& f) { f("axes", &T::axes); … }`
template <class T>
class AttrsOf final : public AttrsBase {
 public:
  explicit AttrsOf(T v) : AttrsBase(&kAttrsKind<T>), value(std::move(v)) {}
  void print(std::string& out) const override {
    bool first = true;
    T::fields([&](const char* name, auto member) {
      if (!first) out += ", ";
      first = false;
      out += name;
      out += " = ";
      print_field(out, value.*member);
    });
  }
  std::uint64_t hash() const noexcept override {
    std::uint64_t h = 0x243f6a8885a308d3ull;
    T::fields([&](const char*, auto member) { h = mix_hash(h, hash_field(value.*member)); });
    return h;
  }
  bool equal(const AttrsBase& other) const noexcept override {
    if (other.kind() != kind()) return false;
    const T& that = static_cast<const AttrsOf&>(other).value;
    bool same = true;
    T::fields([&](const char*, auto member) {
      same = same && equal_field(value.*member, that.*member);
    });
    return same;
  }
  T value;
};

/// A shared, immutable attribute aggregate; null for operations that have none.
class Attrs {
 public:
  Attrs() = default;
  template <class T>
  static Attrs of(T value) {
    Attrs attrs;
    attrs.base_ = std::make_shared<const AttrsOf<T>>(std::move(value));
    return attrs;
  }
  bool has_value() const noexcept { return base_ != nullptr; }
  template <class T>
  const T& as() const noexcept {
    return static_cast<const AttrsOf<T>&>(*base_).value;
  }
  template <class T>
  bool is() const noexcept {
    return base_ && base_->kind() == &kAttrsKind<T>;
  }
  std::string to_string() const {
    std::string text;
    if (base_) base_->print(text);
    return text;
  }
  std::uint64_t hash() const noexcept { return base_ ? base_->hash() : 0; }
  friend bool operator==(const Attrs& a, const Attrs& b) noexcept {
    if (a.base_ == b.base_) return true;
    return a.base_ && b.base_ && a.base_->equal(*b.base_);
  }

 private:
  std::shared_ptr<const AttrsBase> base_;
};

}  // namespace nx::graph
