// Tile programs: short programs of tile kernels run over the tiles of a rows x columns space, with
// registers that are small buffers in the first cache. No code is generated; no graph is known.
//
// A builder collects the operations as values; `finish` fixes the tile, the registers and where
// results are written. The order of every reduction depends on rows, columns and the operations
// alone: not on threads, addresses or which results lie on which operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/chain.h"
#include "kernels/strided.h"
#include "kernels/tile.h"
#include "kernels/view.h"

namespace nx::kernels {

/// How a value varies over the space.
enum class Extent : std::uint8_t {
  kFull = 0,   // one element for each position
  kPerRow,     // one for each row
  kPerColumn,  // one for each column
  kScalar,
};

/// The largest number of elements of a tile, and the widest row that one tile holds whole: up to
/// it the reduction of a row can be used by later operations of the same program.
inline constexpr std::int64_t kTileElements = 1024;

/// What a reduction of one element type runs.
struct ReductionKernels {
  TileKernel combine = nullptr;
  RowReduceKernel row = nullptr;
  alignas(16) std::array<std::byte, 16> identity{};
  std::uint32_t element = 4;
};

/// Makes values from their flat position (iota).
class Generator {
 public:
  virtual ~Generator() = default;
  virtual void fill(std::int64_t first, std::size_t count, void* to) const = 0;
};

/// Result `output` and input `input` may be one memory: equal positions, equal element size.
struct SlotAlias {
  std::uint32_t output = 0, input = 0;
};

class TileProgram {
 public:
  /// Bytes that `run` needs, 64-byte aligned.
  std::size_t scratch_bytes() const noexcept { return scratch_bytes_; }
  /// Estimated work on one thread.
  double cost_us() const noexcept { return cost_us_; }
  std::int64_t rows() const noexcept { return rows_; }
  std::int64_t columns() const noexcept { return columns_; }
  std::int64_t tile_rows() const noexcept { return tile_rows_; }
  std::int64_t tile_columns() const noexcept { return tile_columns_; }
  /// Those of a chain count one by one.
  std::size_t operations() const noexcept { return operations_; }
  std::size_t register_bytes() const noexcept { return arena_bytes_; }
  std::size_t own_bytes() const noexcept {
    return sizeof(*this) + body_.size() * sizeof(Op) + operands_.size() * 4 +
           links_.size() * sizeof(ChainLink) + moving_.size() * sizeof(Moving) +
           fixed_.size() * sizeof(Fixed) + reductions_.size() * sizeof(ReductionState) +
           constants_.size() * 16 + copies_.size() * sizeof(WholeCopy);
  }
  /// `in` and `out` are arrays by slot. Runs once, on up to `threads` threads.
  void run(const void* const* in, void* const* out, void* scratch, int threads,
           KernelStatus* status) const noexcept;

 private:
  friend class TileProgramFinisher;
  enum class OpKind : std::uint8_t {
    kApply,
    kChain,
    kLoadStrided,
    kGatherStrided,
    kGenerate,
    kExpandRows,
    kReduceRow,
    kReduceLongRow,
    kReduceColumn,
    kCopy,
  };
  /// An operation on places: entries of a table of addresses, one table for each thread.
  struct Op {
    OpKind kind;
    Extent extent;
    std::uint16_t operands = 0;
    std::uint32_t first_operand = 0;  // in operands_
    std::uint32_t out = 0;            // place
    std::uint32_t extra = 0;          // index into views_, generators_, reductions_, links_
    std::uint32_t element = 4;
    TileKernel kernel = nullptr;
    ChainRun chain = nullptr;
  };
  /// A register that is filled before the first tile.
  struct Preset {
    enum class Kind : std::uint8_t { kConstant, kScalar, kRow } kind;
    Extent extent;                // how much of the register is used; kScalar: one element
    std::uint32_t place, source;  // index of the constant, or input slot
    std::uint32_t element;
    std::int64_t offset;  // of the input, in elements
  };
  /// A place that follows the tile over an array.
  struct Moving {
    std::uint32_t place, slot;
    bool output;
    Extent extent;
    std::int64_t element, offset;
  };
  struct Fixed {
    std::uint32_t place;
    std::size_t offset;  // in the arena
  };
  struct ReductionState {
    ReductionKernels reduction;
    std::uint32_t slot = 0;
    bool columns = false;     // of columns
    bool long_rows = false;   // of rows wider than a tile
    std::uint32_t place = 0;  // of the rows that columns are collected in, when tiles have several
    std::size_t scratch = 0;  // offset of the partial results
    std::size_t stride = 0;   // bytes of one partial result
  };
  struct StridedInput {
    StridedView view;
    std::uint32_t slot;
  };
  /// Of a program that does nothing but read arrays through strides: not by tiles.
  struct WholeCopy {
    StridedCopy copy;
    std::uint32_t from, to;  // slots
    std::int64_t offset;     // of the first element read, in bytes
  };
  struct Call;
  struct Tile {
    std::int64_t unit, row, rows, column, columns;
    std::int64_t flat, count;
  };

