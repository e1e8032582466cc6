// SPDX-License-Identifier: BSD-3-Clause
#include "transport/router.hpp"

#include <mpi.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.hpp"
#include "members/processes.hpp"
#include "transport/ends.hpp"
#include "transport/shared/doorbell.hpp"
#include "transport/ucx/ucx_signals.hpp"

namespace tutti::transport {
namespace {

// An idle tcp endpoint makes each poll of UCX cost half a microsecond. So UCX is polled in each
// pass only while it has news, or while shared memory has had none for this many passes…
constexpr int kQuietPasses = 64;
// …and else ever more rarely, down to once in so many passes.
constexpr int kLongestPatience = 1024;

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
                                                                     .both_copy = options.both_copy,
                                                                     .slow_copy = options.slow_copy,
                                                                     .no_way = options.no_way,
                                                                     .members = options.members});
  if (opened) return *std::move(opened);
  say(note_of(options), "messages on this node go over UCX: {}", opened.error().message());
  return nullptr;
}

}  // namespace

// Marks the long messages that come by UCX, for fetch() and discard() to tell whose they are.
// Those of shared memory are passed on as they are; both are aligned, so that a bit is free.
class Router::FromUcx final : public Receiver {
 public:
  struct Ticket {
    Ucx* from;
    void* rendezvous;
  };
  FromUcx(Receiver& receiver, Ucx& ucx) : receiver_(receiver), ucx_(ucx) {}

  void arrived(const Arrival& arrival) override TUTTI_ENGINE_OWNED {
    if (!arrival.rendezvous) return receiver_.arrived(arrival);
    Arrival marked = arrival;
    auto* const ticket = new Ticket{&ucx_, arrival.rendezvous};
    marked.rendezvous = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(ticket) | 1);
    receiver_.arrived(marked);
  }
  void unsent(int more) override TUTTI_ENGINE_OWNED { receiver_.unsent(more); }
  bool takes_turns() override TUTTI_ENGINE_OWNED { return receiver_.takes_turns(); }
  static bool is_marked(void* rendezvous) { return reinterpret_cast<uintptr_t>(rendezvous) & 1; }
  static Ticket take(void* rendezvous) {
    const std::unique_ptr<Ticket> ticket(
        reinterpret_cast<Ticket*>(reinterpret_cast<uintptr_t>(rendezvous) & ~uintptr_t{1}));
    return *ticket;
  }

 private:
  Receiver& receiver_;
  Ucx& ucx_;
};

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
    how.between_nodes = !one_node;
    how.loopback = one_node && options.one_place;
    // What is in /dev/shm is for our rings. Where they find no room UCX finds none either.
    how.dev_shm = !options.shared_memory;
    // Where they serve, UCX has nothing to do on this node.
    how.segments = !shared;
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
    : neighbours_(options.neighbours),
      shared_(std::move(shared)),
      ucx_options_(options.ucx),
      address_book_(wiring.address_of),
      members_(options.members),
      descriptor_(epoll_create1(EPOLL_CLOEXEC)) {
  TUTTI_INVARIANT(descriptor_ >= 0, "no descriptor left for epoll");
  const bool one_node = static_cast<size_t>(options.job_size) == options.neighbours.size();
  if (ucx) ucx_ = add_line(std::move(ucx));
  if (ucx_ && !one_node) near_ = far_ = ucx_;
  epoll_event event{.events = EPOLLIN};
  TUTTI_INVARIANT(!shared_ || epoll_ctl(descriptor_, EPOLL_CTL_ADD, shared_->descriptor(), &event) == 0,
                  "epoll takes a transport's descriptor");
}

Router::~Router() {
  // Their endings look at what this object has.
  while (!lines_.empty()) {
    const Line last = std::move(lines_.back());
    lines_.pop_back();
  }
  close(descriptor_);
}

