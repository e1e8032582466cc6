// SPDX-License-Identifier: BSD-3-Clause
// A transport that counts what another one carries: messages and their bytes, to and from each process. It is put in
// front of the other one while somebody wants to know, and taken away again, so that counting costs nothing else. Counts
// what programs and collectives send, not the library's own talk; what a process sends to itself goes by no transport.
#pragma once

#include <cstdint>
#include <vector>

#include "base/engine_owned.hpp"
#include "transport/transport.hpp"

namespace tutti::transport {

class Counting final : public Transport, private Receiver {
 public:
  struct Traffic {
    uint64_t messages = 0, bytes = 0;
  };
  struct Both {
    Traffic out, in;
  };

  explicit Counting(Transport& inner) : inner_(inner) {}  // which outlives it

  const std::vector<Both>& by_peer() const { return peers_; }  // as far as there was something

  void set_receiver(Receiver& receiver) override;
  void send(int peer, Outgoing& outgoing) override TUTTI_ENGINE_OWNED;
  bool send_now(int peer, const Header& header, uint64_t ticket, const std::byte* data) override TUTTI_ENGINE_OWNED;
  Taken take_now(int peer, Header& wanted, std::byte* into, int64_t room, int looks) override TUTTI_ENGINE_OWNED;
  void notify(int peer, const Header& header) override TUTTI_ENGINE_OWNED { inner_.notify(peer, header); }
  void fetch(void* rendezvous, Fetch& fetch) override TUTTI_ENGINE_OWNED { inner_.fetch(rendezvous, fetch); }
  void discard(void* rendezvous) override TUTTI_ENGINE_OWNED { inner_.discard(rendezvous); }
  Way way_to(int peer, bool connects) override TUTTI_ENGINE_OWNED { return inner_.way_to(peer, connects); }
  bool progress() override TUTTI_ENGINE_OWNED { return inner_.progress(); }
  bool progress_here(int calls) override TUTTI_ENGINE_OWNED { return inner_.progress_here(calls); }
  void spread() override TUTTI_ENGINE_OWNED { inner_.spread(); }
  int descriptor() const override { return inner_.descriptor(); }
  bool arm(bool by_flags) override TUTTI_ENGINE_OWNED { return inner_.arm(by_flags); }
  void disarm() override TUTTI_ENGINE_OWNED { inner_.disarm(); }
  bool flushed() override TUTTI_ENGINE_OWNED { return inner_.flushed(); }

 private:
  void arrived(const Arrival& arrival) override TUTTI_ENGINE_OWNED;
  void unsent(int more) override TUTTI_ENGINE_OWNED { receiver_->unsent(more); }
  bool takes_turns() override TUTTI_ENGINE_OWNED { return receiver_->takes_turns(); }
  Both& peer(int process);

  Transport& inner_;
  Receiver* receiver_ = nullptr;
  std::vector<Both> peers_;  // by process
};

}  // namespace tutti::transport
