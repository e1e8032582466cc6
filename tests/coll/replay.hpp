// SPDX-License-Identifier: BSD-3-Clause
// Replay: runs the plans of all ranks of one call in one process without a network, on symbols
// instead of data. Each cell of memory (one packed byte, or a part of an element) says whose
// contributions it holds, in which order they met, and what it stands for. Refuses deadlock,
// messages that nobody receives or that have another length, reading what nobody wrote, writing
// inputs, taking memory with gaps for one run of bytes, two messages with one range between them,
// and steps that touch the same memory without one waiting for the other. In shared memory it
// refuses reading what was not awaited, touching what was not claimed or has been left, and ranks
// that take different rounds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/algorithm.hpp"

namespace tutti::coll::replay {

struct Cell {
  uint64_t who = 0;            // sum of the contributors' numbers; 0: never written
  int32_t first = 0, end = 0;  // contributors first … end-1 met in this order; -1: in another one
  int64_t what = 0;            // which datum
  bool operator==(const Cell&) const = default;
};

uint64_t number_of(int rank);        // random, so that sums tell sets apart
Cell datum(int rank, int64_t what);  // a contribution
Cell reduced(int first, int end, int64_t what);

struct Block {
  int64_t offset = 0, count = 0;  // cells
};

struct Rank {
  Shape shape;
  int64_t in_cells = 1, out_cells = 1;       // of one element
  std::vector<Block> in_blocks, out_blocks;  // v and w forms
  std::vector<Cell> input, output;           // filled before, looked at after
};

// Windows of the small lane: few, so that they are used again and again. Of the large one there are
// Shape::large_windows.
inline constexpr int kWindows = 4;

// One of several calls on one communicator.
struct Outstanding {
  std::vector<Rank>* ranks;
  const Algorithm* algorithm;
};

enum class Sends { eager, synchronous };

// Empty, or what is wrong, with the plan of the rank concerned.
std::string run(std::vector<Rank>& ranks, const Algorithm& algorithm, Sends sends, uint64_t seed);
// Several calls, in the order in which all ranks make them: one by one, or all outstanding at once.
std::string run(std::vector<Outstanding>& calls, bool one_by_one, uint64_t seed);

}  // namespace tutti::coll::replay