Ucx* Router::add_line(std::unique_ptr<Ucx> ucx) {
  ucx->set_address_book([this](int peer) { return address_of(peer); });
  lines_.push_back({.receiver = nullptr, .ucx = std::move(ucx)});
  if (receiver_) receive(lines_.back());
  return lines_.back().ucx.get();
}

void Router::receive(Line& line) {
  line.receiver = std::make_unique<FromUcx>(*receiver_, *line.ucx);
  line.ucx->set_receiver(*line.receiver);
}

void Router::set_receiver(Receiver& receiver) {
  receiver_ = &receiver;
  if (shared_) shared_->set_receiver(receiver);
  for (Line& line : lines_) receive(line);
}

Router::Route Router::choose_route(int peer) {
  Route route = ucx_ ? Route::ucx : Route::none;
  if (shared_ && std::ranges::binary_search(neighbours_, peer)) {
    const Error problem = shared_->connect(peer);
    if (!problem) {
      route = Route::shared;
    } else if (ucx_) {
      say(Level::note, "messages to process {} go over UCX: {}", peer, problem.message());
    } else {
      say(Level::error, "process {} cannot be reached: {}", peer, problem.message());
    }
  }
  return routes_.set(peer, route);
}

void Router::send(int peer, Outgoing& outgoing) {
  const Route route = route_to(peer);
  switch (route) {
    case Route::shared:
      return shared_->send(peer, outgoing);
    case Route::ucx:
      return ucx_->send(peer, outgoing);
    case Route::near:
    case Route::far:
      outgoing.header.process = members_->known_as(peer);
      return by(route)->send(peer, outgoing);
    case Route::gone:
      return outgoing.sent(outgoing, Error(MPI_ERR_PROC_ABORTED, ""));  // the program is told
    default:
      break;
  }
  outgoing.sent(outgoing, failure(MPI_ERR_OTHER, "there is no way to process {}", peer));
}

void Router::notify(int peer, const Header& header) {
  const Route route = route_to(peer);
  switch (route) {
    case Route::shared:
      return shared_->notify(peer, header);
    case Route::ucx:
      return ucx_->notify(peer, header);
    case Route::near:
    case Route::far: {
      Header known = header;
      known.process = members_->known_as(peer);
      return by(route)->notify(peer, known);
    }
    default:
      return;
  }
}

Transport::Way Router::way_to(int peer, bool connects) {
  const Route route = route_to(peer);
  switch (route) {
    case Route::shared:
      return Way::open;
    case Route::ucx:
      return ucx_->way_to(peer, connects);
    case Route::near:
    case Route::far:
      return by(route)->way_to(peer, connects);
    default:
      return Way::closed;
  }
}

Result<std::string> Router::open_to(Reach reach) {
  Ucx*& way = reach == Reach::near ? near_ : far_;
  if (way) return way->address();
  UcxOptions how = ucx_options_;
  how.members = members_;
  how.between_nodes = true;  // also where they are near: both sides have to say the same
  how.loopback = reach == Reach::near;
  how.dev_shm = false;  // a file there would stay if this process were killed
  how.segments = false;
  Result<std::unique_ptr<Ucx>> opened = Ucx::open(how);
  if (!opened) return std::move(opened).error();
  way = add_line(*std::move(opened));
  return way->address();
}

Result<std::string> Router::address_of(int peer) const {
  return members_ && members_->is_foreign(peer) ? members_->address_of(peer) : address_book_(peer);
}

void Router::add_foreign(int peer, Reach reach) {
  if (routes_.find(peer)) return;
  routes_.set(peer, reach == Reach::near ? Route::near : Route::far);
  say_no_ucx_errors();
}

void Router::take_changes() {
  const std::vector<members::Change> changes = members_->changes_since(changes_taken_);
  changes_taken_ += changes.size();
  for (const members::Change& change : changes)
    if (change.state == members::State::failed && members_->is_foreign(change.process)) lose(change.process);
}

