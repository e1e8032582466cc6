// SPDX-License-Identifier: BSD-3-Clause
// Collectives between two groups, replayed for all sizes of both from 1 to 9 and some larger ones: every
// root of either group, no, one and several elements, types that differ from rank to rank, operands in order.
#include "coll/between.hpp"

#include <gtest/gtest.h>

#include "replay_cases.hpp"

namespace tutti::coll::replay {
namespace {

// One call: `first` and `second` ranks, the root a rank of the union.
struct Meeting {
  Collective kind;
  int first = 1, second = 1, root = 0;
  int64_t count = 1;  // cells of a block, or elements of a vector
  int size() const { return first + second; }
  bool in_first(int rank) const { return rank < first; }
  bool same_side(int a, int b) const { return in_first(a) == in_first(b); }
};

bool has_arrays(Collective kind) {
  return has_arrays(row_of(kind).input) || has_arrays(row_of(kind).output);
}

// Cells of what `from` sends `to`. The groups' blocks differ where they need not be the same.
int64_t cells_of(const Meeting& m, int from, int to) {
  const CollectiveRow& row = row_of(m.kind);
  if (!has_arrays(m.kind)) return row.rooted() || m.in_first(from) ? m.count : 2 * m.count;
  if (row.rooted()) return m.count * ((from + to) % 3);
  if (row.input == Holds::block) return m.count * (from % 4);
  return m.count * ((from * 3 + to) % 4);
}
// Elements of the result of a reduction that rank `r` gets: the groups divide the same vector.
int64_t part_of(const Meeting& m, int r) {
  const int size = m.in_first(r) ? m.first : m.second, place = m.in_first(r) ? r : r - m.first;
  const int64_t all = m.count * m.first * m.second;
  if (row_of(m.kind).divided == Divided::equally) return all / size;
  return place + 1 < size ? all / (2 * size) : all - (size - 1) * (all / (2 * size));
}

struct Sided {
  Sides sides;
  bool is_root = false, is_beside = false;
};
Sided side_of(const Meeting& m, int r) {
  const bool rooted = row_of(m.kind).rooted();
  return {{m.first, m.size(), r}, rooted && r == m.root, rooted && r != m.root && m.same_side(r, m.root)};
}

// Whether rank r has an input, an output of blocks.
bool gives(const Meeting& m, const Sided& s) {
  const Root root = row_of(m.kind).root;
  return root == Root::none || (root == Root::gives ? s.is_root : !s.is_root && !s.is_beside);
}
bool gets(const Meeting& m, const Sided& s) {
  const Root root = row_of(m.kind).root;
  return root == Root::none || (root == Root::gets ? s.is_root : !s.is_root && !s.is_beside);
}
bool one_for_all(Collective kind) {
  return row_of(kind).input == Holds::block && !row_of(kind).rooted();
}

// What `from` has for `to`: which datum its first cell is.
int64_t first_of(const Meeting& m, int to) {
  return one_for_all(m.kind) ? 0 : to * kPerBlock;
}

void set_up_blocks(const Meeting& m, Rank& rank) {
  Shape& s = rank.shape;
  const Sided side = side_of(m, s.rank);
  const int others = side.sides.other_size(), begin = side.sides.other_begin();
  const CollectiveRow& row = row_of(m.kind);
  if (gives(m, side)) {
    const bool single = one_for_all(m.kind) || (row.rooted() && !side.is_root);
    int64_t at = 0;
    for (int i = 0; i < (single ? 1 : others); ++i) {
      const int to = single && row.rooted() ? m.root : begin + i;
      const int64_t cells = cells_of(m, s.rank, to);
      if (has_arrays(row.input) && !single)
        rank.in_blocks.push_back({at, cells});
      else
        s.in_count = cells / rank.in_cells;
      rank.input.resize(static_cast<size_t>(at + cells));
      put(rank.input, at, cells, s.rank, first_of(m, to));
      at += cells;
    }
  }
  if (gets(m, side)) {
    const bool single = row.rooted() && !side.is_root;
    int64_t at = 0;
    for (int i = 0; i < (single ? 1 : others); ++i) {
      const int64_t cells = cells_of(m, single ? m.root : begin + i, s.rank);
      if (has_arrays(row.output) && !single) {
        rank.out_blocks.push_back({at, cells});
        ++at;  // a gap
        if (row.known_to == KnownTo::all) s.counts.push_back(cells);
      } else {
        s.out_count = cells / rank.out_cells;
      }
      at += cells;
    }
    rank.output = empty(at);
  }
}

std::string check_blocks(const Meeting& m, const Rank& rank) {
  const int me = rank.shape.rank;
  const Sided side = side_of(m, me);
  if (m.kind == Collective::barrier || !gets(m, side)) return {};
  const bool single = row_of(m.kind).rooted() && !side.is_root;
  int64_t at = 0;
  for (int i = 0; i < (single ? 1 : side.sides.other_size()); ++i) {
    const int from = single ? m.root : side.sides.other_begin() + i;
    const int64_t cells = cells_of(m, from, me);
    if (!rank.out_blocks.empty()) at = rank.out_blocks[static_cast<size_t>(i)].offset;
    if (std::string wrong = expect(rank.output, at, cells, from, first_of(m, me)); !wrong.empty()) return wrong;
    at += cells;
  }
  return {};
}

void set_up_vector(const Meeting& m, Rank& rank) {
  Shape& s = rank.shape;
  const Sided side = side_of(m, s.rank);
  rank.in_cells = rank.out_cells = 2;
  if (side.is_beside) return;
  const bool scattered_too = scatters(m.kind);
  const int64_t vector = scattered_too ? m.count * m.first * m.second : m.count;
  s.in_count = s.out_count = m.count;
  s.in_place = side.is_root && row_of(m.kind).reduces;
  if (m.kind == Collective::bcast) {
    rank.output = empty(2 * vector);
    if (side.is_root) put(rank.output, 0, 2 * vector, s.rank, 0);
    return;
  }
  const CollectiveRow& row = row_of(m.kind);
  if (row.divided == Divided::equally) s.out_count = part_of(m, s.rank);
  for (int i = 0; row.divided == Divided::by_counts && i < side.sides.size(); ++i)
    s.counts.push_back(part_of(m, side.sides.begin() + i));
  if (!side.is_root) {
    rank.input = empty(2 * vector);
    put(rank.input, 0, 2 * vector, s.rank, 0);
  }
  if (gets(m, side)) rank.output = empty(2 * (scattered_too ? part_of(m, s.rank) : vector));
}

std::string check_vector(const Meeting& m, const Rank& rank) {
  const int me = rank.shape.rank;
  const Sided side = side_of(m, me);
  if (side.is_beside) return {};
  if (m.kind == Collective::bcast) return expect(rank.output, 0, 2 * m.count, m.root, 0);
  if (!gets(m, side)) return {};
  int64_t what = 0;
  for (int r = side.sides.begin(); scatters(m.kind) && r < me; ++r) what += 2 * part_of(m, r);
  const int begin = side.sides.other_begin();
  Cell expected = reduced(begin, begin + side.sides.other_size(), 0);
  for (size_t i = 0; i < rank.output.size(); ++i) {
    expected.what = what + static_cast<int64_t>(i);
    if (!(rank.output[i] == expected)) return "cell " + std::to_string(i) + " is not the other group's, in order";
  }
  return {};
}

void replay(const Meeting& m) {
  const bool vector = row_of(m.kind).reduces || m.kind == Collective::bcast;
  const Algorithm& algorithm = *row_of(m.kind).between;
  std::vector<Rank> fresh;
  for (int r = 0; r < m.size(); ++r) {
    Rank rank;
    Shape& s = rank.shape;
    s.kind = m.kind;
    s.rank = r, s.size = m.size(), s.first_side = m.first;
    s.commutative = false;
    if (row_of(m.kind).rooted()) s.root = side_of(m, r).is_beside ? kRootElsewhere : m.root;
    if (vector) {
      set_up_vector(m, rank);
    } else if (m.kind != Collective::barrier) {
      rank.in_cells = m.count % 2 ? 1 : 1 + r % 2, rank.out_cells = m.count % 2 ? 1 : 2 - r % 2;
      set_up_blocks(m, rank);
    }
    fresh.push_back(std::move(rank));
  }
  for (const Sends sends : {Sends::eager, Sends::synchronous}) {
    std::vector<Rank> ranks = fresh;
    const std::string told = std::string(name_of(m.kind)) + " between " + std::to_string(m.first) + " and " +
                             std::to_string(m.second) + " ranks, root " + std::to_string(m.root) + ", count " +
                             std::to_string(m.count) + ": ";
    ASSERT_EQ(run(ranks, algorithm, sends, static_cast<uint64_t>(m.size() * 7 + m.root)), "") << told;
    for (const Rank& rank : ranks)
      ASSERT_EQ(vector ? check_vector(m, rank) : check_blocks(m, rank), "")
          << told << "rank " << rank.shape.rank << "\n"
          << to_string(algorithm.build(rank.shape));
  }
}

void replay_between(int first, int second, int stride, const std::vector<int64_t>& counts) {
  for (int k = 0; k < kCollectivesOverRanks; ++k) {
    const auto kind = static_cast<Collective>(k);
    if (!row_of(kind).between) continue;
    if (stride > 1 && scatters(kind)) continue;  // long vectors, whose messages are few
    const bool rooted = row_of(kind).rooted();
    for (int root = 0; root < (rooted ? first + second : 1); root += stride)
      for (const int64_t count : counts) ASSERT_NO_FATAL_FAILURE(replay({kind, first, second, root, count}));
  }
}

TEST(Between, DataCrossFromGroupToGroup) {
  for (int first = 1; first <= 9; ++first)
    for (int second = 1; second <= 9; ++second) ASSERT_NO_FATAL_FAILURE(replay_between(first, second, 1, {0, 1, 2, 6}));
}

// More messages than a rank has under way at a time.
TEST(Between, LargeGroupsDoNotWaitInACircle) {
  for (const auto& [first, second] : {std::pair{1, 100}, {100, 1}, {90, 70}, {70, 90}, {130, 3}})
    ASSERT_NO_FATAL_FAILURE(replay_between(first, second, 37, {1}));
}

}  // namespace
}  // namespace tutti::coll::replay
