// SPDX-License-Identifier: BSD-3-Clause
// The transport of a rank: shared memory to the ranks of its node, UCX to the others, in the order of its list
// (transport_list.hpp). Owns opening only what the job needs: UCX stays closed in a job whose ranks share one node's
// memory, and a job of one opens nothing; and processes of other jobs, who know this one by another number.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/engine_owned.hpp"
#include "base/result.hpp"
#include "transport/node_copies.hpp"
#include "transport/shm/shared_memory.hpp"
#include "transport/transport.hpp"
#include "transport/transport_list.hpp"
#include "transport/ucx/ucx.hpp"

namespace tutti::members {
class Processes;
}

namespace tutti::transport {

struct RouterOptions {
  std::string job;  // unique on the node
  int process = 0;  // my process id
  int job_size = 1;
  std::vector<int> neighbours;  // the job's processes on this node, ascending, mine among them
  // Who there is of other jobs, whom of them this one has lost, and who is told of ends that break; outlives the router.
  // nullptr: there are no others, and nobody is told.
  members::Processes* members = nullptr;
  bool shared_memory = true;
  bool read_peers = true;                                     // SharedMemoryOptions::read_peers
  bool try_rings = true;                                      // SharedMemoryOptions::try_rings
  bool both_copy = true;                                      // SharedMemoryOptions::both_copy
  bool survives = false;                                      // ranks of the own job may fail, and the others go on
  std::function<void(int process, const Error& why)> no_way;  // also over UCX
  bool one_place = false;  // the neighbours reach each other over the node's loopback device
  UcxOptions ucx;
  std::string ucx_is_told;  // in front of what UCX's opening failed with; may be empty
};

// How the processes of the job find each other.
struct Wiring {
  std::function<Error(const std::string& address)> publish;  // collective over the job
  std::function<Error()> fence;                              // so is this
  Ucx::AddressBook address_of;
  // Present in jobs that nobody removes files of, if they are killed: a word of the first process
  // of a node to the others of that node, before the fence. told_by() waits for it.
  std::function<Error(const std::string& word)> tell_node;
  std::function<Result<std::string>(int process)> told_by;
  // The processes of the node see each other, as far as this one can know.
  bool node_is_visible = false;
};

class Router final : public Transport {
 public:
  // Collective over the job, by way of the wiring.
  static Result<std::unique_ptr<Router>> open(const RouterOptions& options, const Wiring& wiring);
  ~Router() override;

  void set_receiver(Receiver& receiver) override { list_.set_receiver(receiver); }
  void send(int peer, Outgoing& outgoing) override TUTTI_ENGINE_OWNED;
  bool send_now(int peer, const Header& header, uint64_t ticket, const std::byte* data) override TUTTI_ENGINE_OWNED {
    const TransportList::Number by = list_.serving(peer);
    return TransportList::is_one(by) && list_[by].send_now(peer, header, ticket, data);
  }
  Taken take_now(int peer, Header& wanted, std::byte* into, int64_t room, int looks) override TUTTI_ENGINE_OWNED {
    const TransportList::Number by = list_.serving(peer);
    return TransportList::is_one(by) ? list_[by].take_now(peer, wanted, into, room, looks) : Taken::other;
  }
  void notify(int peer, const Header& header) override TUTTI_ENGINE_OWNED;
  void fetch(void* rendezvous, Fetch& fetch) override TUTTI_ENGINE_OWNED { list_.fetch(rendezvous, fetch); }
  void discard(void* rendezvous) override TUTTI_ENGINE_OWNED { list_.discard(rendezvous); }
  Way way_to(int peer, bool connects) override TUTTI_ENGINE_OWNED;
  memory::Reach reach(int peer, memory::Region region) override TUTTI_ENGINE_OWNED;
  bool progress() override TUTTI_ENGINE_OWNED { return list_.progress(); }
  bool progress_here(int calls) override TUTTI_ENGINE_OWNED { return list_.progress_here(calls); }
  void spread() override TUTTI_ENGINE_OWNED { list_.spread(); }
  int descriptor() const override { return list_.descriptor(); }
  bool arm(bool by_flags) override TUTTI_ENGINE_OWNED {
    return list_.arm(by_flags) && (!survives_ || arm_for_changes());
  }
  void disarm() override TUTTI_ENGINE_OWNED { list_.disarm(); }
  bool flushed() override TUTTI_ENGINE_OWNED { return list_.flushed(); }

  // What the engine drives: this, or the only transport in use, which saves each message a detour, until somebody has
  // failed of whom that would know nothing.
  Transport& direct() { return shared_ && list_.size() == 1 && !has_lost_ ? static_cast<Transport&>(*shared_) : *this; }

  // Which transport serves it is found out anew when it is needed next.
  void forget_way_to(int peer) { list_.forget(peer); }

