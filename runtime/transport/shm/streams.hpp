// SPDX-License-Identifier: BSD-3-Clause
// Streams: what this rank asks others to send of the long messages that they have announced. All of it, where it can
// not be read; else a part at a time, where several come one after the other: their sender writes the next ones
// through a ring while those before are copied out of it. Owns which messages stream, and the large rings that are
// borrowed for them.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "transport/shared/node_segment.hpp"
#include "transport/shm/outbox.hpp"
#include "transport/shm/peer.hpp"

namespace tutti::transport {

class Streams {
 public:
  // `reading`: to which those are added whose sender lets them wait.
  Streams(NodeSegment& segment, std::deque<Peer>& peers, Outbox& outbox, std::vector<Incoming*>& reading)
      : segment_(segment), peers_(peers), outbox_(outbox), reading_(reading) {}
  Streams(const Streams&) = delete;

  // For so many chunks from where it was asked last; 0: for all the rest.
  void ask(Incoming& incoming, int chunks) TUTTI_ENGINE_OWNED;
  // It streams from now on, as long as its sender is there.
  void begin(Incoming& incoming) TUTTI_ENGINE_OWNED;
  // More bytes of one that streams are here, but not all.
  void go_on(Incoming& incoming) TUTTI_ENGINE_OWNED;
  // It is all here.
  void end(Incoming& incoming) TUTTI_ENGINE_OWNED;
  // In each pass: a sender that has left is not waited for.
  void look_after() TUTTI_ENGINE_OWNED {
    if (streaming_ > 0) [[unlikely]]
      look_after_all();
  }
  // This rank is about to sleep, and has waited long enough.
  void stop_asking() TUTTI_ENGINE_OWNED;

  // A large ring is there for what comes from it, or can be had.
  bool may_borrow(const Peer& from) const { return from.in.loan.index >= 0 || segment_.has_ring_to_lend(); }
  bool has_borrowed() const { return loans_ > 0; }
  // All that was asked for has come through it.
  void give_back(RingLoan& loan) TUTTI_ENGINE_OWNED;
  // The rest of what was asked for does not come.
  void give_up(RingLoan& loan) TUTTI_ENGINE_OWNED {
    loan.index = -1;
    --loans_;
  }
  // It is over before its end.
  void drop(Incoming& incoming) TUTTI_ENGINE_OWNED { unlist(incoming); }

 private:
  bool borrow(Peer& from) TUTTI_ENGINE_OWNED;
  void unlist(Incoming& incoming) TUTTI_ENGINE_OWNED;
  void ask_for_more(Peer& from) TUTTI_ENGINE_OWNED;
  void ask_no_more(Peer& from) TUTTI_ENGINE_OWNED;
  void read_the_rest(Incoming& incoming) TUTTI_ENGINE_OWNED;
  void look_after_all() TUTTI_ENGINE_OWNED;
  void look_after(Peer& from) TUTTI_ENGINE_OWNED;

  NodeSegment& segment_;
  std::deque<Peer>& peers_;
  Outbox& outbox_;
  std::vector<Incoming*>& reading_;
  int loans_ = 0;          // peers of whom I have one
  int64_t streaming_ = 0;  // messages, of all peers
};

}  // namespace tutti::transport
