// SPDX-License-Identifier: BSD-3-Clause
// The two groups of an intercommunicator, as its collectives see them: ranks of the union of both, in
// which those of one group, the first, come before those of the other one.
#pragma once

namespace tutti {

struct Sides {
  int first = 0;  // ranks of the first group; 0: there is but one group, and nothing below is to be asked
  int all = 0;    // ranks of both
  int rank = 0;   // mine, in the union

  explicit operator bool() const { return first > 0; }
  bool in_first() const { return rank < first; }
  bool is_mine(int union_rank) const { return (union_rank < first) == in_first(); }

  // My group, and the other one: where its ranks begin in the union, and how many there are.
  int begin() const { return in_first() ? 0 : first; }
  int size() const { return in_first() ? first : all - first; }
  int other_begin() const { return in_first() ? first : 0; }
  int other_size() const { return all - size(); }
  int rank_in_group() const { return rank - begin(); }

  bool operator==(const Sides&) const = default;
};

}  // namespace tutti
