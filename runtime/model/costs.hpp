// SPDX-License-Identifier: BSD-3-Clause
// What things cost on a machine that is not here: LogGP between nodes, memory that the ranks of a node share inside
// them; and, from the same figures, the least time that a collective call can take. Formulas alone; docs/scale.md
// tells them. Seconds and bytes. Whatever is drawn or estimated for many ranks takes its costs from here.
#pragma once

#include <cstdint>

#include "coll/collective.hpp"

namespace tutti::model {

struct Costs {
  // Between nodes (Alexandrov and others 1995). A node has one card, which carries bytes both ways at once.
  double latency = 1.5e-6;       // L
  double overhead = 0.3e-6;      // o: of a rank's core, for each message sent or received
  double per_byte = 1 / 12.5e9;  // G
  int64_t eager = 256 << 10;     // a longer message is sent once its bytes have left
  // Within a node: each rank copies and reduces by its own core. What all cores together draw from memory is not
  // bounded, since that meets all ways of a collective alike.
  double flag = 0.15e-6;           // until a line that another core has written is seen
  double look = 0.015e-6;          // at one more line, whose transfer overlaps with others'
  double copied_byte = 1 / 20e9;   // through caches, also of a reduction's operand
  double read_byte = 1 / 12e9;     // out of another process's memory, by the kernel
  double local_overhead = 0.1e-6;  // of a message within a node, at either end
  double local_latency = 0.1e-6;
  int64_t local_read = 128 << 10;  // a longer message is read by its receiver; others go through a ring
  double step = 0.01e-6;           // to find and begin a step of a plan
};

// Ranks in equal nodes, one node after the other.
struct Job {
  int ranks = 1;
  int node_ranks = 1;
  int nodes() const { return (ranks + node_ranks - 1) / node_ranks; }
};

// `bytes`: of the whole vector of bcast, reduce and allreduce; of a block of one rank for the others.
struct Ask {
  coll::Collective kind = coll::Collective::barrier;
  int64_t bytes = 0;
};

// No plan is faster: the larger of what rounds take (a node knows of twice as many nodes after each) and what the bytes
// take that have to pass the narrowest place, a node's card or a rank's core.
struct Bound {
  double rounds = 0, card = 0, core = 0;
  double seconds() const;
};
Bound bound_of(const Costs& costs, const Job& job, const Ask& ask);

}  // namespace tutti::model
