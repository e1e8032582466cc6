// SPDX-License-Identifier: BSD-3-Clause
// The ways of a message between ranks of a node, as two tables: how it leaves its sender, and, of one that was
// announced, how its bytes come. A message takes the first row that is for its length and whose conditions all hold.
// Owns when which way is taken; what the ways are is told in shared_memory.hpp, what is learnt of a peer in
// learnt.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace tutti::transport {

// Lengths at which the ways part, in bytes; where rings are small, those of what goes through them are less.
inline constexpr int64_t kLongestInline = 2 << 10;
inline constexpr int64_t kLongestSmall = 8 << 10;
inline constexpr int64_t kLongestEager = 32 << 10;
inline constexpr int64_t kLongestMiddling = 128 << 10;

enum class Length : uint8_t { none, inlined, small, eager, middling, any };

// The longest messages that count as each, of a peer.
class Limits {
 public:
  // No message fits before the ring is there.
  constexpr Limits() : Limits(0) { bytes_[static_cast<size_t>(Length::inlined)] = -1; }
  // `record`: the longest that the ring holds; `edge`: what a record has beside its message, at most.
  constexpr explicit Limits(int64_t record, int64_t edge = 0)
      : bytes_{-1,
               std::min(kLongestInline, record - edge),
               std::min(kLongestSmall, 2 * record),
               std::min(kLongestEager, 2 * record),
               std::min(kLongestMiddling, 2 * record),
               INT64_MAX} {}
  // Of rings that hold everything: what concerns no ring.
  static constexpr Limits of_any_ring() { return Limits(INT64_MAX / 4); }
  constexpr int64_t operator[](Length length) const { return bytes_[static_cast<size_t>(length)]; }

 private:
  std::array<int64_t, 6> bytes_;
};

// What may have to hold, a bit each. Asked in this order, and only as far as a row needs: what is dear to find out
// comes last.
enum Need : uint32_t {
  two_cores = 1 << 0,   // sender and receiver each have a core: both may copy at once
  one_run = 1 << 1,     // the bytes lie in one run: the sender's; of an announced one where they go
  awake = 1 << 2,       // the other side does not sleep
  awaited = 1 << 3,     // the receiver is in a call that waits: it does not compute meanwhile
  alone = 1 << 4,       // no other long one is on its way from the sender
  one_way = 1 << 5,     // I have announced nothing to the sender: messages do not go both ways
  large_ring = 1 << 6,  // there is a ring that carries more than reading does
  prompt = 1 << 7,      // the sender has not let me wait lately
  readable = 1 << 8,    // the kernel lets the receiver read the sender's memory where the message lies
  gains = 1 << 9,  // such messages come sooner through a ring than by the other ways, or that is tried (learnt.hpp)
};
inline constexpr uint32_t kLastCondition = gains;

template <class Way>
struct Row {
  Length above, up_to;
  uint32_t needs;
  Way way;
};

// How a message leaves its sender.
enum class Leaving : uint8_t { in_one_record, in_pieces, announced };

inline constexpr Row<Leaving> kLeaving[] = {
    {Length::none, Length::inlined, 0, Leaving::in_one_record},
    {Length::small, Length::eager, two_cores | one_run | awake, Leaving::announced},
    {Length::none, Length::eager, 0, Leaving::in_pieces},
    {Length::none, Length::any, 0, Leaving::announced},
};

// How the bytes of an announced message come.
enum class Coming : uint8_t { streamed, from_both_ends, read, sent };

inline constexpr Row<Coming> kComing[] = {
    {Length::none, Length::any, two_cores | awake | awaited | large_ring | prompt | readable | gains, Coming::streamed},
    // What the sender has written lies in its own cache: of shorter ones the receiver gains less by its help than it
    // loses when it reads them (64 KiB: 2.7 instead of 3.1 us; received and added up 8.8 instead of 4.4; Xeon).
    {Length::middling, Length::any, two_cores | one_run | alone | one_way | readable, Coming::from_both_ends},
    {Length::none, Length::any, readable, Coming::read},
    {Length::none, Length::any, 0, Coming::sent},
};

// `holds(condition)` is asked for what a row needs until something does not hold. The last row of a table is for all.
template <class Way, size_t rows, class Holds>
Way way_of(const Row<Way> (&table)[rows], const Limits& limits, int64_t bytes, Holds&& holds) {
  for (const Row<Way>& row : table) {
    if (bytes <= limits[row.above] || bytes > limits[row.up_to]) continue;
    bool fits = true;
    for (uint32_t needs = row.needs; fits && needs != 0; needs &= needs - 1)
      fits = holds(static_cast<Need>(needs & -needs));
    if (fits) return row.way;
  }
  return table[rows - 1].way;
}

}  // namespace tutti::transport
