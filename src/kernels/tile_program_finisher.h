// The layout of a tile program: the finisher's state, for its parts in the .cpp.
#pragma once

#include <span>
#include <vector>

#include "kernels/tile_program.h"
#include "kernels/tile_program_layout.h"
#include "nx/error.h"

namespace nx::kernels {

/// One layout of a builder's values for one size of tile.
class TileProgramFinisher {
 public:
  using Builder = TileProgramBuilder;
  using Value = Builder::Value;
  using Kind = Builder::Kind;
  using OpKind = TileProgram::OpKind;

  TileProgramFinisher(const Builder& builder, std::span<const SlotAlias> aliases)
      : b_(builder), aliases_(aliases) {
    find_uses();
    is_flat_ = b_.reductions_.empty();
    for (const Builder::Node& node : b_.nodes_)
      is_flat_ = is_flat_ && (node.extent == Extent::kFull || node.extent == Extent::kScalar);
  }

  TileProgram layout(std::int64_t tile);
  bool is_flat() const noexcept { return is_flat_; }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  struct Register {
    std::size_t offset, bytes;
    bool free;
  };

  void find_uses();
  void choose_tile(std::int64_t tile);
  void choose_units();
  /// They outlive a tile: in registers that nothing else is ever put into.
  void place_collected_columns();
  void place_inputs();
  void add_operations();
  void add_operation(Value v);
  /// When the program does nothing else: strided reads of whole arrays.
  void add_whole_copies();
  void add_scratch();
  std::uint32_t new_place() {
    if (p_.places_ == kMaxPlaces) throw InternalError("host", "a tile program is too large");
    return p_.places_++;
  }
  /// A place in the arena of as many elements as `extent` needs.
  std::uint32_t new_register(Extent extent, std::size_t element, std::size_t& index);
  void emit_chain(Value v, std::uint32_t out);
  /// What link `link` of chain `v` reads, or where it stores.
  std::uint32_t place_of_link(Value v, std::size_t link);
  bool follows_chain(Value v) const;
  void go_on_after_chain();
  /// How much of a register with copies of one element is read.
  Extent widest_read(Value v) const;
  void release_operands(Value v);
  /// Whether a later operation reads memory that writing result `slot` at once may overwrite, when
  /// it is written by value `v`: at its end, or by one of its links.
  bool is_overwriting(std::int64_t slot, Value v, std::size_t link = kNone) const;
  /// Whether a link of chain `v` after `link` reads input `slot`.
  bool reads_later(Value v, std::size_t link, std::uint32_t slot) const;
  /// The result in output `slot`, which is like value `v`.
  std::uint32_t output_place(std::int64_t slot, Value v);
  /// Copies it there from a register at the end of the tile.
  void copy_later(std::int64_t slot, Value v, std::uint32_t from, Extent extent);
  TileProgram::Op& emit(OpKind kind, Value v, std::uint32_t out, std::span<const Value> in);
  bool needs_copy(Kind kind) const noexcept {
    return kind == Kind::kInput || kind == Kind::kConstant;
  }
  bool is_final(Kind kind) const noexcept {
    return kind == Kind::kReduceLongRow || kind == Kind::kReduceColumn;
  }

  const Builder& b_;
  std::span<const SlotAlias> aliases_;
  bool is_flat_ = true;
  std::vector<std::uint32_t> last_use_;  // by value: the last value that reads it
  std::vector<bool> used_;
  std::vector<std::uint32_t> last_read_of_slot_;
  TileProgram p_;
  std::vector<Register> registers_;
  std::vector<std::uint32_t> place_;       // by value
  std::vector<std::size_t> register_of_;   // by value, for values in the arena
  std::vector<TileProgram::Op> deferred_;  // copies at the end of a tile
  std::uint32_t last_chain_ = kNone;       // the value of the chain that was emitted last
};

}  // namespace nx::kernels
