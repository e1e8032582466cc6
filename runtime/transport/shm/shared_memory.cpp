// SPDX-License-Identifier: BSD-3-Clause
// Setting up, progress and sleep.
#include "transport/shm/shared_memory.hpp"

#include <algorithm>
#include <utility>

#include "members/processes.hpp"
#include "transport/shared/word_bells.hpp"
#include "transport/shm/shared_memory_inside.hpp"

namespace tutti::transport {
namespace {

int index_in(const std::vector<int>& processes, int process) {
  return static_cast<int>(std::ranges::lower_bound(processes, process) - processes.begin());
}

}  // namespace

Result<std::unique_ptr<SharedMemory>> SharedMemory::open(const SharedMemoryOptions& options) {
  std::unique_ptr<const uint64_t> token = memory::value_to_know();
  const auto members = static_cast<int>(options.processes.size());
  const int me = index_in(options.processes, options.process);
  auto segment = options.file >= 0 ? NodeSegment::attach(options.file, members, me, *token)
                                   : NodeSegment::attach(options.name, members, me, *token);
  if (!segment) return std::move(segment).error();
  return std::unique_ptr<SharedMemory>(
      std::make_unique<SharedMemoryTransport>(std::move(*segment), std::move(token), options));
}

SharedMemoryTransport::SharedMemoryTransport(std::unique_ptr<NodeSegment> segment,
                                             std::unique_ptr<const uint64_t> token, const SharedMemoryOptions& options)
    : token_(std::move(token)),
      segment_(std::move(segment)),
      me_(index_in(options.processes, options.process)),
      desk_(segment_->desk(me_)),
      processes_(options.processes),
      read_peers_(options.read_peers),
      nothing_learnt_(static_cast<int64_t>(segment_->ring_size())),
      doorbell_(desk_, segment_->sleepers(), segment_->fence_due()),
      outbox_(*segment_, me_, options, peers_),
      incomings_(*segment_, options, peers_, outbox_),
      inbox_(peers_, outbox_, incomings_),
      seat_(*segment_, me_, static_cast<int>(processes_.size())) {
  if (options.survives && options.members)
    segment_->set_is_gone([members = options.members, processes = processes_](int member) {
      return members->has_failed(processes[static_cast<size_t>(member)]);
    });
}

int SharedMemoryTransport::index_of(int process) const {
  return index_in(processes_, process);
}

Peer& SharedMemoryTransport::meet(int process, int index) {
  Peer& peer = peers_.emplace_back(process, index, segment_->desk(index), read_peers_, nothing_learnt_);
  return *known_.set(process, &peer);
}

RingFigures SharedMemoryTransport::rings() const {
  RingFigures figures;
  for (const Peer& peer : peers_) {
    if (!peer.connected) continue;
    figures.taken += segment_->ring_size();
    figures.unread += peer.out.ring.unread();
  }
  figures.lent = segment_->rings_lent();
  return figures;
}

std::unique_ptr<Area> SharedMemoryTransport::area_for(const AreaKey& key, const std::vector<int>& processes, int rank) {
  std::vector<int> members;
  for (const int process : processes) members.push_back(index_of(process));
  return find_area(segment_, key, members, rank, read_peers_);
}

memory::Reach SharedMemoryTransport::reach(int peer, memory::Region region) {
  if (!serves(peer)) return region == memory::Region::mapped ? memory::Reach::load_store : memory::Reach::messages;
  if (region != memory::Region::process || index_of(peer) == me_) return memory::Reach::load_store;
  return at(peer).memory.reach();
}

std::unique_ptr<WordBells> SharedMemoryTransport::bells_for(const std::vector<int>& processes) const {
  std::vector<int> members;
  for (const int process : processes) members.push_back(index_of(process));
  return std::make_unique<WordBells>(segment_, std::move(members));
}

void SharedMemoryTransport::decline_area(const AreaKey& key) {
  transport::decline_area(*segment_, key);
}

// ---- progress

bool SharedMemoryTransport::progress() {
  if (desk_.openings.load(std::memory_order_relaxed) != openings_seen_) [[unlikely]]
    find_openings();
  bool moved = inbox_.drain();
  if (outbox_.holds_any()) [[unlikely]]
    moved |= outbox_.go_on();
  incomings_.streams().look_after();
  if (incomings_.reads_any()) moved |= incomings_.read_all();
  return moved;
}

void SharedMemoryTransport::find_openings() {
  openings_seen_ = desk_.openings.load(std::memory_order_acquire);
  const auto members = static_cast<int>(processes_.size());
  for (int index = 0; index < members; ++index) {
    if (!segment_->is_open(index, me_)) continue;
    Peer& peer = at(processes_[static_cast<size_t>(index)]);
    if (peer.in.ring.exists()) continue;
    peer.in.ring = RingReader(segment_->ring(index, me_), segment_->ring_size());
    inbox_.open(peer);
  }
}

// It may have opened its ring since this rank looked for openings last: what is in there names messages of this rank, by
// their addresses, which are over, and perhaps gone, once the outbox has lost it.
void SharedMemoryTransport::lose(int process, int mpi_class) {
  find_openings();
  Peer& peer = at(process);
  inbox_.drain_the_rest(peer);
  outbox_.lose(peer, mpi_class);
  incomings_.lose(peer, mpi_class);
}

// ---- sleep

bool SharedMemoryTransport::arm(bool by_flags) {
  incomings_.streams().stop_asking();
  if (incomings_.reads_any() || !doorbell_.arm(by_flags) || !descriptor_.hold(doorbell_.descriptor())) return false;
  bool news = desk_.openings.load(std::memory_order_acquire) != openings_seen_;
  news |= inbox_.has_any();
  if (outbox_.holds_any()) news |= outbox_.can_go_on();
  if (news) doorbell_.disarm();
  return !news;
}

}  // namespace tutti::transport
