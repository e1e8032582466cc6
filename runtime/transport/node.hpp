// SPDX-License-Identifier: BSD-3-Clause
// The transport of a rank: shared memory to the ranks of its node, UCX to the others. Owns the
// choice between the two, how often each is polled, and opening only what the job needs: UCX stays
// closed in a job whose ranks share one node's memory, and a job of one opens nothing.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/by_process.hpp"
#include "base/result.hpp"
#include "transport/shm/shared_memory.hpp"
#include "transport/transport.hpp"
#include "transport/ucx/ucx.hpp"

namespace tutti::transport {

struct NodeOptions {
  std::string job;  // unique on the node
  int process = 0;  // my process id
  int job_size = 1;
  std::vector<int> neighbours;  // the job's processes on this node, ascending, mine among them
  bool shared_memory = true;
  bool read_peers = true;  // SharedMemoryOptions::read_peers
  bool both_copy = true;   // SharedMemoryOptions::both_copy
  double slow_copy = Distance::kSlow;  // SharedMemoryOptions::slow_copy
  std::function<void(int process, const Error& why)> no_way;  // also over UCX
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

class Node final : public Transport {
 public:
  // Collective over the job, by way of the wiring.
  static Result<std::unique_ptr<Node>> open(const NodeOptions& options, const Wiring& wiring);
  ~Node() override;

  void set_receiver(Receiver& receiver) override;
  void send(int peer, Outgoing& outgoing) override;
  bool send_now(int peer, const Header& header, uint64_t ticket, const std::byte* data) override {
    const Route route = route_to(peer);
    if (route == Route::shared) [[likely]]
      return shared_->send_now(peer, header, ticket, data);
    return route == Route::ucx && ucx_->send_now(peer, header, ticket, data);
  }
  Taken take_now(int peer, Header& wanted, std::byte* into, int64_t room, int looks) override {
    if (route_to(peer) != Route::shared) return Taken::other;
    return shared_->take_now(peer, wanted, into, room, looks);
  }
  void notify(int peer, const Header& header) override;
  void fetch(void* rendezvous, Fetch& fetch) override;
  void discard(void* rendezvous) override;
  bool progress() override;
  bool progress_here(int calls) override;
  void spread() override {
    if (shared_) shared_->spread();
  }
  int descriptor() const override { return descriptor_; }
  bool arm(bool by_flags) override;
  void disarm() override;
  bool flushed() override;

  // What the engine drives: this, or the only transport in use, which saves each message a detour.
  Transport& direct() { return shared_ && !ucx_ ? static_cast<Transport&>(*shared_) : *this; }

  // What a communicator's ranks on this node share for their collectives; nullptr: nothing, on all of
  // them. `processes`: theirs, of which mine is number `rank`. nullptr also if one is not here.
  std::unique_ptr<Area> area_for(const AreaKey& key, const std::vector<int>& processes, int rank);

  // ---- processes of other jobs, by numbers beyond the own job's

  // Opens UCX, if it is not, in a job that has no other use for it; direct() has changed then. My address is what
  // the others need of this process.
  Error open_late();
  const std::string& address() const { return ucx_->address(); }
  // Messages to `peer` go to this address, and say that they are from process `known_as`, which is what the other
  // one knows this process by. Again: it changes nothing.
  void add_foreign(int peer, std::string address, int known_as);
  // It is gone: what is sent to it from here on fails at once.
  void lose(int peer);

  // SharedMemory::parting(); without it nobody waits.
  std::function<void()> parting() const;
  bool has_shared_memory() const { return shared_ != nullptr; }
  RingFigures rings() const { return shared_ ? shared_->rings() : RingFigures{}; }
  // All ranks of the job have opened it.
  bool has_ucx() const { return ucx_ != nullptr && !ucx_is_late_; }

 private:
  enum class Route : uint8_t { shared, ucx, foreign, gone, none };
  struct Foreign {
    std::string address;
    int known_as;
  };
  class FromUcx;

  Node(const NodeOptions& options, const Wiring& wiring, std::unique_ptr<SharedMemory> shared,
       std::unique_ptr<Ucx> ucx);
  Result<std::string> address_of(int peer) const;
  Route route_to(int peer) {
    const Route* const known = routes_.find(peer);
    return known ? *known : choose_route(peer);
  }
  Route choose_route(int peer);
  bool poll_ucx();
  bool arm_ucx();
  bool watch_ucx(bool watched);

  const std::vector<int> neighbours_;
  std::unique_ptr<SharedMemory> shared_;  // nullptr: not used
  std::unique_ptr<Ucx> ucx_;              // nullptr: not opened
  bool ucx_is_late_ = false;              // others of the job may have none
  const UcxOptions ucx_options_;
  const Ucx::AddressBook address_book_;  // of the own job
  std::unordered_map<int, Foreign> foreign_;
  Receiver* receiver_ = nullptr;
  std::unique_ptr<FromUcx> from_ucx_;
  ByProcess<Route> routes_;         // of those that were spoken to
  int descriptor_ = -1;             // an epoll of its own that holds those of the two
  bool watches_ucx_ = false;        // it holds UCX's, while this is armed
  int quiet_ = 0;                   // passes since shared memory had something
  int skipped_ = 0, patience_ = 1;  // passes without polling UCX; how many it may be
};

}  // namespace tutti::transport
