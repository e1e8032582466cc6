// SPDX-License-Identifier: BSD-3-Clause
// A channel: my rank, the peers, a context. A communicator owns two, one for its users'
// point-to-point messages and a hidden one for its collectives, so that they never meet. Between two
// groups the users' channel has my rank in mine and the other one's processes as peers; the hidden one
// spans both groups, whose ranks stand in `sides`.
#pragma once

#include <cstdint>

#include "base/node_layout.hpp"
#include "base/process_list.hpp"
#include "base/sides.hpp"
#include "engine/wait/poller.hpp"
#include "transport/shared/area.hpp"

namespace tutti::contract {
class Ledger;
}

namespace tutti::engine {

class Engine;

struct Channel {
  // Why nothing more goes on it, or not all: see mpi/comm/survivor.hpp.
  enum Harm : uint8_t { kMemberFailed = 1, kRevoked = 2 };

  Engine* engine = nullptr;
  uint64_t context = 0;
  uint64_t communicator = 0;  // whose it is beside that one's own two, by its users' context; 0: it is one of these
  int rank = 0;
  uint8_t harm = 0;   // some of Harm; the engine's owner's
  ProcessList peers;  // by rank, of those that messages go to
  Sides sides;        // hidden channel, between two groups
  // Hidden channel: what the ranks of my node share, or nothing; and who is where, if they are on
  // several nodes.
  transport::Area* area = nullptr;
  const NodeLayout* nodes = nullptr;
  Pollers late[2];                     // by lane: collectives whose turn there has not come, in order
  uint32_t next_serial = 0;            // hidden channel: the next collective call takes it when it starts
  contract::Ledger* ledger = nullptr;  // hidden channel: checks its calls; nullptr: nobody does

  int size() const { return peers.size(); }
  // The ranks of my node have numbers there, as in the area: how many there are, mine, and whose
  // one is.
  int neighbours() const { return nodes ? nodes->mine().size() : size(); }
  int local() const { return nodes ? nodes->local() : rank; }
  int neighbour(int number) const { return nodes ? nodes->mine()[number] : number; }
  int process_of(int peer_rank) const { return peers[peer_rank]; }
};

}  // namespace tutti::engine
