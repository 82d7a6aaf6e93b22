// layer: trace
// Containers: how tensors inside pairs, vectors, maps and the user's own structures are found.
//
// A container may hold tensors (its leaves), numbers (static: part of what a function is compiled
// for) and other containers: std::pair, tuple, array, vector, optional, map<string, …>, nx::Tree,
// and any aggregate named by NX_CONTAINER. Every leaf has a path such as `params.dense_0.kernel`.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "nx/tensor.h"

namespace nx {
namespace detail {

template <class T>
struct ContainerOf;  // visit(visitor, value) for each kind of container

template <class T>
concept MacroContainer = requires(std::remove_cvref_t<T>& value, struct NullVisitor& visitor) {
  nx_visit_members_(visitor, value);
};

template <class T>
struct IsContainer : std::false_type {};
template <> struct IsContainer<Tensor> : std::true_type {};
template <PlainNumber T> struct IsContainer<T> : std::true_type {};
template <> struct IsContainer<bool> : std::true_type {};
template <class A, class B>
struct IsContainer<std::pair<A, B>>
    : std::bool_constant<IsContainer<A>::value && IsContainer<B>::value> {};
template <class... T>
struct IsContainer<std::tuple<T...>> : std::bool_constant<(IsContainer<T>::value && ...)> {};
template <class T, std::size_t N>
struct IsContainer<std::array<T, N>> : IsContainer<T> {};
template <class T> struct IsContainer<std::vector<T>> : IsContainer<T> {};
template <class T> struct IsContainer<std::optional<T>> : IsContainer<T> {};
template <class T> struct IsContainer<std::map<std::string, T>> : IsContainer<T> {};

/// Does nothing; what a visitor has to offer:
///   leaf(tensor), number(value), structure(bits), enter(name or index), leave().
struct NullVisitor {
  template <class T> void leaf(T&) {}
  template <class T> void number(T&) {}
  void structure(std::uint64_t) {}
  void structure(std::string_view) {}
  void enter(std::string_view) {}
  void enter(std::size_t) {}
  void leave() {}
};

template <MacroContainer T>
struct IsContainer<T> : std::true_type {};

}  // namespace detail

/// What may be an argument or a result of a traced function. Results must be copyable.
template <class T>
concept Container = detail::IsContainer<std::remove_cvref_t<T>>::value;

namespace detail {

template <class V, class T>
void visit(V& visitor, T& value);

template <class V, class T>
void visit_member(V& visitor, std::string_view name, T& value) {
  visitor.enter(name);
  visit(visitor, value);
  visitor.leave();
}

template <class V, class T>
void visit_element_at(V& visitor, std::size_t index, T& value) {
  visitor.enter(index);
  visit(visitor, value);
  visitor.leave();
}

template <class T> inline constexpr bool is_optional_v = false;
template <class T> inline constexpr bool is_optional_v<std::optional<T>> = true;
template <class T> inline constexpr bool is_vector_v = false;
template <class T> inline constexpr bool is_vector_v<std::vector<T>> = true;
template <class T> inline constexpr bool is_map_v = false;
template <class T> inline constexpr bool is_map_v<std::map<std::string, T>> = true;

/// Walks `value` (const or not) depth first, in the order of members.
template <class V, class T>
void visit(V& visitor, T& value) {
  using Plain = std::remove_const_t<T>;
  static_assert(IsContainer<Plain>::value,
                "not a container of tensors: name its members with NX_CONTAINER(Type, a, b, …)");
  if constexpr (std::is_same_v<Plain, Tensor>) {
    visitor.leaf(value);
  } else if constexpr (std::is_arithmetic_v<Plain>) {
    visitor.number(value);
  } else if constexpr (is_optional_v<Plain>) {
    visitor.structure(value.has_value() ? 1 : 0);
    if (value) visit(visitor, *value);
  } else if constexpr (is_vector_v<Plain>) {
    visitor.structure(value.size());
    std::size_t index = 0;
    for (auto& element : value) visit_element_at(visitor, index++, element);
  } else if constexpr (is_map_v<Plain>) {
    visitor.structure(value.size());
    for (auto& [key, element] : value) {
      visitor.structure(std::string_view(key));
      visit_member(visitor, key, element);
    }
  } else if constexpr (MacroContainer<Plain>) {
    nx_visit_members_(visitor, value);
  } else if constexpr (requires { value.size(); value.begin(); }) {  // std::array
    std::size_t index = 0;
    for (auto& element : value) visit_element_at(visitor, index++, element);
  } else {  // pair, tuple
    std::apply(
        [&](auto&... element) {
          std::size_t index = 0;
          (visit_element_at(visitor, index++, element), ...);
        },
        value);
  }
}

/// Calls `f(tensor)` for each leaf.
template <class T, class F>
void for_each_leaf(T& value, F&& f) {
  struct Visitor : NullVisitor {
    explicit Visitor(F& function) : function_(function) {}
    void leaf(std::conditional_t<std::is_const_v<T>, const Tensor, Tensor>& t) { function_(t); }
    F& function_;
  } visitor(f);
  visit(visitor, value);
}

/// Calls `f(path, tensor)` for each leaf; the path begins with `prefix`.
template <class T, class F>
void for_each_leaf_with_path(T& value, std::string prefix, F&& f) {
  struct Visitor : NullVisitor {
    Visitor(F& function, std::string p) : function_(function), path(std::move(p)) {}
    void leaf(std::conditional_t<std::is_const_v<T>, const Tensor, Tensor>& t) {
      function_(std::as_const(path), t);
    }
    void enter(std::string_view name) {
      lengths.push_back(path.size());
      if (!path.empty()) path += '.';
      path += name;
    }
    void enter(std::size_t index) {
      lengths.push_back(path.size());
      path += '[' + std::to_string(index) + ']';
    }
    void leave() {
      path.resize(lengths.back());
      lengths.pop_back();
    }
    F& function_;
    std::string path;
    std::vector<std::size_t> lengths;
  } visitor(f, std::move(prefix));
  visit(visitor, value);
}

}  // namespace detail
}  // namespace nx

