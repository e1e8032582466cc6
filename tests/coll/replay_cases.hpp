// SPDX-License-Identifier: BSD-3-Clause
// The calls that are replayed: for each kind, what all ranks have before and must have after it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "coll/shared.hpp"
#include "replay.hpp"

namespace tutti::coll::replay {

// One call on `size` ranks.
struct Case {
  Collective kind;
  int size = 1, root = 0;
  int64_t count = 1;  // cells of a block, or elements of a vector
  bool in_place = false, commutative = true;
  std::vector<int> places = {};  // by rank: its node; empty: there is one

  std::string describe(const Algorithm& algorithm) const {
    return std::string(name_of(kind)) + " " + std::string(algorithm.name) + ": " + std::to_string(size) +
           " ranks, root " + std::to_string(root) + ", count " + std::to_string(count) +
           (in_place ? ", in place" : "") + (commutative ? "" : ", not commutative") + shown_places();
  }
  std::string shown_places() const {
    std::string text;
    for (const int place : places) text += (text.empty() ? ", nodes " : " ") + std::to_string(place);
    return text;
  }
};

constexpr int64_t kPerBlock = 1'000'000;

// Cells of the block from one rank to another (alltoallv, alltoallw); the same both ways, as in
// place demands.
inline int64_t pair_cells(const Case& c, int a, int b) {
  return c.count * ((a * b + a + b) % 4);
}
// Cells of a rank's block in the other v forms.
inline int64_t own_cells(const Case& c, int rank) {
  return c.count * ((rank * 3 + 1) % 4);
}

// Cells of an element: two ranks describe the same bytes differently. Divides all block lengths.
inline int64_t element(const Case& c, int rank, bool input) {
  if (c.count == 0) return 1;
  if (c.count % 6 != 0) return c.count % 2 == 0 ? 1 + (rank + input) % 2 : 1;
  constexpr int64_t kElements[] = {2, 3, 6, 1};
  return kElements[(rank + 2 * input) % 4];
}

inline std::vector<Cell> empty(int64_t cells) {
  return std::vector<Cell>(static_cast<size_t>(cells));
}
inline void put(std::vector<Cell>& at, int64_t offset, int64_t count, int rank, int64_t what) {
  for (int64_t i = 0; i < count; ++i) at[static_cast<size_t>(offset + i)] = datum(rank, what + i);
}
inline std::string expect(const std::vector<Cell>& at, int64_t offset, int64_t count, int from, int64_t what) {
  for (int64_t i = 0; i < count; ++i)
    if (!(at[static_cast<size_t>(offset + i)] == datum(from, what + i)))
      return "cell " + std::to_string(offset + i) + " is not cell " + std::to_string(i) + " of rank " +
             std::to_string(from);
  return {};
}

// Blocks in falling order with a gap between them.
inline std::vector<Block> spread(const Case& c, const std::function<int64_t(int)>& cells, int64_t& total) {
  std::vector<Block> blocks(static_cast<size_t>(c.size));
  total = 0;
  for (int i = c.size - 1; i >= 0; --i) {
    blocks[static_cast<size_t>(i)] = {total, cells(i)};
    total += cells(i) + 1;
  }
  return blocks;
}

inline Rank basic(const Case& c, int r) {
  Rank rank;
  Shape& s = rank.shape;
  s.kind = c.kind;
  s.size = c.size, s.rank = r, s.root = c.root;
  s.in_place = c.in_place;
  s.commutative = c.commutative;
  s.segment = 4;
  if (c.size > 1) {
    // Too small for anything, or for some blocks in shares, or large enough for most.
    s.small_slot = c.size % 3 == 0 ? 1 : c.size % 6 == 5 ? 24 * (c.size - 1) : 4096;
    s.large_slot = c.size + 1;
    s.large_windows = 4 << c.size / 2 % 3;
    if (wants_large_shares(s)) s.large_slot = c.size % 4 == 0 ? 0 : 2 * s.small_slot;
  }
  return rank;
}

// ---- what moves data: set-up and expectation

inline bool has_arrays(const Case& c) {
  return has_arrays(row_of(c.kind).input) || has_arrays(row_of(c.kind).output);
}

inline void set_up_rooted(const Case& c, Rank& rank) {
  Shape& s = rank.shape;
  const bool is_root = s.rank == c.root, gathers = row_of(c.kind).root == Root::gets, v = has_arrays(c);
  rank.in_cells = element(c, s.rank, true), rank.out_cells = element(c, s.rank, false);
  s.in_place = c.in_place && is_root;
  if (!v) s.bytes = c.count;
  const auto cells = [&](int i) { return v ? own_cells(c, i) : c.count; };
  int64_t all = 0;
  std::vector<Block> blocks;
  if (v)
    blocks = spread(c, cells, all);
  else
    all = c.count * c.size;
  const auto offset = [&](int i) { return v ? blocks[static_cast<size_t>(i)].offset : i * c.count; };
  if (gathers) {
    if (!s.in_place) {
      s.in_count = cells(s.rank) / rank.in_cells;
      rank.input = empty(cells(s.rank));
      put(rank.input, 0, cells(s.rank), s.rank, 0);
    }
    if (!is_root) return;
    s.out_count = v ? 0 : c.count / rank.out_cells;
    rank.output = empty(all);
    rank.out_blocks = blocks;
    if (s.in_place) put(rank.output, offset(s.rank), cells(s.rank), s.rank, 0);
  } else {
    if (!s.in_place) {
      s.out_count = cells(s.rank) / rank.out_cells;
      rank.output = empty(cells(s.rank));
    }
    if (!is_root) return;
    s.in_count = v ? 0 : c.count / rank.in_cells;
    rank.input = empty(all);
    rank.in_blocks = blocks;
    for (int i = 0; i < c.size; ++i) put(rank.input, offset(i), cells(i), s.rank, i * kPerBlock);
  }
}

inline std::string check_rooted(const Case& c, const Rank& rank) {
  const Shape& s = rank.shape;
  const bool gathers = row_of(c.kind).root == Root::gets, v = has_arrays(c);
  const auto cells = [&](int i) { return v ? own_cells(c, i) : c.count; };
  if (!gathers) return s.in_place ? "" : expect(rank.output, 0, cells(s.rank), c.root, s.rank * kPerBlock);
  if (s.rank != c.root) return {};
  for (int i = 0; i < c.size; ++i) {
    const int64_t at = v ? rank.out_blocks[static_cast<size_t>(i)].offset : i * c.count;
    if (std::string wrong = expect(rank.output, at, cells(i), i, 0); !wrong.empty()) return wrong;
  }
  return {};
}

inline void set_up_bcast(const Case& c, Rank& rank) {
  Shape& s = rank.shape;
  s.in_place = false;
  s.bytes = c.count;
  s.dense = s.rank % 3 != 1;
  rank.out_cells = element(c, s.rank, false);
  s.out_count = c.count / rank.out_cells;
  rank.output = empty(c.count);
  if (s.rank == c.root) put(rank.output, 0, c.count, c.root, 0);
}
inline std::string check_bcast(const Case& c, const Rank& rank) {
  return expect(rank.output, 0, c.count, c.root, 0);
}

inline void set_up_allgather(const Case& c, Rank& rank) {
  Shape& s = rank.shape;
  const bool v = has_arrays(c);
  rank.in_cells = element(c, s.rank, true), rank.out_cells = element(c, s.rank, false);
  const int64_t mine = v ? own_cells(c, s.rank) : c.count;
  int64_t at = s.rank * c.count;
  if (v) {
    int64_t all;
    rank.out_blocks = spread(c, [&](int i) { return own_cells(c, i); }, all);
    rank.output = empty(all);
    at = rank.out_blocks[static_cast<size_t>(s.rank)].offset;
    for (int i = 0; i < c.size; ++i) {
      s.counts.push_back(own_cells(c, i));
      s.bytes += own_cells(c, i);
    }
  } else {
    s.out_count = c.count / rank.out_cells;
    s.bytes = c.count;
    rank.output = empty(c.count * c.size);
  }
  if (c.in_place) return put(rank.output, at, mine, s.rank, 0);
  s.in_count = mine / rank.in_cells;
  rank.input = empty(mine);
  put(rank.input, 0, mine, s.rank, 0);
}
inline std::string check_allgather(const Case& c, const Rank& rank) {
  const bool v = has_arrays(c);
  for (int i = 0; i < c.size; ++i) {
    const int64_t at = v ? rank.out_blocks[static_cast<size_t>(i)].offset : i * c.count;
    if (std::string wrong = expect(rank.output, at, v ? own_cells(c, i) : c.count, i, 0); !wrong.empty()) return wrong;
  }
  return {};
}

inline void set_up_alltoall(const Case& c, Rank& rank) {
  Shape& s = rank.shape;
  const bool v = has_arrays(c);
  rank.in_cells = element(c, s.rank, true), rank.out_cells = element(c, s.rank, false);
  const auto cells = [&](int i) { return v ? pair_cells(c, s.rank, i) : c.count; };
  int64_t all = c.count * c.size;
  std::vector<Block> blocks;
  if (v) blocks = spread(c, cells, all);
  rank.in_blocks = rank.out_blocks = blocks;
  rank.output = empty(all);
  if (!v) {
    s.bytes = c.count;
    s.out_count = c.count / rank.out_cells;
    s.in_count = c.in_place ? 0 : c.count / rank.in_cells;
  }
  if (!c.in_place) rank.input = empty(all);
  std::vector<Cell>& from = c.in_place ? rank.output : rank.input;
  for (int i = 0; i < c.size; ++i)
    put(from, v ? blocks[static_cast<size_t>(i)].offset : i * c.count, cells(i), s.rank, i * kPerBlock);
}
inline std::string check_alltoall(const Case& c, const Rank& rank) {
  const int me = rank.shape.rank;
  const bool v = has_arrays(c);
  for (int i = 0; i < c.size; ++i) {
    const int64_t at = v ? rank.out_blocks[static_cast<size_t>(i)].offset : i * c.count;
    const int64_t cells = v ? pair_cells(c, me, i) : c.count;
    if (std::string wrong = expect(rank.output, at, cells, i, me * kPerBlock); !wrong.empty()) return wrong;
  }
  return {};
}

// ---- reductions

inline bool scatters(Collective kind) {
  return row_of(kind).divided != Divided::no;
}
inline int64_t scattered(const Case& c, int rank) {  // elements of its block
  return row_of(c.kind).divided == Divided::by_counts ? own_cells(c, rank) : c.count;
}

inline void set_up_reduction(const Case& c, Rank& rank) {
  Shape& s = rank.shape;
  const CollectiveRow& row = row_of(c.kind);
  rank.in_cells = rank.out_cells = 2;
  s.dense = c.size % 3 != 1;
  int64_t vector = c.count;
  if (scatters(c.kind)) {
    vector = 0;
    for (int i = 0; i < c.size; ++i) {
      if (row.divided == Divided::by_counts) s.counts.push_back(scattered(c, i));
      vector += scattered(c, i);
    }
    if (row.divided == Divided::equally) s.out_count = c.count;
  } else {
    s.in_count = s.out_count = c.count;
  }
  s.bytes = 2 * vector;
  if (row.rooted()) s.in_place = c.in_place && s.rank == c.root;
  const int64_t result = scatters(c.kind) ? scattered(c, s.rank) : c.count;
  const bool has_output = row.has_output(s.rank == c.root, s.in_place);
  rank.output = empty(2 * (s.in_place ? vector : has_output ? result : 0));
  if (!s.in_place) rank.input = empty(2 * vector);
  put(s.in_place ? rank.output : rank.input, 0, 2 * vector, s.rank, 0);
}

inline std::string check_reduction(const Case& c, const Rank& rank) {
  const int me = rank.shape.rank;
  const CollectiveRow& row = row_of(c.kind);
  if (!row.has_output(me == c.root, c.in_place)) return {};
  if (row.prefix == Prefix::exclusive && me == 0) {
    for (const Cell& cell : rank.output)
      if (!c.in_place && cell.who != 0) return "rank 0 of an exclusive scan has written its output";
    return {};
  }
  int end = c.size;
  if (row.prefix == Prefix::inclusive) end = me + 1;
  if (row.prefix == Prefix::exclusive) end = me;
  int64_t what = 0, count = c.count;
  if (scatters(c.kind)) {
    for (int i = 0; i < me; ++i) what += 2 * scattered(c, i);
    count = scattered(c, me);
  }
  Cell expected = reduced(0, end, 0);
  for (int64_t i = 0; i < 2 * count; ++i) {
    const Cell& got = rank.output[static_cast<size_t>(i)];
    expected.what = what + i;
    if (got.who != expected.who || got.what != expected.what)
      return "cell " + std::to_string(i) + " misses an operand, or has one twice";
    if (!c.commutative && !(got == expected)) return "cell " + std::to_string(i) + " met its operands out of order";
  }
  return {};
}

// ---- one case

struct Kind {
  void (*set_up)(const Case&, Rank&);
  std::string (*check)(const Case&, const Rank&);
};
inline Kind kind_of(Collective kind) {
  const CollectiveRow& row = row_of(kind);
  if (row.reduces) return {set_up_reduction, check_reduction};
  if (row.output == Holds::nothing)
    return {[](const Case&, Rank&) {}, [](const Case&, const Rank&) { return std::string(); }};
  if (row.input == Holds::nothing) return {set_up_bcast, check_bcast};
  if (row.rooted()) return {set_up_rooted, check_rooted};
  if (row.input == Holds::block) return {set_up_allgather, check_allgather};
  return {set_up_alltoall, check_alltoall};
}

}  // namespace tutti::coll::replay
