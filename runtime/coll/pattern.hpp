// SPDX-License-Identifier: BSD-3-Clause
// Rank arithmetic of the algorithms: who talks to whom, and who holds which part. Pure functions,
// no communication.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace tutti::coll {

// Ranks folded onto the largest power of two that fits. Neighbours fold together, so that the order
// of the folded places is the order of the ranks:
//
//   7 ranks:   0 1   2 3   4 5   6      hosts 0 2 4, guests 1 3 5
//   4 places:   0     1     2    3
struct Fold {
  Fold(int rank, int size)
      : width(static_cast<int>(std::bit_floor(static_cast<unsigned>(size)))),
        guests(size - width),
        place(place_of(rank)),
        partner(rank < 2 * guests ? rank ^ 1 : -1),
        guest_(rank < 2 * guests && (rank & 1)) {}

  bool is_guest() const { return guest_; }
  bool is_host() const { return partner >= 0 && !guest_; }
  int place_of(int rank) const { return rank < 2 * guests ? rank / 2 : rank - guests; }
  // The first rank of a place: the one that speaks for it. first(width) is the number of ranks.
  int first(int at) const { return at < guests ? 2 * at : at + guests; }
  int peer(int bit) const { return first(place ^ bit); }

  const int width;    // places
  const int guests;   // ranks that share a place with the rank before
  const int place;    // mine
  const int partner;  // with whom I share it, or -1

 private:
  const bool guest_;
};

// The binomial tree over 0 … size-1 with root 0. A node's subtree is the run of numbers that begins
// with it:
//
//   0 ── 1              subtree(0) = 7, subtree(4) = 3, subtree(6) = 1
//   ├─── 2 ── 3
//   └─── 4 ── 5
//        └─── 6
struct Binomial {
  static int parent(int node) { return node & (node - 1); }
  static int subtree(int node, int size) { return node == 0 ? size : std::min(node & -node, size - node); }
  // Calls visit(child) for the children of `node`, nearest (smallest subtree) first.
  template <class Visit>
  static void each_child(int node, int size, Visit&& visit) {
    const int64_t end = node == 0 ? size : node & -node;
    for (int64_t step = 1; step < end && node + step < size; step <<= 1) visit(static_cast<int>(node + step));
  }
  template <class Visit>
  static void each_child_farthest_first(int node, int size, Visit&& visit) {
    const unsigned reach = static_cast<unsigned>(subtree(node, size));
    for (unsigned step = reach > 1 ? std::bit_ceil(reach) / 2 : 0; step > 0; step >>= 1)
      visit(node + static_cast<int>(step));
  }
};

// Ranks renumbered so that the root is 0.
struct Rotation {
  int root, size;
  int place(int rank) const { return rank >= root ? rank - root : rank - root + size; }
  int rank(int at) const { return at < size - root ? at + root : at + root - size; }
};

// Things [begin, end) of many.
struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

// `total` things cut into `parts` runs whose lengths differ by at most one.
struct Split {
  int64_t total, parts;
  int64_t begin(int64_t part) const { return total / parts * part + std::min(part, total % parts); }
  int64_t size(int64_t part) const { return begin(part + 1) - begin(part); }
};

// Into how many segments of about `segment` bytes a pipeline cuts a message: not more than 256.
inline int64_t segments_of(int64_t bytes, int64_t segment) {
  return std::clamp<int64_t>((bytes + segment - 1) / segment, 1, 256);
}

// The lowest log2(width) bits of `place` in reverse order.
inline int reversed(int place, int width) {
  int result = 0;
  for (int bit = 1; bit < width; bit <<= 1) result = result * 2 + ((place & bit) != 0);
  return result;
}

// A run of `n` places from `first`, around the end of 0 … size-1: visits its one or two straight
// runs, (first, length).
template <class Visit>
void each_run(int first, int n, int size, Visit&& visit) {
  if (first >= size) first -= size;
  const int straight = std::min(n, size - first);
  if (straight > 0) visit(first, straight);
  if (n > straight) visit(0, n - straight);
}

}  // namespace tutti::coll
