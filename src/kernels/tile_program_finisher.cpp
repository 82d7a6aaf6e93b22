// Laying a tile program out: the tile, the units, registers by lifetimes, and which results are
// written at once.
#include "kernels/tile_program_finisher.h"

#include <algorithm>
#include <numeric>

namespace nx::kernels {

using Value = TileProgramBuilder::Value;

namespace {

/// How many results the value, or a link of its chain, is.
template <class Node>
auto stores_of(const Node& node) {
  return (node.store >= 0 ? 1 : 0) +
         std::count_if(node.links.begin(), node.links.end(),
                       [](const auto& link) { return link.store >= 0; });
}

/// As many rows as fit into `tile` elements, all tiles about alike. Where there are several, they
/// begin with a cache line of the arrays: what crosses one takes twice as long to read or write.
std::int64_t rows_of_tile(std::int64_t rows, std::int64_t columns, std::int64_t tile) {
  const std::int64_t fitting = std::max<std::int64_t>(1, tile / columns);
  if (rows <= fitting) return std::max<std::int64_t>(1, rows);
  const std::int64_t line = kTileStep / std::gcd(kTileStep, columns);
  const std::int64_t step = line <= fitting ? line : 1, most = fitting / step * step;
  const std::int64_t tiles = (rows + most - 1) / most, alike = (rows + tiles - 1) / tiles;
  return (alike + step - 1) / step * step;
}

}  // namespace

void TileProgramFinisher::find_uses() {
  const std::size_t count = b_.nodes_.size();
  last_use_.assign(count, 0);
  used_.assign(count, false);
  for (Value v = 0; v < count; ++v) {
    const Builder::Node& node = b_.nodes_[v];
    for (const Value in : node.in) {
      last_use_[in] = v;
      used_[in] = true;
    }
    if (node.store >= 0 && needs_copy(node.kind)) {
      last_use_[v] = std::max(last_use_[v], v);
      used_[v] = true;
    }
  }
  for (Value v = 0; v < count; ++v) {
    const Builder::Node& node = b_.nodes_[v];
    if (node.kind != Kind::kInput && node.kind != Kind::kStrided) continue;
    if (node.slot >= last_read_of_slot_.size()) last_read_of_slot_.resize(node.slot + 1, 0);
    auto& last = last_read_of_slot_[node.slot];
    // A strided load is read through a register or at its run: count both as reads.
    last = std::max(last, std::max(v, last_use_[v]));
  }
}

void TileProgramFinisher::choose_tile(std::int64_t tile) {
  p_.is_flat_ = is_flat_;
  p_.rows_ = is_flat_ ? 1 : b_.rows_;
  p_.columns_ = is_flat_ ? b_.rows_ * b_.columns_ : b_.columns_;
  p_.group_rows_ = p_.rows_ / b_.groups_;
  p_.tile_columns_ = std::min(p_.columns_, tile);
  p_.tile_rows_ = 1;
  if (p_.columns_ > 0 && p_.columns_ <= tile)
    p_.tile_rows_ = rows_of_tile(p_.group_rows_, p_.columns_, tile);
  if (p_.columns_ == 0) p_.tile_columns_ = 1;
  p_.tiles_per_row_ = (p_.columns_ + p_.tile_columns_ - 1) / p_.tile_columns_;
  p_.tiles_ = (p_.rows_ + p_.tile_rows_ - 1) / p_.tile_rows_ * p_.tiles_per_row_;
  choose_units();
}

void TileProgramFinisher::choose_units() {
  bool columns = false, long_rows = false;
  for (const Builder::Node& node : b_.nodes_) {
    columns = columns || node.kind == Kind::kReduceColumn;
    long_rows = long_rows || node.kind == Kind::kReduceLongRow;
  }
  p_.tiles_per_unit_ = 1;
  p_.unit_kind_ = TileProgram::Units::kTiles;
  if (long_rows) {
    if (columns) throw InternalError("host", "long rows and columns are reduced in one program");
    p_.unit_kind_ = TileProgram::Units::kRowChunks;
    p_.row_chunks_ = (p_.tiles_per_row_ + kRowChunkTiles - 1) / kRowChunkTiles;
    p_.units_ = p_.rows_ * p_.row_chunks_;
  } else if (columns && p_.tiles_per_row_ > 1) {
    p_.unit_kind_ = TileProgram::Units::kColumnBlocks;
    p_.units_ = b_.groups_ * p_.tiles_per_row_;
  } else if (columns) {
    // Each unit has a partial result: a few of them, and more than one for more than one thread.
    p_.unit_kind_ = TileProgram::Units::kRowGroups;
    const std::int64_t tiles = (p_.group_rows_ + p_.tile_rows_ - 1) / p_.tile_rows_;
    const std::int64_t units =
        std::clamp<std::int64_t>(p_.group_rows_ * p_.columns_ / kColumnChunkElements,
                                 b_.groups_ == 1 ? 2 : 1, kMaxColumnChunks);
    p_.tiles_per_unit_ = std::max<std::int64_t>(1, (tiles + units - 1) / units);
    p_.units_per_group_ = (tiles + p_.tiles_per_unit_ - 1) / p_.tiles_per_unit_;
    p_.units_ = b_.groups_ * p_.units_per_group_;
  } else {
    p_.units_ = p_.tiles_;
  }
}

std::uint32_t TileProgramFinisher::new_register(Extent extent, std::size_t element,
                                                std::size_t& index) {
  const std::int64_t rows = std::min(p_.tile_rows_, p_.rows_);
  const std::int64_t elements = extent == Extent::kFull
                                    ? rows * std::min(p_.tile_columns_, p_.columns_)
                                : extent == Extent::kPerRow ? rows
                                                            : 1;
  const std::size_t bytes = (static_cast<std::size_t>(elements) * element + 63) / 64 * 64;
  for (index = 0; index < registers_.size(); ++index)
    if (registers_[index].free && registers_[index].bytes == bytes) break;
  if (index == registers_.size()) {
    registers_.push_back({p_.arena_bytes_, bytes, false});
    p_.arena_bytes_ += bytes;
  }
  registers_[index].free = false;
  const std::uint32_t place = new_place();
  p_.fixed_.push_back({place, registers_[index].offset});
  return place;
}

Extent TileProgramFinisher::widest_read(Value v) const {
  if (b_.nodes_[v].store >= 0) return Extent::kFull;
  Extent widest = Extent::kScalar;
  for (const Builder::Node& reader : b_.nodes_)
    for (std::size_t k = 0; k < reader.in.size(); ++k) {
      if (reader.in[k] != v || b_.reads_one(reader, k)) continue;
      if (reader.extent == Extent::kFull || is_final(reader.kind) ||
          reader.kind == Kind::kReduceRow)
        return Extent::kFull;
      widest = Extent::kPerRow;
    }
  return widest;
}

void TileProgramFinisher::place_inputs() {
  for (Value v = 0; v < b_.nodes_.size(); ++v) {
    const Builder::Node& node = b_.nodes_[v];
    if (!used_[v] || (node.kind != Kind::kInput && node.kind != Kind::kConstant)) continue;
    const bool repeated = node.extent == Extent::kPerColumn && p_.tile_rows_ > 1;
    if (node.kind == Kind::kInput && node.extent != Extent::kScalar && !repeated) {
      place_[v] = new_place();
      p_.moving_.push_back(
          {place_[v], node.slot, false, node.extent, std::int64_t(node.element), node.offset});
      continue;
    }
    const Extent extent = repeated ? Extent::kFull : widest_read(v);
    std::size_t index;
    place_[v] = new_register(extent, node.element, index);
    using Preset = TileProgram::Preset;
    const auto kind = node.kind == Kind::kConstant ? Preset::Kind::kConstant
                      : repeated                   ? Preset::Kind::kRow
                                                   : Preset::Kind::kScalar;
    p_.presets_.push_back({kind, extent, place_[v],
                           node.kind == Kind::kConstant ? node.extra : node.slot, node.element,
                           node.offset});
  }
}

void TileProgramFinisher::place_collected_columns() {
  if (p_.unit_kind_ != TileProgram::Units::kRowGroups) return;
  std::size_t index;
  for (const Builder::Node& node : b_.nodes_)
    if (node.kind == Kind::kReduceColumn)
      p_.reductions_[node.extra].place = new_register(Extent::kFull, node.element, index);
}

bool TileProgramFinisher::is_overwriting(std::int64_t slot, Value v, std::size_t link) const {
  for (const SlotAlias& alias : aliases_)
    if (alias.output == slot && alias.input < last_read_of_slot_.size() &&
        (last_read_of_slot_[alias.input] > v ||
         (link != kNone && reads_later(v, link, alias.input))))
      return true;
  return false;
}

std::uint32_t TileProgramFinisher::output_place(std::int64_t slot, Value v) {
  const Builder::Node& node = b_.nodes_[v];
  const std::uint32_t place = new_place();
  const Extent extent = node.extent == Extent::kPerRow ? Extent::kPerRow : Extent::kFull;
  p_.moving_.push_back(
      {place, static_cast<std::uint32_t>(slot), true, extent, std::int64_t(node.element), 0});
  return place;
}

void TileProgramFinisher::copy_later(std::int64_t slot, Value v, std::uint32_t from,
                                     Extent extent) {
  TileProgram::Op copy = emit(OpKind::kCopy, v, output_place(slot, v), {});
  p_.body_.pop_back();
  p_.operands_.push_back(from);
  copy.extent = extent;
  deferred_.push_back(copy);
}

TileProgram::Op& TileProgramFinisher::emit(OpKind kind, Value v, std::uint32_t out,
                                           std::span<const Value> in) {
  const Builder::Node& node = b_.nodes_[v];
  TileProgram::Op op{kind, node.extent};
  op.operands = static_cast<std::uint16_t>(in.size());
  op.first_operand = static_cast<std::uint32_t>(p_.operands_.size());
  op.out = out;
  op.extra = node.extra;
  op.element = node.element;
  op.kernel = node.kernel;
  for (const Value value : in) p_.operands_.push_back(place_[value]);
  p_.body_.push_back(op);
  return p_.body_.back();
}

void TileProgramFinisher::release_operands(Value v) {
  for (const Value in : b_.nodes_[v].in)
    if (last_use_[in] == v && register_of_[in] != kNone) registers_[register_of_[in]].free = true;
}

void TileProgramFinisher::add_operation(Value v) {
  const Builder::Node& node = b_.nodes_[v];
  if (needs_copy(node.kind)) {
    if (node.store < 0) return;
    // An array copied as it is; through a register when something still reads where it goes.
    const bool wait = is_overwriting(node.store, v);
    std::size_t index;
    const Extent extent = node.extent == Extent::kPerRow ? Extent::kPerRow : Extent::kFull;
    const std::uint32_t out =
        wait ? new_register(extent, node.element, index) : output_place(node.store, v);
    const Value self[1] = {v};
    emit(OpKind::kCopy, v, out, self).extent = extent;
    if (wait) copy_later(node.store, v, out, extent);
    return;
  }
  if (is_final(node.kind)) {
    emit(node.kind == Kind::kReduceColumn ? OpKind::kReduceColumn : OpKind::kReduceLongRow, v, 0,
         node.in)
        .extent = Extent::kFull;
    TileProgram::ReductionState& state = p_.reductions_[node.extra];
    state.slot = static_cast<std::uint32_t>(std::max<std::int64_t>(node.store, 0));
    state.columns = node.kind == Kind::kReduceColumn;
    state.long_rows = !state.columns;
    release_operands(v);
    return;
  }
  if (!used_[v] && stores_of(node) == 0) {
    release_operands(v);
    return;
  }
  const bool direct = node.store >= 0 && !is_overwriting(node.store, v);
  if (direct) {
    place_[v] = output_place(node.store, v);
  } else {
    // An elementwise operation may write over an operand that nobody needs any more. The place of
    // a strided load may be the caller's array.
    std::size_t index = kNone;
    if (node.kind == Kind::kApply || node.kind == Kind::kChain)
      for (const Value in : node.in)
        if (index == kNone && last_use_[in] == v && register_of_[in] != kNone &&
            b_.nodes_[in].kind != Kind::kStrided && b_.nodes_[in].element == node.element &&
            b_.nodes_[in].extent == node.extent) {
          index = register_of_[in];
          place_[v] = place_[in];
        }
    if (index == kNone) place_[v] = new_register(node.extent, node.element, index);
    register_of_[v] = index;
  }
  switch (node.kind) {
    case Kind::kApply: emit(OpKind::kApply, v, place_[v], node.in); break;
    case Kind::kChain: emit_chain(v, place_[v]); break;
    case Kind::kGenerate: emit(OpKind::kGenerate, v, place_[v], {}); break;
    case Kind::kCopy: emit(OpKind::kCopy, v, place_[v], node.in); break;
    case Kind::kExpand: emit(OpKind::kExpandRows, v, place_[v], node.in); break;
    case Kind::kReduceRow: emit(OpKind::kReduceRow, v, place_[v], node.in); break;
    default:
      if (direct) {
        emit(OpKind::kGatherStrided, v, place_[v], {});
      } else {
        // The load leaves the address of the run or of its register in another place.
        const std::uint32_t buffer = place_[v];
        place_[v] = new_place();
        emit(OpKind::kLoadStrided, v, place_[v], {}).operands = 1;
        p_.operands_.push_back(buffer);
      }
  }
  const std::size_t own = register_of_[v];
  release_operands(v);
  if (own != kNone) registers_[own].free = false;
  if (node.store >= 0 && !direct) {
    copy_later(node.store, v, place_[v], node.extent);
    last_use_[v] = kNone;  // its register is needed to the end of the tile
  }
}

void TileProgramFinisher::add_operations() {
  for (Value v = 0; v < b_.nodes_.size(); ++v) add_operation(v);
  for (const TileProgram::Op& copy : deferred_) p_.body_.push_back(copy);
  p_.operations_ += p_.body_.size();
}

void TileProgramFinisher::add_whole_copies() {
  for (const TileProgram::Op& op : p_.body_)
    if (op.kind != OpKind::kGatherStrided) return;
  p_.cost_us_ = 0;
  for (const Builder::Node& node : b_.nodes_) {
    if (node.kind != Kind::kStrided || node.store < 0) continue;
    const StridedView& view = b_.views_[node.extra];
    p_.copies_.push_back(
        {StridedCopy(node.element, view.dims, row_major_strides(view.dims), view.strides),
         node.slot, static_cast<std::uint32_t>(node.store), view.offset * node.element});
    p_.cost_us_ += p_.copies_.back().copy.cost_us();
  }
}

void TileProgramFinisher::add_scratch() {
  const auto take = [&](std::size_t bytes) {
    const std::size_t at = p_.scratch_bytes_;
    p_.scratch_bytes_ += (bytes + 63) / 64 * 64;
    return at;
  };
  for (TileProgram::ReductionState& state : p_.reductions_) {
    const std::size_t element = state.reduction.element;
    if (state.columns && p_.units_per_group_ > 1) {
      state.stride = (static_cast<std::size_t>(p_.columns_) * element + 63) / 64 * 64;
      state.scratch = take(state.stride * static_cast<std::size_t>(p_.units_));
    } else if (state.long_rows && p_.row_chunks_ > 1) {
      state.scratch = take(static_cast<std::size_t>(p_.units_) * element);
    }
  }
  if (p_.arena_bytes_ > kStackArena) {
    p_.arena_slots_ = static_cast<int>(
        std::min<std::int64_t>(kMaxTeamOfLargePrograms, std::max<std::int64_t>(p_.units_, 1)));
    p_.arena_scratch_ = take(p_.arena_bytes_ * static_cast<std::size_t>(p_.arena_slots_));
  } else if (p_.scratch_bytes_ <= kStackScratch) {
    p_.scratch_bytes_ = 0;
  }
}

TileProgram TileProgramFinisher::layout(std::int64_t tile) {
  p_ = TileProgram();
  registers_.clear();
  deferred_.clear();
  last_chain_ = kNone;
  place_.assign(b_.nodes_.size(), 0);
  register_of_.assign(b_.nodes_.size(), kNone);
  find_uses();
  for (const StridedView& view : b_.views_) p_.views_.push_back({view, 0});
  for (const Builder::Node& node : b_.nodes_)
    if (node.kind == Kind::kStrided) p_.views_[node.extra].slot = node.slot;
  p_.generators_ = b_.generators_;
  p_.constants_ = b_.constants_;
  for (const ReductionKernels& reduction : b_.reductions_) {
    TileProgram::ReductionState state;
    state.reduction = reduction;
    p_.reductions_.push_back(state);
  }
  choose_tile(tile);
  place_collected_columns();
  place_inputs();
  add_operations();
  // Only reductions that outlive their tile need work beside the tiles.
  bool outlives = false;
  for (const TileProgram::ReductionState& state : p_.reductions_)
    outlives = outlives || state.columns || state.long_rows;
  p_.has_partials_ = outlives;
  add_scratch();
  double per_element = 0;
  for (const Builder::Node& node : b_.nodes_) {
    if (node.extent == Extent::kFull || is_final(node.kind) || node.kind == Kind::kReduceRow)
      per_element += node.cost_ns + 0.1 * static_cast<double>(stores_of(node));
    if (node.kind == Kind::kReduceRow)
      per_element += kRowCostNs / static_cast<double>(std::max<std::int64_t>(p_.columns_, 1));
  }
  p_.cost_us_ =
      per_element * static_cast<double>(p_.rows_) * static_cast<double>(p_.columns_) / 1e3;
  add_whole_copies();
  return std::move(p_);
}

TileProgram TileProgramBuilder::finish(std::span<const SlotAlias> aliases) const {
  TileProgramBuilder chained = *this;
  chained.make_chains();
  TileProgramFinisher finisher(chained, aliases);
  std::int64_t tile = kTileElements;
  TileProgram program = finisher.layout(tile);
  while (finisher.is_flat() && program.register_bytes() > kFirstCacheShare &&
         tile > kSmallestTile) {
    tile /= 2;
    program = finisher.layout(tile);
  }
  return program;
}

}  // namespace nx::kernels
