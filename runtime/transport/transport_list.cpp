// SPDX-License-Identifier: BSD-3-Clause
#include "transport/transport_list.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "base/os/probe.hpp"

namespace tutti::transport {
namespace {

// One that is dear to poll is polled in each pass while it has news, or while the others have had none for so many
// passes; else ever more rarely, down to once in as many as it says.
constexpr int kQuietPasses = 64;

// So often one is asked for news that stays readable, before its sockets are counted; and where that cannot be done.
constexpr int kFewLooks = 16, kManyLooks = 1024;

bool is_readable(int descriptor) {
  pollfd polled{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, 0) > 0;
}

// Whether it has news, now that nobody hears of what has come. UCX looks at one socket a call, and says that nothing has
// moved of one that takes more of a send whose receiver is away, and of a step in the making of a connection. It takes
// its sockets in turn: after as many calls as this process has descriptors it has looked at each.
bool has_news(Transport& transport) TUTTI_ENGINE_OWNED {
  if (transport.progress()) return true;
  int most = kFewLooks;
  for (int looks = 1; is_readable(transport.descriptor()); ++looks) {
    if (looks == kFewLooks) most = count_descriptors(kManyLooks);
    if (looks >= most) return false;
    if (transport.progress()) return true;
  }
  return false;
}

}  // namespace

// Marks the long messages of a transport, for fetch() and discard() to tell whose they are. Those of the first one, if it
// is cheap to poll, are passed on as they are; what it calls them is aligned, as the marks are, so that a bit is free.
class TransportList::Marking final : public Receiver {
 public:
  struct Mark {
    Transport* from;
    void* rendezvous;
  };
  Marking(Receiver& receiver, Transport& from) : receiver_(receiver), from_(from) {}

  void arrived(const Arrival& arrival) override TUTTI_ENGINE_OWNED {
    if (!arrival.rendezvous) return receiver_.arrived(arrival);
    Arrival marked = arrival;
    auto* const mark = new Mark{&from_, arrival.rendezvous};
    marked.rendezvous = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(mark) | 1);
    receiver_.arrived(marked);
  }
  void unsent(int more) override TUTTI_ENGINE_OWNED { receiver_.unsent(more); }
  bool takes_turns() override TUTTI_ENGINE_OWNED { return receiver_.takes_turns(); }
  Driver driver() override TUTTI_ENGINE_OWNED { return receiver_.driver(); }
  static bool is_mark(void* rendezvous) { return reinterpret_cast<uintptr_t>(rendezvous) & 1; }
  static Mark take(void* rendezvous) {
    const std::unique_ptr<Mark> mark(reinterpret_cast<Mark*>(reinterpret_cast<uintptr_t>(rendezvous) & ~uintptr_t{1}));
    return *mark;
  }

 private:
  Receiver& receiver_;
  Transport& from_;
};

TransportList::TransportList() : descriptor_(epoll_create1(EPOLL_CLOEXEC)) {
  TUTTI_INVARIANT(descriptor_ >= 0, "no descriptor left for epoll");
}

// Their endings deliver what is left to the receivers that they have.
TransportList::~TransportList() {
  while (!transports_.empty()) transports_.pop_back();
  close(descriptor_);
}

TransportList::Number TransportList::add(std::unique_ptr<Transport> transport, bool for_all) {
  TUTTI_INVARIANT(size() < kNone && (!for_all || for_all_ == size()), "a transport for all stands before the others");
  const auto number = static_cast<Number>(size());
  Entry entry{.transport = transport.get(), .receiver = nullptr, .longest_patience = transport->longest_patience()};
  entry.due = passes_;
  due_ = passes_;
  dear_ += entry.is_dear();
  for_all_ += for_all;
  epoll_event event{.events = EPOLLIN};
  TUTTI_INVARIANT(entry.is_dear() || epoll_ctl(descriptor_, EPOLL_CTL_ADD, transport->descriptor(), &event) == 0,
                  "epoll takes a transport's descriptor");
  transports_.push_back(std::move(transport));
  entries_.push_back(std::move(entry));
  if (receiver_) hear(number);
  return number;
}

// ---- who serves whom

TransportList::Number TransportList::choose(int peer) {
  Error problem;
  for (size_t i = 0; i < for_all_; ++i) {
    if (!transports_[i]->serves(peer)) continue;
    Error cannot = transports_[i]->open_way(peer);
    if (!cannot) {
      if (problem)
        say(Level::note, "messages to process {} go over {}: {}", peer, transports_[i]->name(), problem.message());
      return serving_.set(peer, static_cast<Number>(i));
    }
    problem = std::move(cannot);
  }
  if (problem) say(Level::error, "process {} cannot be reached: {}", peer, problem.message());
  return serving_.set(peer, kNone);
}

memory::Reach TransportList::reach(int peer, memory::Region region) {
  for (size_t i = 0; i < for_all_; ++i)
    if (transports_[i]->serves(peer)) return transports_[i]->reach(peer, region);
  return region == memory::Region::mapped ? memory::Reach::load_store : memory::Reach::messages;
}