void Router::lose(int peer) {
  const Route route = route_to(peer);
  routes_.set(peer, Route::gone);
  if (route == Route::near || route == Route::far) by(route)->lose(peer);
}

void Router::fetch(void* rendezvous, Fetch& fetch) {
  if (!FromUcx::is_marked(rendezvous)) return shared_->fetch(rendezvous, fetch);
  const FromUcx::Ticket ticket = FromUcx::take(rendezvous);
  ticket.from->fetch(ticket.rendezvous, fetch);
}

void Router::discard(void* rendezvous) {
  if (!FromUcx::is_marked(rendezvous)) return shared_->discard(rendezvous);
  const FromUcx::Ticket ticket = FromUcx::take(rendezvous);
  ticket.from->discard(ticket.rendezvous);
}

std::unique_ptr<Area> Router::area_for(const AreaKey& key, const std::vector<int>& processes, int rank) {
  if (!shared_ || processes.size() < 2) return nullptr;
  const auto is_here = [&](int process) { return std::ranges::binary_search(neighbours_, process); };
  if (!std::ranges::all_of(processes, is_here)) return nullptr;
  return shared_->area_for(key, processes, rank);
}

std::function<void()> Router::parting() const {
  return shared_ ? shared_->parting() : [] {};
}

bool Router::progress() {
  const bool moved = shared_ && shared_->progress();
  if (lines_.empty()) return moved;
  if (moved) {
    quiet_ = 0;
  } else if (quiet_ < kQuietPasses) {
    ++quiet_;
  }
  if (shared_ && quiet_ < kQuietPasses && ++skipped_ < patience_) return moved;
  return poll_ucx() || moved;
}

bool Router::progress_here(int calls) {
  if (!shared_ || lines_.empty()) return progress();
  const bool moved = shared_->progress();
  if (moved) quiet_ = 0;
  skipped_ += calls;
  return (skipped_ >= patience_ && poll_ucx()) || moved;
}

bool Router::poll_ucx() {
  skipped_ = 0;
  bool moved = false;
  // By number: what is received may open another line.
  for (size_t i = 0; i < lines_.size(); ++i) moved |= lines_[i].ucx->progress();
  patience_ = moved ? 1 : std::min(patience_ * 2, kLongestPatience);
  return moved;
}

bool Router::arm(bool by_flags) {
  if (!lines_.empty() && !arm_ucx()) {
    watch_none();
    patience_ = 1;  // it has news: the next pass asks it
    return false;
  }
  return !shared_ || shared_->arm(by_flags);
}

void Router::disarm() {
  if (shared_) shared_->disarm();
  watch_none();
}

// What comes from here on is an event; what has come is forgotten as one, and found by the progress.
bool Router::arm_ucx() {
  for (Line& line : lines_)
    if (!watch(line, true)) return false;
  epoll_event seen[4];
  epoll_wait(descriptor_, seen, 4, 0);
  for (size_t i = 0; i < lines_.size(); ++i)
    if (!lines_[i].ucx->arm(false) || lines_[i].ucx->progress()) return false;
  return true;
}

// Whoever polls spares the sender the telling of one more epoll: it happens at the cost of the message
// (0.1 us of 4 over tcp). By events, not by state: UCX's descriptor stays readable while a send over
// tcp waits for its receiver.
bool Router::watch(Line& line, bool watched) {
  if (watched == line.is_watched) return true;
  epoll_event event{.events = EPOLLIN | EPOLLET};
  const int operation = watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
  if (epoll_ctl(descriptor_, operation, line.ucx->descriptor(), &event) != 0) return false;
  line.is_watched = watched;
  return true;
}

void Router::watch_none() {
  for (Line& line : lines_) watch(line, false);
}

bool Router::flushed() {
  bool all = !shared_ || shared_->flushed();
  for (Line& line : lines_) all = line.ucx->flushed() && all;
  return all;
}

}  // namespace tutti::transport
