// SPDX-License-Identifier: BSD-3-Clause
// The shared-memory transport's inside: whom this rank knows of its node, and how it sleeps. What leaves is the outbox's
// (outbox.hpp), what comes the inbox's (inbox.hpp), and what is longer than a record the incomings' (incomings.hpp).
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "base/by_process.hpp"
#include "transport/shared/doorbell.hpp"
#include "transport/shared/node_segment.hpp"
#include "transport/shm/inbox.hpp"
#include "transport/shm/incomings.hpp"
#include "transport/shm/lasting_descriptor.hpp"
#include "transport/shm/outbox.hpp"
#include "transport/shm/peer.hpp"
#include "transport/shm/seat.hpp"
#include "transport/shm/shared_memory.hpp"

namespace tutti::transport {

class SharedMemoryTransport final : public SharedMemory {
 public:
  SharedMemoryTransport(std::unique_ptr<NodeSegment> segment, std::unique_ptr<const uint64_t> token,
                        const SharedMemoryOptions& options);

  bool complete() const override { return segment_->complete(); }
  size_t peers() const override { return peers_.size(); }
  RingFigures rings() const override;
  void forget_name() const override { segment_->forget_name(); }
  bool serves(int peer) const override { return std::ranges::binary_search(processes_, peer); }
  // The memory of the ring to it. The first message takes it, too.
  Error open_way(int peer) override { return outbox_.connect(at(peer)); }
  std::function<void()> parting() const override {
    return [segment = segment_] { segment->part(); };
  }
  std::byte* ballot_memory(const AreaKey& key, size_t bytes) override {
    return transport::ballot_memory(*segment_, key, bytes);
  }
  void decline_area(const AreaKey& key) override;
  std::unique_ptr<Area> area_for(const AreaKey& key, const std::vector<int>& processes, int rank) override;
  std::unique_ptr<WordBells> bells_for(const std::vector<int>& processes) const override;

  void wake_own() override { Doorbell::ring_if_asleep(desk_); }
  void lose(int process, int mpi_class) override TUTTI_ENGINE_OWNED;

  void set_receiver(Receiver& receiver) override {
    outbox_.set_receiver(receiver);
    incomings_.set_receiver(receiver);
    inbox_.set_receiver(receiver);
  }
  void send(int peer, Outgoing& outgoing) override TUTTI_ENGINE_OWNED;
  bool send_now(int peer, const Header& header, uint64_t ticket, const std::byte* data) override TUTTI_ENGINE_OWNED;
  Taken take_now(int peer, Header& wanted, std::byte* into, int64_t room, int looks) override TUTTI_ENGINE_OWNED;
  void notify(int peer, const Header& header) override TUTTI_ENGINE_OWNED;
  void fetch(void* rendezvous, Fetch& fetch) override TUTTI_ENGINE_OWNED {
    incomings_.fetch(*static_cast<Incoming*>(rendezvous), fetch);
  }
  void discard(void* rendezvous) override TUTTI_ENGINE_OWNED {
    incomings_.discard(*static_cast<Incoming*>(rendezvous));
  }
  memory::Reach reach(int peer, memory::Region region) override TUTTI_ENGINE_OWNED;
  bool can_copy(int peer) override TUTTI_ENGINE_OWNED {
    return serves(peer) && reach(peer, memory::Region::process) == memory::Reach::kernel_copies;
  }
  bool read(int peer, uint64_t address, const Payload& into) override TUTTI_ENGINE_OWNED {
    return at(peer).memory.read(address, into, 0, into.bytes());
  }
  bool write(int peer, uint64_t address, const std::byte* from, int64_t bytes) override TUTTI_ENGINE_OWNED {
    return at(peer).memory.write(address, from, bytes);
  }
  bool hears_late(int peer) override TUTTI_ENGINE_OWNED {
    return at(peer).desk->asleep.load(std::memory_order_relaxed) != Desk::awake;
  }
  bool progress() override TUTTI_ENGINE_OWNED;
  void spread() override TUTTI_ENGINE_OWNED { seat_.spread(); }
  int descriptor() const override { return descriptor_.number(); }
  bool arm(bool by_flags) override TUTTI_ENGINE_OWNED;
  void disarm() override TUTTI_ENGINE_OWNED { doorbell_.disarm(); }
  bool flushed() override TUTTI_ENGINE_OWNED { return !outbox_.holds_any(); }

 private:
  Peer& at(int process) {
    Peer* const* const known = known_.find(process);
    return known ? **known : meet(process, index_of(process));
  }
  // Of a process of this node.
  int index_of(int process) const;
  [[gnu::noinline]] Peer& meet(int process, int index);
  void find_openings();

  const std::unique_ptr<const uint64_t> token_;  // peers try to read it
  const std::shared_ptr<NodeSegment> segment_;   // areas outlive the transport
  const int me_;                                 // my index among the node's processes
  Desk& desk_;                                   // mine
  const std::vector<int> processes_;             // of the node, by index
  const bool read_peers_;
  const Learnt nothing_learnt_;
  // Those that were spoken to, or have spoken: more may come while one is served.
  std::deque<Peer> peers_;
  ByProcess<Peer*> known_;
  uint32_t openings_seen_ = 0;
  Doorbell doorbell_;
  LastingDescriptor descriptor_;  // the doorbell's
  Outbox outbox_;
  Incomings incomings_;
  Inbox inbox_;
  Seat seat_;
};

}  // namespace tutti::transport