// ---- what they deliver

void TransportList::hear(Number number) {
  Entry& entry = entries_[number];
  if (number == 0 && !entry.is_dear()) return entry.transport->set_receiver(*receiver_);
  // The one before is heard of until the transport has the next.
  auto receiver = std::make_unique<Marking>(*receiver_, *entry.transport);
  entry.transport->set_receiver(*receiver);
  entry.receiver = std::move(receiver);
}

void TransportList::set_receiver(Receiver& receiver) {
  receiver_ = &receiver;
  for (size_t i = 0; i < size(); ++i) hear(static_cast<Number>(i));
}

void TransportList::fetch(void* rendezvous, Fetch& fetch) {
  if (!Marking::is_mark(rendezvous)) return transports_.front()->fetch(rendezvous, fetch);
  const Marking::Mark mark = Marking::take(rendezvous);
  mark.from->fetch(mark.rendezvous, fetch);
}

void TransportList::discard(void* rendezvous) {
  if (!Marking::is_mark(rendezvous)) return transports_.front()->discard(rendezvous);
  const Marking::Mark mark = Marking::take(rendezvous);
  mark.from->discard(mark.rendezvous);
}

// ---- progress. By number: what is received may add one.

bool TransportList::poll_cheap() {
  bool moved = false;
  for (size_t i = 0; i < entries_.size(); ++i)
    if (!entries_[i].is_dear()) moved |= entries_[i].transport->progress();
  return moved;
}

bool TransportList::poll_dear(bool all) {
  bool moved = false;
  uint64_t due = UINT64_MAX;
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].is_dear()) continue;
    if (all || passes_ >= entries_[i].due) {
      const bool news = entries_[i].transport->progress();
      Entry& entry = entries_[i];
      entry.patience = news ? 1 : std::min(entry.patience * 2, entry.longest_patience);
      entry.due = passes_ + static_cast<uint64_t>(entry.patience);
      moved |= news;
    }
    due = std::min(due, entries_[i].due);
  }
  due_ = due;
  return moved;
}

bool TransportList::progress() {
  ++passes_;
  const bool moved = poll_cheap();
  if (dear_ == 0) return moved;
  if (moved) {
    quiet_ = 0;
  } else if (quiet_ < kQuietPasses) {
    ++quiet_;
  }
  const bool all = quiet_ >= kQuietPasses || dear_ == entries_.size();
  if (!all && passes_ < due_) return moved;
  return poll_dear(all) || moved;
}

bool TransportList::progress_here(int calls) {
  if (dear_ == 0 || dear_ == entries_.size()) return progress();
  const bool moved = poll_cheap();
  if (moved) quiet_ = 0;
  passes_ += static_cast<uint64_t>(calls);
  return (passes_ >= due_ && poll_dear(false)) || moved;
}

void TransportList::spread() {
  for (const Entry& entry : entries_) entry.transport->spread();
}

bool TransportList::flushed() {
  bool all = true;
  for (const Entry& entry : entries_) all = entry.transport->flushed() && all;
  return all;
}

// ---- sleep

bool TransportList::arm(bool by_flags) {
  if (dear_ > 0 && !arm_dear()) {
    for (Entry& entry : entries_) watch(entry, false);
    return false;
  }
  for (const Entry& entry : entries_)
    if (!entry.is_dear() && !entry.transport->arm(by_flags)) return false;
  return true;
}

void TransportList::disarm() {
  for (Entry& entry : entries_) {
    entry.transport->disarm();
    watch(entry, false);
  }
}

// What comes from here on is an event; what has come is forgotten as one, and found by the progress.
bool TransportList::arm_dear() {
  for (Entry& entry : entries_)
    if (entry.is_dear() && !watch(entry, true)) return false;
  epoll_event seen[4];
  epoll_wait(descriptor_, seen, 4, 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].is_dear() || (entries_[i].transport->arm(false) && !has_news(*entries_[i].transport))) continue;
    // It has news: the next pass asks it.
    entries_[i].patience = 1;
    entries_[i].due = due_ = passes_;
    return false;
  }
  return true;
}

// Whoever polls spares the sender the telling of one more epoll: it happens at the cost of the message (0.1 us of 4 over
// tcp). By events, not by state: UCX's descriptor stays readable while a send over tcp waits for its receiver (has_news()).
bool TransportList::watch(Entry& entry, bool watched) {
  if (!entry.is_dear() || watched == entry.is_watched) return true;
  epoll_event event{.events = EPOLLIN | EPOLLET};
  const int operation = watched ? EPOLL_CTL_ADD : EPOLL_CTL_DEL;
  if (epoll_ctl(descriptor_, operation, entry.transport->descriptor(), &event) != 0) return false;
  entry.is_watched = watched;
  return true;
}

}  // namespace tutti::transport
