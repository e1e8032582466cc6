// SPDX-License-Identifier: BSD-3-Clause
// The way of control messages between ranks of one job that the program has not connected. If each rank that waits
// connected to the one that all wait for, that one would collect as many connections as there are ranks, and run out of
// files. Hence such a message goes from rank to rank by jumps of 1, 2, 4, 8 ... ranks, the longest first, as far as there
// is no shorter way: 5 hops at most among 32 ranks, 14 among 10,000, and the checker connects no rank to more than so many
// others, nor more than so many to it.
//
//   0 -> 6 of 7 ranks:  0 --4--> 4 --2--> 6
//
// A hop that does not answer, or whose files run out, loses the message; who has asked takes the one that it has asked
// for alive.
#pragma once

#include <bit>

namespace tutti::contract {

// Where a message from rank `at` to rank `to`, another one, goes next.
inline int next_hop(int at, int to, int ranks) {
  const int gap = to > at ? to - at : to - at + ranks;
  return (at + static_cast<int>(std::bit_floor(static_cast<unsigned>(gap)))) % ranks;
}

}  // namespace tutti::contract
