// SPDX-License-Identifier: BSD-3-Clause
#include "transport/router.hpp"

#include <mpi-ext.h>
#include <mpi.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.hpp"
#include "members/processes.hpp"
#include "transport/ends.hpp"
#include "transport/shared/doorbell.hpp"
#include "transport/shared/word_bells.hpp"
#include "transport/ucx/ucx_signals.hpp"

namespace tutti::transport {
namespace {

// The file of the node's ranks; the launcher removes what begins with the job's name.
std::string segment_name(const RouterOptions& options) {
  std::string name = fmt::format("tutti.{}.node{}", options.job, options.neighbours.front());
  std::ranges::replace(name, '/', '_');
  return name;
}

// What concerns the whole node is said by one of its ranks.
Level note_of(const RouterOptions& options) {
  return options.process == options.neighbours.front() ? Level::note : Level::debug;
}

// Where a name in /dev/shm might stay, the first rank of the node makes a file without one and
// tells the others where it is, or that there is none, for them to use a name. -1: a name, or,
// where others may have the file all the same, a segment that does not become complete.
int nameless_file(const RouterOptions& options, const Wiring& wiring) {
  if (!wiring.tell_node) return -1;
  const auto members = static_cast<int>(options.neighbours.size());
  if (options.process == options.neighbours.front()) {
    const int file = wiring.node_is_visible ? NodeSegment::make_file(members) : -1;
    const Error untold = wiring.tell_node(file < 0 ? "none" : place_of_file(file).text());
    if (untold) say(Level::warning, "{}", untold.message());
    return file;
  }
  const Result<std::string> word = wiring.told_by(options.neighbours.front());
  if (!word) say(Level::warning, "{}", word.error().message());
  const std::optional<PlaceOfFile> place = word ? PlaceOfFile::parse(*word) : std::nullopt;
  return place ? NodeSegment::open_file(*place, members) : -1;
}

std::unique_ptr<SharedMemory> attach(const RouterOptions& options, const Wiring& wiring) {
  if (!options.shared_memory || options.neighbours.size() < 2) return nullptr;
  Result<std::unique_ptr<SharedMemory>> opened = SharedMemory::open({.name = segment_name(options),
                                                                     .file = nameless_file(options, wiring),
                                                                     .processes = options.neighbours,
                                                                     .process = options.process,
                                                                     .read_peers = options.read_peers,
                                                                     .try_rings = options.try_rings,
                                                                     .both_copy = options.both_copy,
                                                                     .no_way = options.no_way,
                                                                     .survives = options.survives,
                                                                     .members = options.members});
  if (opened) return *std::move(opened);
  say(note_of(options), "messages on this node go over UCX: {}", opened.error().message());
  return nullptr;
}

}  // namespace

Result<std::unique_ptr<Router>> Router::open(const RouterOptions& options, const Wiring& wiring) {
  watch_faults();
  if (options.job_size == 1) return std::unique_ptr<Router>(new Router(options, wiring, nullptr, nullptr));
  const bool one_node = static_cast<size_t>(options.job_size) == options.neighbours.size();
  std::unique_ptr<SharedMemory> shared = attach(options, wiring);
  std::unique_ptr<Ucx> ucx;

  auto open_ucx = [&]() -> Error {
    UcxOptions how = options.ucx;
    how.no_way = options.no_way;
    how.members = options.members;
    how.survives = options.survives;
    how.between_nodes = !one_node;
    how.loopback = one_node && options.one_place;
    // What is in /dev/shm is for our rings. Where they find no room UCX finds none either.
    how.dev_shm = !options.shared_memory;
    // Where they serve, UCX has nothing to do on this node.
    // Who fails amid a message there may leave others waiting for it, so that tcp serves where ranks may fail.
    how.segments = !shared && !options.survives;
    if (options.survives) how.dev_shm = false;
    Result<std::unique_ptr<Ucx>> opened = Ucx::open(how);
    if (!opened) {
      Error problem = std::move(opened).error();
      return options.ucx_is_told.empty() ? std::move(problem) : std::move(problem).within(options.ucx_is_told);
    }
    ucx = *std::move(opened);
    return wiring.publish(ucx->address());
  };
  if (Error e = one_node ? wiring.fence() : open_ucx()) return e;
  // Everyone has had the chance to attach. All ranks of the node see the same here: who could not
  // attach leaves it incomplete for all.
  if (shared && !shared->complete()) {
    say(note_of(options),
        "messages on this node go over UCX: not all of its ranks could attach to "
        "the same /dev/shm");
    shared->forget_name();
    shared.reset();
  }
  if (one_node && !shared)
    if (Error e = open_ucx()) return e;
  return std::unique_ptr<Router>(new Router(options, wiring, std::move(shared), std::move(ucx)));
}

Router::Router(const RouterOptions& options, const Wiring& wiring, std::unique_ptr<SharedMemory> shared,
               std::unique_ptr<Ucx> ucx)
    : me_(options.process),
      survives_(options.survives),
      ucx_options_(options.ucx),
      address_book_(wiring.address_of),
      members_(options.members),
      shared_(shared.get()),
      copies_(shared.get(), options.read_peers) {
  const bool one_node = static_cast<size_t>(options.job_size) == options.neighbours.size();
  if (shared) list_.add(std::move(shared), true);
  if (ucx) ucx_ = add(std::move(ucx), true);
  if (ucx_ && !one_node) near_ = far_ = ucx_;
  if (!survives_) return;
  if (shared_) {
    members_->set_bell([by = shared_] { by->wake_own(); });
    return;
  }
  bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{.events = EPOLLIN, .data = {}};
  TUTTI_INVARIANT(bell_ >= 0 && ::epoll_ctl(list_.descriptor(), EPOLL_CTL_ADD, bell_, &event) == 0,
                  "no descriptor left for an eventfd");
  members_->set_bell([bell = bell_] {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t n = ::write(bell, &one, sizeof one);
  });
}

Router::~Router() {
  if (survives_) members_->set_bell({});
  if (bell_ >= 0) ::close(bell_);
}

// Whoever reports a change rings behind it: either it is seen here, or the bell rings for one who sleeps by then.
bool Router::arm_for_changes() {
  uint64_t rings = 0;
  [[maybe_unused]] const ssize_t n = bell_ < 0 ? 0 : ::read(bell_, &rings, sizeof rings);
  return members_->changes() == changes_taken_;
}

Ucx* Router::add(std::unique_ptr<Ucx> ucx, bool for_own_job) {
  ucx->set_address_book([this](int peer) { return address_of(peer); });
  Ucx* const added = ucx.get();
  list_.add(std::move(ucx), for_own_job);
  return added;
}

void Router::send(int peer, Outgoing& outgoing) {
  const TransportList::Number by = list_.serving(peer);
  if (TransportList::is_one(by)) return list_[by].send(peer, outgoing);
  if (Ucx* const other = by_word(by)) {
    outgoing.header.process = members_->known_as(peer);
    return other->send(peer, outgoing);
  }
  if (by == kGone) return outgoing.sent(outgoing, end_of(peer));
  outgoing.sent(outgoing, failure(MPI_ERR_OTHER, "there is no way to process {}", peer));
}

void Router::notify(int peer, const Header& header) {
  const TransportList::Number by = list_.serving(peer);
  if (TransportList::is_one(by)) return list_[by].notify(peer, header);
  Ucx* const other = by_word(by);
  if (!other) return;
  Header known = header;
  known.process = members_->known_as(peer);
  other->notify(peer, known);
}

Transport::Way Router::way_to(int peer, bool connects) {
  const TransportList::Number by = list_.serving(peer);
  if (TransportList::is_one(by)) return list_[by].way_to(peer, connects);
  Ucx* const other = by_word(by);
  return other ? other->way_to(peer, connects) : Way::closed;
}

// Processes of other jobs are served by transports that reach nothing but by messages.
memory::Reach Router::reach(int peer, memory::Region region) {
  return peer == me_ ? memory::Reach::load_store : list_.reach(peer, region);
}

Result<std::string> Router::open_to(Away away) {
  Ucx*& way = away == Away::near ? near_ : far_;
  if (way) return way->address();
  UcxOptions how = ucx_options_;
  how.survives = survives_;
  how.members = members_;
  how.between_nodes = true;  // also where they are near: both sides have to say the same
  how.loopback = away == Away::near;
  how.dev_shm = false;  // a file there would stay if this process were killed
  how.segments = false;
  Result<std::unique_ptr<Ucx>> opened = Ucx::open(how);
  if (!opened) return std::move(opened).error();
  way = add(*std::move(opened), false);
  return way->address();
}

Result<std::string> Router::address_of(int peer) const {
  return members_ && members_->is_foreign(peer) ? members_->address_of(peer) : address_book_(peer);
}

void Router::add_foreign(int peer, Away away) {
  if (list_.has_word(peer)) return;
  list_.set(peer, away == Away::near ? kNear : kFar);
  say_no_ucx_errors();
}

void Router::take_changes() {
  const std::vector<members::Change> changes = members_->changes_since(changes_taken_);
  changes_taken_ += changes.size();
  for (const members::Change& change : changes)
    if (change.state == members::State::failed && (survives_ || members_->is_foreign(change.process)))
      lose(change.process);
}

// The program is told.
Error Router::end_of(int peer) const {
  return Error(members_->is_foreign(peer) && !survives_ ? int{MPI_ERR_PROC_ABORTED} : int{MPIX_ERR_PROC_FAILED}, "");
}

void Router::lose(int peer) {
  Ucx* const other = by_word(list_.serving(peer));
  const bool is_own = !members_->is_foreign(peer);
  has_lost_ = true;
  list_.set(peer, kGone);
  if (!is_own) copies_.forget(peer);
  if (other) return other->lose(peer);
  if (!is_own) return;
  if (shared_ && shared_->serves(peer)) shared_->lose(peer, MPIX_ERR_PROC_FAILED);
  if (ucx_) ucx_->lose(peer);
}

std::unique_ptr<Area> Router::area_for(const AreaKey& key, const std::vector<int>& processes, int rank) {
  if (!shared_ || processes.size() < 2) return nullptr;
  for (const int process : processes)
    if (reach(process, memory::Region::segment) != memory::Reach::load_store) return nullptr;
  return shared_->area_for(key, processes, rank);
}

std::unique_ptr<WordBells> Router::bells_for(const std::vector<int>& processes) {
  if (!shared_) return nullptr;
  for (const int process : processes)
    if (reach(process, memory::Region::segment) != memory::Reach::load_store) return nullptr;
  return shared_->bells_for(processes);
}

std::function<void()> Router::parting() const {
  return shared_ ? shared_->parting() : [] {};
}

}  // namespace tutti::transport
