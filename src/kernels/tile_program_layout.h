// Sizes shared by the two halves of the tile program: the one that lays it out, the one that runs
// it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nx::kernels {

/// Tiles of a row that are reduced one after the other into one partial result.
inline constexpr std::int64_t kRowChunkTiles = 32;
/// Elements that are reduced into one partial result of columns, when there are many rows.
inline constexpr std::int64_t kColumnChunkElements = 32768;
inline constexpr std::int64_t kMaxColumnChunks = 16;
/// Registers up to this size are on the stack of the thread that runs the program.
inline constexpr std::size_t kStackArena = 64 * 1024;
/// Partial results up to this size are on the stack of the caller.
inline constexpr std::size_t kStackScratch = 8 * 1024;
inline constexpr std::size_t kMaxPlaces = 1024;
inline constexpr std::size_t kMaxOperands = 16;  // of one operation
/// Registers of programs without reductions are kept within this by smaller tiles.
inline constexpr std::size_t kFirstCacheShare = 24 * 1024;
inline constexpr std::int64_t kSmallestTile = 256;
inline constexpr int kMaxTeamOfLargePrograms = 16;
/// Tiles of several rows are a multiple of so many elements: a cache line of f32.
inline constexpr std::int64_t kTileStep = 16;
/// What reducing one more row costs, however short it is.
inline constexpr double kRowCostNs = 5;

}  // namespace nx::kernels
