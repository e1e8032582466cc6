// SPDX-License-Identifier: BSD-3-Clause
// The edges of one rank in a graph of ranks, along which neighbourhood collectives move their blocks.
#pragma once

#include <vector>

namespace tutti::coll {

inline constexpr int kNobody = -1;  // an edge that leads nowhere: its block stays as it is

// A rank may stand several times, and may be this one. Where i and j share several edges in one
// direction, the k-th in i's order of sending meets the k-th in j's order of receiving.
struct Edges {
  std::vector<int> destinations;  // by block of the input, in the order of sending
  std::vector<int> sources;       // by block of the output
  std::vector<int> receiving;     // the blocks of the output, in the order of receiving
};

}  // namespace tutti::coll
