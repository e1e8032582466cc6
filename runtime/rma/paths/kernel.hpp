// SPDX-License-Identifier: BSD-3-Clause
// The way of puts and gets at memory that a process of the node has for itself: the kernel copies. Such an operation is
// over when its call is, takes no message, and needs nothing of its target, which need not be in MPI. Whoever calls it
// may touch that memory now: the epoch is open there too, and a lock is held, not only asked for.
//
// Between puts and gets of an epoch there is no order, so that some may go this way and others by messages. Updates all
// go by messages, which keep theirs. Stores of the kernel's copy come before whatever message tells of them, since they are this
// processor's own, and the message is written behind the call.
//
// Taken where it is sooner over: of a target that sleeps, or is of another job, for any length, but for one of some, by
// which a target wakes that sleeps in a call because nothing has come, and serves the next ones sooner. Else for one
// operation between two synchronisations that is too long to travel with its message, and too short to gain more by two
// processors that copy at the same time, as messages have it, than their talking costs. Owns what operations follow each
// other.
#pragma once

#include <cstdint>

#include "base/by_process.hpp"
#include "base/engine_owned.hpp"
#include "engine/channel.hpp"
#include "rma/operation.hpp"
#include "rma/origin_side.hpp"
#include "transport/peer_copies.hpp"

namespace tutti::rma {

class KernelPath {
 public:
  // All outlive it.
  KernelPath(transport::PeerCopies& copies, const engine::Channel& data, OriginSide& origin)
      : copies_(copies), data_(data), origin_(origin) {}

  // False: not this one, which is to go another way.
  bool put(const Local& origin, const Target& target, Done done) TUTTI_ENGINE_OWNED;
  bool get(const Local& origin, const Target& target, Done done) TUTTI_ENGINE_OWNED;
  // A call of synchronisation: what comes next does not follow what was before.
  void synchronises() TUTTI_ENGINE_OWNED { ++synchronised_; }

 private:
  // Of one rank: puts and gets since the last synchronisation, which had that number, and between the two before.
  struct Row {
    uint32_t since = 0;
    int length = 0, before = 0;
    int unseen = 0;  // copies since the last message, of which the target knows nothing
  };
  Row& row_of(int rank) TUTTI_ENGINE_OWNED;
  uint64_t address_of(const Target& target, int64_t bytes) TUTTI_ENGINE_OWNED;

  transport::PeerCopies& copies_;
  const engine::Channel& data_;
  OriginSide& origin_;
  uint32_t synchronised_ TUTTI_OWNERS = 0;
  ByProcess<Row> rows_ TUTTI_OWNERS;  // by rank
};

}  // namespace tutti::rma
