// Running a tile program: tiles in units, units over threads, partial results in order.
#include "kernels/tile_program.h"

#include <algorithm>
#include <cstring>

#include "kernels/threads.h"
#include "kernels/tile_program_layout.h"

namespace nx::kernels {

struct TileProgram::Call {
  const void* const* in;
  void* const* out;
  std::byte* scratch;
  KernelStatus* status;
};

namespace {

std::byte* bytes_of(const void* p) noexcept {
  return const_cast<std::byte*>(static_cast<const std::byte*>(p));
}

/// `acc = combine(acc, from)` over `count` elements.
void combine_into(const ReductionKernels& reduction, void* acc, const void* from,
                  std::int64_t count) noexcept {
  const void* const in[2] = {acc, from};
  reduction.combine({in, acc, static_cast<std::size_t>(count), nullptr});
}

}  // namespace

void TileProgram::run(const void* const* in, void* const* out, void* scratch, int threads,
                      KernelStatus* status) const noexcept {
  for (const WholeCopy& copy : copies_)
    copy.copy.run(out[copy.to], bytes_of(in[copy.from]) + copy.offset, threads);
  if (!copies_.empty()) return;
  alignas(64) std::byte small[kStackScratch];
  if (scratch_bytes_ == 0) scratch = small;
  const Call call{in, out, static_cast<std::byte*>(scratch), status};
  if (arena_slots_ != 0) threads = std::min(threads, arena_slots_);
  if (threads <= 1 || units_ == 1) {
    run_units(call, 0, units_, 0);
  } else {
    parallel_for(units_, threads,
                 [this, call](std::int64_t begin, std::int64_t end, std::int64_t part) {
                   run_units(call, begin, end, static_cast<int>(part));
                 });
  }
  if (has_partials_) end_program(call);
}

void TileProgram::run_units(const Call& call, std::int64_t begin, std::int64_t end,
                            int thread) const noexcept {
  if (arena_slots_ != 0) {
    run_units_in(call, begin, end,
                 call.scratch + arena_scratch_ + static_cast<std::size_t>(thread) * arena_bytes_);
    return;
  }
  alignas(64) std::byte arena[kStackArena];
  run_units_in(call, begin, end, arena);
}

std::int64_t TileProgram::tiles_of_unit(std::int64_t unit) const noexcept {
  switch (unit_kind_) {
    case Units::kRowChunks:
      return std::min(kRowChunkTiles, tiles_per_row_ - (unit % row_chunks_) * kRowChunkTiles);
    case Units::kRowGroups: {
      const std::int64_t tiles = (group_rows_ + tile_rows_ - 1) / tile_rows_;
      return std::min(tiles_per_unit_, tiles - unit % units_per_group_ * tiles_per_unit_);
    }
    case Units::kColumnBlocks: return group_rows_;
    case Units::kTiles: break;
  }
  return 1;
}

TileProgram::Tile TileProgram::tile_at(std::int64_t unit, std::int64_t index) const noexcept {
  Tile tile;
  tile.unit = unit;
  std::int64_t block = 0;         // of columns
  std::int64_t rows_end = rows_;  // of those that the tile may have
  switch (unit_kind_) {
    case Units::kRowChunks:
      tile.row = unit / row_chunks_;
      block = (unit % row_chunks_) * kRowChunkTiles + index;
      break;
    case Units::kRowGroups: {
      const std::int64_t first = unit / units_per_group_ * group_rows_;
      index += unit % units_per_group_ * tiles_per_unit_;
      tile.row = first + index * tile_rows_;
      rows_end = first + group_rows_;
      break;
    }
    case Units::kColumnBlocks:
      tile.row = unit / tiles_per_row_ * group_rows_ + index;
      block = unit % tiles_per_row_;
      break;
    case Units::kTiles:
      if (tiles_per_row_ == 1) {
        tile.row = unit * tile_rows_;
      } else {
        tile.row = unit / tiles_per_row_;
        block = unit % tiles_per_row_;
      }
  }
  tile.rows = std::min(tile_rows_, rows_end - tile.row);
  tile.column = block * tile_columns_;
  tile.columns = std::min(tile_columns_, columns_ - tile.column);
  tile.flat = tile.row * columns_ + tile.column;
  tile.count = tile.rows * tile.columns;
  return tile;
}

void TileProgram::run_units_in(const Call& call, std::int64_t begin, std::int64_t end,
                               std::byte* arena) const noexcept {
  std::byte* at[kMaxPlaces];
  for (const Fixed& f : fixed_) at[f.place] = arena + f.offset;
  run_prologue(call, at);
  for (std::int64_t unit = begin; unit < end; ++unit) {
    if (has_partials_) begin_unit(call, unit, at);
    const std::int64_t tiles = tiles_of_unit(unit);
    for (std::int64_t i = 0; i < tiles; ++i) {
      const Tile tile = tile_at(unit, i);
      const std::int64_t positions[4] = {tile.flat, tile.row, tile.column, 0};
      for (const Moving& m : moving_)
        at[m.place] =
            (m.output ? static_cast<std::byte*>(call.out[m.slot]) : bytes_of(call.in[m.slot])) +
            (positions[static_cast<int>(m.extent)] + m.offset) * m.element;
      if (is_flat_) prefetch_after(tile, at);
      run_tile(call, tile, at);
    }
    if (has_partials_) end_unit(call, unit, at);
  }
}

/// The next tile's operands, on their way while this tile is computed.
void TileProgram::prefetch_after(const Tile& tile, std::byte* const* at) const noexcept {
  const std::int64_t next = std::min(tile.count, columns_ - tile.column - tile.count);
  for (const Moving& m : moving_) {
    if (m.output || m.extent != Extent::kFull) continue;
    const std::byte* const from = at[m.place] + tile.count * m.element;
    for (std::int64_t byte = 0; byte < next * m.element; byte += 64)
      __builtin_prefetch(from + byte);
  }
}

void TileProgram::run_prologue(const Call& call, std::byte** at) const noexcept {
  const std::int64_t rows = std::min(tile_rows_, rows_);
  const std::int64_t full = rows * std::min(tile_columns_, columns_);
  for (const Preset& preset : presets_) {
    std::byte* const to = at[preset.place];
    const std::int64_t count = preset.extent == Extent::kFull     ? full
                               : preset.extent == Extent::kPerRow ? rows
                                                                  : 1;
    if (preset.kind == Preset::Kind::kConstant) {
      fill_run(preset.element, constants_[preset.source].data(), count, to);
      continue;
    }
    const std::byte* const from = bytes_of(call.in[preset.source]) + preset.offset * preset.element;
    if (preset.kind == Preset::Kind::kScalar) {
      fill_run(preset.element, from, count, to);
    } else {
      const std::size_t row = static_cast<std::size_t>(columns_) * preset.element;
      for (std::int64_t r = 0; r < rows; ++r)
        std::memcpy(to + static_cast<std::size_t>(r) * row, from, row);
    }
  }
}

void TileProgram::run_tile(const Call& call, const Tile& tile, std::byte** at) const noexcept {
  for (const Op& op : body_) {
    const std::uint32_t* const in = operands_.data() + op.first_operand;
    const std::int64_t count = op.extent == Extent::kFull ? tile.count : tile.rows;
    switch (op.kind) {
      case OpKind::kApply: {
        const void* pointers[kMaxOperands];
        for (std::uint32_t k = 0; k < op.operands; ++k) pointers[k] = at[in[k]];
        op.kernel({pointers, at[op.out], static_cast<std::size_t>(count), call.status});
        break;
      }
      case OpKind::kChain:
        op.chain(links_.data() + op.extra, at, static_cast<std::size_t>(count));
        break;
      case OpKind::kLoadStrided: {
        // The register stays as it is when the tile lies in one run: `in[0]` is its place.
        const StridedInput& input = views_[op.extra];
        const void* const base = call.in[input.slot];
        const void* const run = contiguous_run(input.view, op.element, base, tile.flat, tile.count);
        at[op.out] = run ? bytes_of(run) : at[in[0]];
        if (!run) gather_run(input.view, op.element, base, tile.flat, tile.count, at[op.out]);
        break;
      }
      case OpKind::kGatherStrided: {
        const StridedInput& input = views_[op.extra];
        gather_run(input.view, op.element, call.in[input.slot], tile.flat, tile.count, at[op.out]);
        break;
      }
      case OpKind::kGenerate:
        generators_[op.extra]->fill(tile.flat, static_cast<std::size_t>(count), at[op.out]);
        break;
      case OpKind::kExpandRows:
        repeat_each(op.element, at[in[0]], tile.rows, tile.columns, at[op.out]);
        break;
      case OpKind::kReduceRow: {
        const ReductionKernels& reduction = reductions_[op.extra].reduction;
        fill_run(op.element, reduction.identity.data(), tile.rows, at[op.out]);
        reduction.row(at[in[0]], static_cast<std::size_t>(tile.rows),
                      static_cast<std::size_t>(tile.columns), at[op.out]);
        break;
      }
      case OpKind::kReduceLongRow: reduce_long_row(call, op, tile, at[in[0]]); break;
      case OpKind::kReduceColumn: reduce_column(call, op, tile, at[in[0]], at); break;
      case OpKind::kCopy:
        std::memcpy(at[op.out], at[in[0]], static_cast<std::size_t>(count) * op.element);
        break;
      default: break;
    }
  }
}

void TileProgram::reduce_long_row(const Call& call, const Op& op, const Tile& tile,
                                  const std::byte* from) const noexcept {
  const ReductionState& state = reductions_[op.extra];
  // One chunk: the result is built where it belongs. Else chunk results wait in scratch.
  std::byte* const acc =
      row_chunks_ == 1
          ? static_cast<std::byte*>(call.out[state.slot]) + tile.row * std::int64_t(op.element)
          : call.scratch + state.scratch + static_cast<std::size_t>(tile.unit) * op.element;
  if (tile.column % (kRowChunkTiles * tile_columns_) == 0)
    std::memcpy(acc, state.reduction.identity.data(), op.element);
  state.reduction.row(from, 1, static_cast<std::size_t>(tile.columns), acc);
}

std::byte* TileProgram::block_result(const Call& call, const ReductionState& state,
                                     std::int64_t unit) const noexcept {
  const std::int64_t first =
      unit / tiles_per_row_ * columns_ + unit % tiles_per_row_ * tile_columns_;
  return static_cast<std::byte*>(call.out[state.slot]) +
         first * std::int64_t(state.reduction.element);
}

void TileProgram::reduce_column(const Call& call, const Op& op, const Tile& tile,
                                const std::byte* from, std::byte* const* at) const noexcept {
  const ReductionState& state = reductions_[op.extra];
  std::byte* const acc =
      unit_kind_ == Units::kColumnBlocks ? block_result(call, state, tile.unit) : at[state.place];
  combine_into(state.reduction, acc, from, tile.count);
}

void TileProgram::begin_unit(const Call& call, std::int64_t unit,
                             std::byte* const* at) const noexcept {
  for (const ReductionState& state : reductions_) {
    if (!state.columns) continue;
    const ReductionKernels& reduction = state.reduction;
    if (unit_kind_ == Units::kColumnBlocks) {
      const std::int64_t column = unit % tiles_per_row_ * tile_columns_;
      fill_run(reduction.element, reduction.identity.data(),
               std::min(tile_columns_, columns_ - column), block_result(call, state, unit));
    } else {
      fill_run(reduction.element, reduction.identity.data(), tile_rows_ * columns_,
               at[state.place]);
    }
  }
}

void TileProgram::end_unit(const Call& call, std::int64_t unit,
                           std::byte* const* at) const noexcept {
  if (unit_kind_ != Units::kRowGroups) return;
  for (const ReductionState& state : reductions_) {
    if (!state.columns) continue;
    // The rows that the columns were collected in are folded in halves.
    std::byte* const acc = at[state.place];
    const std::int64_t row = columns_ * std::int64_t(state.reduction.element);
    for (std::int64_t rows = tile_rows_; rows > 1;) {
      const std::int64_t half = (rows + 1) / 2;
      combine_into(state.reduction, acc, acc + half * row, (rows - half) * columns_);
      rows = half;
    }
    std::byte* const to =
        units_per_group_ == 1
            ? static_cast<std::byte*>(call.out[state.slot]) + unit * row
            : call.scratch + state.scratch + static_cast<std::size_t>(unit) * state.stride;
    std::memcpy(to, acc, static_cast<std::size_t>(row));
  }
}

void TileProgram::end_program(const Call& call) const noexcept {
  for (const ReductionState& state : reductions_) {
    if (state.columns && unit_kind_ == Units::kRowGroups && units_per_group_ > 1)
      end_columns(call, state);
    else if (state.long_rows && row_chunks_ > 1) end_rows(call, state);
  }
}

void TileProgram::end_columns(const Call& call, const ReductionState& state) const noexcept {
  const std::size_t row = static_cast<std::size_t>(columns_) * state.reduction.element;
  std::byte* to = static_cast<std::byte*>(call.out[state.slot]);
  const std::byte* from = call.scratch + state.scratch;
  for (std::int64_t unit = 0; unit < units_; ++unit, from += state.stride) {
    if (unit % units_per_group_ != 0) {
      combine_into(state.reduction, to, from, columns_);
      continue;
    }
    if (unit != 0) to += row;
    std::memcpy(to, from, row);
  }
}

void TileProgram::end_rows(const Call& call, const ReductionState& state) const noexcept {
  const std::size_t element = state.reduction.element;
  for (std::int64_t row = 0; row < rows_; ++row) {
    const std::byte* from =
        call.scratch + state.scratch + static_cast<std::size_t>(row * row_chunks_) * element;
    std::byte* const to =
        static_cast<std::byte*>(call.out[state.slot]) + row * std::int64_t(element);
    std::memcpy(to, from, element);
    for (std::int64_t chunk = 1; chunk < row_chunks_; ++chunk)
      combine_into(state.reduction, to, from + static_cast<std::size_t>(chunk) * element, 1);
  }
}

}  // namespace nx::kernels