  void run_units(const Call& call, std::int64_t begin, std::int64_t end, int thread) const noexcept;
  void run_units_in(const Call& call, std::int64_t begin, std::int64_t end,
                    std::byte* arena) const noexcept;
  Tile tile_at(std::int64_t unit, std::int64_t index) const noexcept;
  std::int64_t tiles_of_unit(std::int64_t unit) const noexcept;
  void run_tile(const Call& call, const Tile& tile, std::byte** at) const noexcept;
  void prefetch_after(const Tile& tile, std::byte* const* at) const noexcept;
  void run_prologue(const Call& call, std::byte** at) const noexcept;
  void begin_unit(const Call& call, std::int64_t unit, std::byte* const* at) const noexcept;
  void end_unit(const Call& call, std::int64_t unit, std::byte* const* at) const noexcept;
  void end_program(const Call& call) const noexcept;
  void end_columns(const Call& call, const ReductionState& state) const noexcept;
  void end_rows(const Call& call, const ReductionState& state) const noexcept;
  /// Where the columns of a unit that is a block of them go.
  std::byte* block_result(const Call& call, const ReductionState& state,
                          std::int64_t unit) const noexcept;
  void reduce_long_row(const Call& call, const Op& op, const Tile& tile,
                       const std::byte* from) const noexcept;
  void reduce_column(const Call& call, const Op& op, const Tile& tile, const std::byte* from,
                     std::byte* const* at) const noexcept;

  std::int64_t rows_ = 1, columns_ = 1;
  std::int64_t tile_rows_ = 1, tile_columns_ = 1;
  // A unit is a run of tiles that is never split between threads. How tiles form units:
  enum class Units : std::uint8_t {
    kTiles,         // a tile
    kRowChunks,     // a part of one row that is wider than a tile
    kRowGroups,     // a fixed number of tiles of whole rows, of one group
    kColumnBlocks,  // one block of columns, all rows of one group
  };
  Units unit_kind_ = Units::kTiles;
  std::int64_t group_rows_ = 1;  // that are reduced into one, each column by itself
  std::int64_t tiles_ = 1, tiles_per_row_ = 1;
  std::int64_t tiles_per_unit_ = 1, units_per_group_ = 1, units_ = 1;
  std::int64_t row_chunks_ = 1;  // partial results of a row wider than a tile
  std::size_t arena_bytes_ = 0;
  std::size_t arena_scratch_ = 0;  // where registers lie in scratch when too large for the stack
  int arena_slots_ = 0;            // 0: registers are on the stack
  std::size_t scratch_bytes_ = 0;
  double cost_us_ = 0;
  std::uint32_t places_ = 0;
  bool is_flat_ = false;       // one row, no reductions: tiles follow one another
  bool has_partials_ = false;  // some reduction outlives its tile
  std::vector<Preset> presets_;
  std::vector<Op> body_;
  std::size_t operations_ = 0;
  std::vector<std::uint32_t> operands_;
  std::vector<ChainLink> links_;
  std::vector<Moving> moving_;
  std::vector<Fixed> fixed_;
  std::vector<StridedInput> views_;
  std::vector<WholeCopy> copies_;  // if any, they are the program
  std::vector<std::shared_ptr<const Generator>> generators_;
  std::vector<ReductionState> reductions_;
  std::vector<std::array<std::byte, 16>> constants_;
};

class TileProgramBuilder {
 public:
  using Value = std::uint32_t;