// Expands `m(a) m(b) …` for up to 256 members.
#define NX_PARENS_ ()
#define NX_EXPAND_(...) NX_EXPAND2_(NX_EXPAND2_(NX_EXPAND2_(NX_EXPAND2_(__VA_ARGS__))))
#define NX_EXPAND2_(...) NX_EXPAND1_(NX_EXPAND1_(NX_EXPAND1_(NX_EXPAND1_(__VA_ARGS__))))
#define NX_EXPAND1_(...) NX_EXPAND0_(NX_EXPAND0_(NX_EXPAND0_(NX_EXPAND0_(__VA_ARGS__))))
#define NX_EXPAND0_(...) __VA_ARGS__
#define NX_EACH_(m, ...) __VA_OPT__(NX_EXPAND_(NX_EACH_STEP_(m, __VA_ARGS__)))
#define NX_EACH_STEP_(m, a, ...) m(a) __VA_OPT__(NX_EACH_AGAIN_ NX_PARENS_(m, __VA_ARGS__))
#define NX_EACH_AGAIN_() NX_EACH_STEP_
#define NX_VISIT_ONE_(member) \
  ::nx::detail::visit_member(nx_visitor_, #member, nx_value_.member);

/// Makes an aggregate a container: `NX_CONTAINER(State, w, m)`, at namespace scope after the type,
/// with every member, in any order. A forgotten member does not compile.
#define NX_CONTAINER(Type, ...)                                                             \
  template <class NxVisitor_, class NxValue_>                                               \
    requires std::same_as<std::remove_const_t<NxValue_>, Type>                              \
  inline void nx_visit_members_([[maybe_unused]] NxVisitor_& nx_visitor_, NxValue_& nx_value_) { \
    if (false) {                                                                            \
      [[maybe_unused]] auto& [__VA_ARGS__] = nx_value_;                                     \
    }                                                                                       \
    NX_EACH_(NX_VISIT_ONE_, __VA_ARGS__)                                                    \
  }
