// SPDX-License-Identifier: BSD-3-Clause
// Setting up, progress and sleep.
#include "transport/shm/shared_memory.hpp"

#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/log.hpp"
#include "transport/shared/spread.hpp"
#include "transport/shm/shared_memory_inside.hpp"

namespace tutti::transport {
namespace {

// Between two moves of a rank: should the kernel know better, and take it back, that costs little.
constexpr std::chrono::milliseconds kMovePeriod{2};

int index_in(const std::vector<int>& processes, int process) {
  return static_cast<int>(std::ranges::lower_bound(processes, process) - processes.begin());
}

template <class T>
void delete_list(T* first) {
  while (T* item = first) {
    first = item->next;
    delete item;
  }
}

}  // namespace

Result<std::unique_ptr<SharedMemory>> SharedMemory::open(const SharedMemoryOptions& options) {
  std::random_device random;
  auto token = std::make_unique<uint64_t>(static_cast<uint64_t>(random()) << 32 | random());
  const auto members = static_cast<int>(options.processes.size());
  const int me = index_in(options.processes, options.process);
  auto segment = options.file >= 0 ? NodeSegment::attach(options.file, members, me, *token)
                                   : NodeSegment::attach(options.name, members, me, *token);
  if (!segment) return std::move(segment).error();
  return std::unique_ptr<SharedMemory>(
      std::make_unique<SharedMemoryTransport>(std::move(*segment), std::move(token), options));
}

SharedMemoryTransport::SharedMemoryTransport(std::unique_ptr<NodeSegment> segment, std::unique_ptr<uint64_t> token,
                                             const SharedMemoryOptions& options)
    : token_(std::move(token)),
      segment_(std::move(segment)),
      read_peers_(options.read_peers),
      both_copy_(options.both_copy),
      me_(index_in(options.processes, options.process)),
      desk_(segment_->desk(me_)),
      processes_(options.processes),
      nothing_learnt_(options.slow_copy, static_cast<int64_t>(segment_->ring_size())),
      doorbell_(desk_, segment_->sleepers(), segment_->fence_due()),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      no_way_(options.no_way) {
  TUTTI_INVARIANT(epoll_ >= 0, "no descriptor left for epoll");
  others_.reserve(options.processes.size());
  allowed_.reserve(CPU_SETSIZE);
}

SharedMemoryTransport::~SharedMemoryTransport() {
  desk_.cpu_plus_one.store(0, std::memory_order_relaxed);
  close(epoll_);
  for (Peer& p : peers_) {
    delete_list(p.out.held);
    delete p.in.middling;
  }
  delete_list(spare_held_);
  delete_list(spare_incoming_);
}

int SharedMemoryTransport::index_of(int process) const {
  return index_in(processes_, process);
}

Peer& SharedMemoryTransport::meet(int process, int index) {
  Peer& peer = peers_.emplace_back(process, index, segment_->desk(index), nothing_learnt_);
  return *known_.set(process, &peer);
}

Error SharedMemoryTransport::connect(int peer) {
  Peer& p = at(peer);
  if (p.connected) return {};
  if (Error e = segment_->open_ring(me_, p.index)) return e;
  p.out.ring = RingWriter(segment_->ring(me_, p.index), segment_->ring_size());
  p.out.limits = Limits(static_cast<int64_t>(p.out.ring.longest_record()), 2 * kLine);
  p.connected = true;
  Doorbell::ring_if_asleep(*p.desk);
  return {};
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

// Where there is no other way than this one.
Error SharedMemoryTransport::connect_or_end(int peer) {
  Error problem = connect(peer);
  if (problem && no_way_) no_way_(peer, problem);
  return problem;
}

std::unique_ptr<Area> SharedMemoryTransport::area_for(const AreaKey& key, const std::vector<int>& processes, int rank) {
  std::vector<int> members;
  for (const int process : processes) members.push_back(index_of(process));
  return find_area(segment_, key, members, rank, read_peers_);
}

// ---- progress

bool SharedMemoryTransport::progress() {
  if (desk_.openings.load(std::memory_order_relaxed) != openings_seen_) [[unlikely]]
    find_openings();
  bool moved = false;
  for (Peer* peer : inboxes_)
    if (ready(*peer)) moved |= drain(*peer);
  if (loans_ > 0) [[unlikely]]
    for (Peer& peer : peers_)
      if (peer.in.loan.index >= 0) moved |= drain_loan(peer);
  if (held_ > 0) [[unlikely]]
    for (Peer& peer : peers_)
      if (peer.out.held || !peer.out.streams.empty() || peer.out.helping.message) {
        moved |= catch_up(peer);
        moved |= stream_on(peer);
        moved |= help_on(peer);
      }
  if (streaming_ > 0) [[unlikely]]
    look_after_streams();
  if (!reading_.empty()) moved |= read_all();
  return moved;
}

// Each goes on by a piece; reading one may add others.
bool SharedMemoryTransport::read_all() {
  bool moved = false;
  size_t kept = 0;
  for (size_t i = 0; i < reading_.size(); ++i) {
    Incoming* const incoming = reading_[i];
    const Read read = read_on(*incoming);
    moved |= read != Read::waits;
    if (read != Read::done) reading_[kept++] = incoming;
  }
  reading_.resize(kept);
  return moved;
}

// First to where it is alone with its neighbours: 0 to 3 of eight on one core, 4 to 7 on the other.
// Then one at a time, by what those before it have left: all of a core that see the same would all
// follow. The count of moves is odd while one says where it goes.
void SharedMemoryTransport::spread() {
  const int here = cpu_now();
  say_place(here);
  find_allowed_cpus(allowed_);
  if (allowed_.size() < 2) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < moves_from_) return;
  if (!std::exchange(has_place_, true)) {
    moves_from_ = now + kMovePeriod;
    return move(here, allowed_[static_cast<size_t>(me_) * allowed_.size() / processes_.size()]);
  }
  std::atomic<uint32_t>& moves = segment_->moves();
  uint32_t before = moves.load(std::memory_order_acquire);
  if (before % 2 != 0) return;
  others_.clear();
  const auto members = static_cast<int>(processes_.size());
  for (int index = 0; index < members; ++index) {
    if (index == me_) continue;
    const Desk& desk = segment_->desk(index);
    const bool sleeps = desk.asleep.load(std::memory_order_relaxed) != 0;
    others_.push_back(sleeps ? kNoCpu : desk.cpu_plus_one.load(std::memory_order_relaxed) - 1);
  }
  const int there = better_cpu(here, others_, allowed_);
  if (there == kNoCpu) return;
  if (!moves.compare_exchange_strong(before, before + 1, std::memory_order_acq_rel)) return;
  say_place(there);
  moves.store(before + 2, std::memory_order_release);
  moves_from_ = now + kMovePeriod;
  move(here, there);
}

void SharedMemoryTransport::move(int here, int there) {
  say_place(there);
  if (!move_to_cpu(there)) say_place(here);
}

void SharedMemoryTransport::say_place(int cpu) {
  desk_.cpu_plus_one.store(cpu + 1, std::memory_order_relaxed);
}

void SharedMemoryTransport::find_openings() {
  openings_seen_ = desk_.openings.load(std::memory_order_acquire);
  const auto members = static_cast<int>(processes_.size());
  for (int index = 0; index < members; ++index) {
    if (!segment_->is_open(index, me_)) continue;
    Peer& peer = at(processes_[static_cast<size_t>(index)]);
    if (peer.in.ring.exists()) continue;
    peer.in.ring = RingReader(segment_->ring(index, me_), segment_->ring_size());
    inboxes_.push_back(&peer);
  }
}

// ---- sleep

bool SharedMemoryTransport::arm(bool by_flags) {
  // Who is about to sleep has waited long enough.
  if (streaming_ > 0) [[unlikely]]
    for (Peer& peer : peers_)
      if (peer.in.asked > 0 && peer.learnt.is_prompt()) ask_no_more(peer);
  if (!reading_.empty() || !doorbell_.arm(by_flags)) return false;
  if (!in_epoll_) {
    epoll_event event{.events = EPOLLIN};
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, doorbell_.descriptor(), &event) != 0) return false;
    in_epoll_ = true;
  }
  bool news = desk_.openings.load(std::memory_order_acquire) != openings_seen_;
  for (Peer* peer : inboxes_) news |= ready(*peer) != 0;
  if (held_ > 0)
    for (Peer& peer : peers_) news |= has_room(peer) || peer.out.gave_way || peer.out.helping.message;
  if (loans_ > 0)
    for (Peer& peer : peers_) news |= peer.in.loan.index >= 0 && peer.in.loan.in.ready() != 0;
  if (news) doorbell_.disarm();
  return !news;
}

}  // namespace tutti::transport