  // What a communicator's ranks on this node share for their collectives; nullptr: nothing, on all of
  // them. `processes`: theirs, of which mine is number `rank`. nullptr also if one is not here.
  std::unique_ptr<Area> area_for(const AreaKey& key, const std::vector<int>& processes, int rank) TUTTI_ENGINE_OWNED;
  // Memory in which the ranks of one agree that has such an area, all of whose ranks are here (node_areas.hpp).
  std::byte* ballot_memory(const AreaKey& key, size_t bytes) {
    return shared_ ? shared_->ballot_memory(key, bytes) : nullptr;
  }
  // A communicator of a job that goes on is gone for which this process has never asked that. Any thread.
  void decline_area(const AreaKey& key) {
    if (shared_) shared_->decline_area(key);
  }

  // Wakes these where they wait for words in memory that they share; nullptr: one of them is not here, or there is no
  // shared memory to say in who sleeps.
  std::unique_ptr<WordBells> bells_for(const std::vector<int>& processes) TUTTI_ENGINE_OWNED;

  // ---- processes of other jobs, by numbers beyond the own job's

  // Where they are, seen from here: at the other end of the loopback device (base/os/machine.hpp), or anywhere.
  enum class Away : uint8_t { near, far };
  // Whether the job is on several nodes: its own UCX reaches all, and no other one is opened.
  bool reaches_far() const { return ucx_ && far_ == ucx_; }
  bool is_open_to(Away away) const { return away == Away::near ? near_ : far_; }
  // Opens UCX for those, if it is not open; direct() has changed then. The address is what they need of this process.
  Result<std::string> open_to(Away away);
  // Messages to `peer`, which has been met (members::Processes::meet), go by that way, which is open. Again: it changes
  // nothing.
  void add_foreign(int peer, Away away);
  // By what this process's memory is known to processes of other jobs on the node; and by what that of `peer`, which is one.
  memory::KnownWord known_word() TUTTI_ENGINE_OWNED { return copies_.known_word(); }
  void add_memory(int peer, const memory::KnownWord& word) TUTTI_ENGINE_OWNED { copies_.add(peer, word); }
  // Somebody has been reported to have failed. What is sent to him from here on fails at once, and what is under way does
  // now: not if he is a rank of the own job and that ends then. direct() may have changed then.
  void take_changes() TUTTI_ENGINE_OWNED;

  // Of the ranks of the own job on this node, if there is shared memory, in which they say whether it can be done, and of those
  // of other jobs that have been met.
  NodeCopies& copies() { return copies_; }

  // SharedMemory::parting(); without it nobody waits.
  std::function<void()> parting() const;
  bool has_shared_memory() const { return shared_ != nullptr; }
  RingFigures rings() const { return shared_ ? shared_->rings() : RingFigures{}; }
  // All ranks of the job have opened it.
  bool has_ucx() const { return ucx_ != nullptr; }

 private:
  // In place of the number of a transport: of another job, and served by near_ or far_; or gone.
  static constexpr TransportList::Number kNear = TransportList::kWords + 1, kFar = TransportList::kWords + 2,
                                         kGone = TransportList::kWords + 3;

  Router(const RouterOptions& options, const Wiring& wiring, std::unique_ptr<SharedMemory> shared,
         std::unique_ptr<Ucx> ucx);
  Result<std::string> address_of(int peer) const;
  // Of one of another job; nullptr: it is not.
  Ucx* by_word(TransportList::Number by) const { return by == kNear ? near_ : by == kFar ? far_ : nullptr; }
  void lose(int peer) TUTTI_ENGINE_OWNED;
  bool arm_for_changes() TUTTI_ENGINE_OWNED;
  Error end_of(int peer) const;
  Ucx* add(std::unique_ptr<Ucx> ucx, bool for_own_job);

  const int me_;
  const bool survives_;
  // Where ranks may fail and no memory is shared, in which there is a doorbell: an eventfd, of which those who sleep hear
  // that somebody has failed.
  int bell_ = -1;
  bool has_lost_ = false;
  const UcxOptions ucx_options_;
  const Ucx::AddressBook address_book_;  // of the own job
  members::Processes* const members_;
  size_t changes_taken_ = 0;        // of those in members_
  SharedMemory* shared_ = nullptr;  // nullptr: not used
  NodeCopies copies_;
  // All that is open of UCX: one for the own job, unless it shares memory on one node, and those to other jobs. What
  // listens on the loopback device alone cannot be given more: where processes of other nodes come to be known,
  // another one is opened.
  Ucx* ucx_ = nullptr;                    // to the own job
  Ucx *near_ = nullptr, *far_ = nullptr;  // to other jobs
  TransportList list_;                    // has all of these; the endings of transports look at what stands above
};

}  // namespace tutti::transport