  TileProgramBuilder(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {}

  /// An array of the caller, contiguous in its extent, from `offset` elements on.
  Value input(Extent extent, std::size_t element, std::uint32_t slot, std::int64_t offset = 0);
  /// An array read through strides, one element for each position.
  Value strided_input(const StridedView& view, std::size_t element, std::uint32_t slot);
  Value constant(const void* bytes, std::size_t element);
  Value generate(std::shared_ptr<const Generator> generator, std::size_t element);
  /// Elementwise; operands of smaller extents are repeated. `cost_ns` is for one element. With a
  /// `form`, it and operations beside it may run as one chain.
  Value apply(TileKernel kernel, std::span<const Value> in, Extent extent, std::size_t element,
              float cost_ns, const ChainForm& form = {});
  /// Each row of a full value into one; a value per row. Rows wider than a tile: see is_final.
  Value reduce_rows(const ReductionKernels& reduction, Value full);
  /// Each column into one. Always final. With `groups`, so many runs of as many rows are reduced
  /// each by itself, into one row; all reductions of columns of a program have the same.
  Value reduce_columns(const ReductionKernels& reduction, Value full, std::int64_t groups = 1);
  /// The value again, over `extent`: to store one value twice, or as another extent.
  Value copy(Value value, Extent extent);
  /// The value goes to the array in output `slot`: once for each value, a scalar over all
  /// positions.
  void store(Value value, std::uint32_t slot);
  Extent extent(Value value) const noexcept { return nodes_[value].extent; }

  TileProgram finish(std::span<const SlotAlias> aliases) const;

 private:
  friend class TileProgramChainer;
  friend class TileProgramFinisher;
  enum class Kind : std::uint8_t {
    kInput,
    kStrided,
    kConstant,
    kGenerate,
    kApply,
    kChain,
    kExpand,
    kReduceRow,
    kReduceLongRow,
    kReduceColumn,
    kCopy,
  };
  struct Link {
    LinkForm form{};
    std::size_t operand = 0;  // in `in`; 0: there is none
    bool one = false;         // one element for all
    std::size_t scale = 0;    // in `in`; 0: there is none
    std::int64_t store = -1;  // output slot of a link that stores the value and passes it on
  };
  struct Node {
    Kind kind;
    Extent extent;
    std::uint32_t element;
    std::uint32_t slot = 0;   // of an input
    std::uint32_t extra = 0;  // index of the view, generator, constant or reduction
    std::int64_t offset = 0;  // of an input, in elements
    TileKernel kernel = nullptr;
    float cost_ns = 0;
    std::vector<Value> in;    // of a chain: what it begins with, then the operands of its links
    std::int64_t store = -1;  // output slot
    ChainForm form;
    std::vector<Link> links;  // of a chain
  };
  Value add(Node node);
  /// The value as operand of an operation over `extent`.
  Value widened(Value value, Extent extent);
  /// Makes elementwise operations chains, as long as each value has one reader.
  void make_chains();
  /// One element for all positions, in a register that the program fills.
  bool is_one(Value value) const;
  /// Whether the operation reads its operand `operand` as that one element.
  bool reads_one(const Node& node, std::size_t operand) const;

  std::int64_t rows_, columns_, groups_ = 1;
  std::vector<Node> nodes_;
  std::vector<StridedView> views_;
  std::vector<std::shared_ptr<const Generator>> generators_;
  std::vector<std::array<std::byte, 16>> constants_;
  std::vector<ReductionKernels> reductions_;
};

}  // namespace nx::kernels
