// Chains: elementwise operations of one type, one after the other, whose values stay in vector
// registers. Each operation rounds by itself, as it does alone.
//
// A chain is an array of links: the place of the value that it begins with; one link for each
// operation, with the place of its other operand; the place of the result. Links work on the value
// in registers and jump to the next. They are compiled for each operation, type and SIMD target
// (chain-inl.h). Chains that follow one another are run as one: all of them over a few vectors,
// then over the next, so that the slow operations of one overlap with the others.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nx::kernels {

/// Code of a link; its signature is known to the SIMD target alone.
using ChainCode = void (*)();

struct LinkCode {
  ChainCode block = nullptr;  // for a fixed number of whole vectors
  ChainCode rest = nullptr;   // for up to one vector
};

struct ChainLink {
  LinkCode code;
  std::uint32_t place = 0;  // of the first value, the other operand, or the result
  std::uint32_t scale = 0;  // place of the element that the other operand is multiplied by
};

/// Runs the chains of `links` over `count` elements; `at` are the addresses of places. The result
/// may lie on operands that are read element by element.
using ChainRun = void (*)(const ChainLink* links, std::byte* const* at, std::size_t count);

/// An operation as the first of its chain, in the middle and as the last. A chain of one operation
/// is a first one, and a link that stores.
struct LinkForm {
  ChainRun first = nullptr;
  LinkCode next;  // the first of a chain that follows another: in the link of what it begins with
  LinkCode middle, last;
};

/// How an operation is a link of chains of one type.
struct ChainForm {
  LinkCode store;  // null: it is none. The same for all operations of a type
  LinkCode store_and_go_on;  // to the chain that follows
  LinkForm unary;
  struct Binary {
    // The other operand: an element for each position, one for all, or elements times one for all
    // (null where there is no such form).
    LinkForm many, one, scaled;
  };
  Binary left, right;       // the side of the value in registers
  bool multiplies = false;  // its result is what links with scaled operands compute themselves
  bool exists() const noexcept { return store.block != nullptr; }
};

}  // namespace nx::kernels
