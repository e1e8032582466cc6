// SPDX-License-Identifier: BSD-3-Clause
#include "engine/engine.hpp"

#include <mpi.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <new>
#include <utility>

#include "base/flight.hpp"
#include "base/log.hpp"

namespace tutti::engine {
namespace {

using transport::Arrival;
using transport::Header;
using transport::Kind;

// A message to oneself up to this size is copied when it is sent, so that a plain send to self
// does not wait for its receive.
constexpr int64_t kSelfEager = 64 << 10;
// Polls before the first pause, which takes as long as a short message on some processors.
constexpr int kEagerPolls = 50;
// Manner::buffering copies up to so many bytes of what is under way.
constexpr int64_t kLongestCopies = 256 << 20;
// Guards against a wake-up that the transport loses.
constexpr int kLongestSleepMs = 100;
// Setting the alarm takes one to ten microseconds (it makes other processors fence), waking the
// progress thread to have it set some times that. A program that computes between its calls sets it
// itself when it leaves a call that waited; one that does so more often than this does neither.
constexpr int kAlarmsAtOnce = 8;
constexpr std::chrono::milliseconds kAlarmPeriod{1};

std::unique_ptr<std::byte[]> copy_of(const void* data, int64_t bytes) {
  auto copy = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  if (bytes > 0) std::memcpy(copy.get(), data, static_cast<size_t>(bytes));
  return copy;
}

}  // namespace

struct Engine::Parked {
  struct Message {
    Header header;
    std::unique_ptr<std::byte[]> data;
    void* rendezvous;
  };
  std::map<std::pair<int32_t, uint32_t>, Message> messages;  // by process and order
};

Engine::Engine(transport::Transport& transport, int process, Waiting waiting)
    : transport_(transport),
      process_(process),
      waiting_(waiting),
      parked_(std::make_unique<Parked>()),
      wake_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      alarm_(transport.descriptor()),
      alarms_(kAlarmsAtOnce, kAlarmPeriod),
      doorbell_fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  TUTTI_INVARIANT(wake_fd_ >= 0 && doorbell_fd_ >= 0, "no descriptor left for an eventfd");
  transport_.set_receiver(*this);
}

Engine::~Engine() {
  close(wake_fd_);
  close(doorbell_fd_);
}

// ---- posting

Header Engine::next_header(int to, Kind kind) {
  Header header;
  header.kind = kind;
  header.process = process_;
  header.order = peer(to).next_out++;
  return header;
}

void Engine::send(SendOperation& op) {
  if (op.mode != SendMode::synchronous &&
      send_at_once(op.peer, op.match, op.payload, op.signature)) {
    op.outcome = {};
    op.sent = op.matched = true;
    ++events_;
    completed_unheard_ = true;
    return op.on_complete(op);
  }
  bool synchronous = op.mode == SendMode::synchronous;
  if (manner_ != Manner::usual && op.mode == SendMode::standard) [[unlikely]] {
    synchronous = manner_ == Manner::synchronous && !is_hidden(op.match.context);
    if (manner_ == Manner::buffering && send_copy(op)) return;
  }
  ++pending_;
  op.sent = false;
  op.matched = !synchronous;
  op.ticket = ++last_ticket_;
  op.outcome = {};
  if (op.peer == process_) return send_to_self(op);

  std::construct_at(&op.outgoing);
  Header& header = op.outgoing.header;
  header = next_header(op.peer, Kind::message);
  header.context = op.match.context;
  header.source = op.match.source;
  header.tag = op.match.tag;
  header.serial = op.match.serial;
  header.ticket = op.ticket;
  header.signature = op.signature;
  header.bytes = op.payload.bytes();
  if (!op.matched) {
    header.answer = 1;
    tickets_.emplace(op.ticket, &op);
  }
  op.outgoing.payload = op.payload;
  op.outgoing.owner = &op;
  op.engine = this;
  op.outgoing.sent = [](transport::Outgoing& outgoing, Error error) {
    auto& send = *static_cast<SendOperation*>(outgoing.owner);
    if (error) {
      say(Level::error, "sending to process {}: {}", send.peer, error.message());
      send.outcome.mpi_class = error.mpi_class();
      send.matched = true;
    }
    send.sent = true;
    send.engine->send_progressed(send);
  };
  transport_.send(op.peer, op.outgoing);
}

struct Engine::Copied : SendOperation {
  std::unique_ptr<std::byte[]> bytes;
};

bool Engine::send_copy(SendOperation& op) {
  const int64_t bytes = op.payload.bytes();
  if (copied_ + bytes > kLongestCopies) return false;
  auto* copy = new Copied;
  copy->bytes = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  op.payload.pack(0, copy->bytes.get(), bytes);
  copy->payload = {copy->bytes.get(), bytes, &Layout::bytes()};
  copy->peer = op.peer;
  copy->match = op.match;
  copy->mode = SendMode::buffered;
  copy->signature = op.signature;
  copy->engine = this;
  copy->on_complete = [](Operation& done) {
    done.engine->copied_ -= done.payload.bytes();
    delete static_cast<Copied*>(&done);
  };
  copied_ += bytes;
  send(*copy);
  op.outcome = {};
  op.sent = op.matched = true;
  ++events_;
  completed_unheard_ = true;
  op.on_complete(op);
  return true;
}

void Engine::send_progressed(SendOperation& op) {
  if (!op.sent || !op.matched) return;
  if (!tickets_.empty()) tickets_.erase(op.ticket);  // a second answer finds nobody
  complete(op);
}

void Engine::send_to_self(SendOperation& op) {
  Header header;
  header.process = process_;
  header.context = op.match.context;
  header.source = op.match.source;
  header.tag = op.match.tag;
  header.serial = op.match.serial;
  header.ticket = op.ticket;
  header.signature = op.signature;
  header.bytes = op.payload.bytes();
  if (RecvOperation* receive = matcher_.match(header)) return satisfy_from_self(*receive, op);
  std::unique_ptr<Unexpected> message(new Unexpected);
  message->header = header;
  if (op.matched && header.bytes <= kSelfEager) {
    op.payload.pack(0, message->make_room(header.bytes), header.bytes);
    matcher_.add(std::move(message));
    return complete(op);
  }
  message->from_self = &op;
  matcher_.add(std::move(message));
}

// False: there is none for it.
bool Engine::receive_unexpected(RecvOperation& op) {
  std::unique_ptr<Unexpected> message = take(op.match);
  if (!message) return false;
  receive_taken(std::move(message), op);
  return true;
}

void Engine::receive_taken(std::unique_ptr<Unexpected> message, RecvOperation& op) {
  ++pending_;
  op.posted = false;
  if (message->from_self) return satisfy_from_self(op, *message->from_self);
  satisfy(op, {message->header, message->data(), message->rendezvous});
}

bool Engine::cancel(RecvOperation& op) {
  if (!op.posted) return false;
  matcher_.withdraw(op);
  op.outcome = {.cancelled = true};
  complete(op);
  return true;
}

void Engine::cancel(SendOperation& op) {
  if (op.sent && op.matched) return;
  if (op.peer == process_) {
    if (!matcher_.take_ticket(process_, op.ticket)) return;
    op.outcome.cancelled = true;
    op.sent = op.matched = true;
    return complete(op);
  }
  // The answer decides, also when the bytes come back first: they do, too, when it was matched.
  op.matched = false;
  tickets_.emplace(op.ticket, &op);
  Header request = next_header(op.peer, Kind::cancel);
  request.ticket = op.ticket;
  transport_.notify(op.peer, request);
}

namespace {

struct ControlMessage {
  transport::Outgoing outgoing;
  std::string bytes;
  Engine* engine;
};

}  // namespace

void Engine::send_control(int to, Header header, std::string bytes) {
  const Header counted = to == process_ ? Header{.process = process_} : next_header(to, Kind::message);
  header.context = kControlContext;
  header.kind = counted.kind;
  header.process = counted.process;
  header.order = counted.order;
  header.bytes = static_cast<int64_t>(bytes.size());
  if (to == process_) {
    if (observer_) observer_->told(header, reinterpret_cast<const std::byte*>(bytes.data()));
    return;
  }
  ++peer(to).told;
  auto* message = new ControlMessage{{.header = header}, std::move(bytes), this};
  message->outgoing.payload = {message->bytes.data(), header.bytes, &Layout::bytes()};
  message->outgoing.owner = message;
  message->outgoing.sent = [](transport::Outgoing& outgoing, Error error) {
    // One that does not come through is a question without an answer, which the asker expects.
    if (error) say(Level::debug, "a control message is lost: {}", error.message());
    auto* sent = static_cast<ControlMessage*>(outgoing.owner);
    sent->engine->remove_pending();
    delete sent;
  };
  add_pending();
  transport_.send(to, message->outgoing);
}

// ---- arrivals

inline void Engine::complete(Operation& op) {
  --pending_;
  ++events_;
  completed_unheard_ = true;
  op.on_complete(op);
}

[[gnu::always_inline]] inline void Engine::satisfy(RecvOperation& op, const Arrival& arrival) {
  const Header& header = arrival.header;
  if (header.answer) {
    Header answer = next_header(header.process, Kind::matched);
    answer.ticket = header.ticket;
    transport_.notify(header.process, answer);
  }
  const int64_t room = op.payload.bytes();
  op.outcome.source = header.source;
  op.outcome.tag = header.tag;
  op.outcome.bytes = std::min(header.bytes, room);
  op.outcome.sent_bytes = header.bytes;
  op.outcome.mpi_class = header.bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  op.outcome.cancelled = false;
  op.outcome.sender_hears = header.answer || arrival.rendezvous;
  op.signature = header.signature;
  if (!arrival.rendezvous) {
    if (!op.payload.contiguous()) {
      op.payload.unpack(0, arrival.data, op.outcome.bytes);
    } else if (op.outcome.bytes > 0) {
      copy_short(op.payload.data(), arrival.data, static_cast<size_t>(op.outcome.bytes));
    }
    return complete(op);
  }
  fetch_into(op, arrival);
}

[[gnu::always_inline]] inline void Engine::receive_message(const Arrival& arrival) {
  if (is_hidden(arrival.header.context) && observed(arrival)) return;
  if (RecvOperation* receive = matcher_.match(arrival.header)) return satisfy(*receive, arrival);
  ++events_;
  std::unique_ptr<Unexpected> message(new Unexpected);
  message->header = arrival.header;
  message->rendezvous = arrival.rendezvous;
  if (!arrival.rendezvous && arrival.header.bytes > 0)
    std::memcpy(message->make_room(arrival.header.bytes), arrival.data,
                static_cast<size_t>(arrival.header.bytes));
  matcher_.add(std::move(message));
}

void Engine::arrived(const Arrival& arrival) {
  const int32_t process = arrival.header.process;
  Peer& from = peer(process);
  if (arrival.header.order != from.next_in) [[unlikely]] {
    parked_->messages.emplace(
        std::pair{process, arrival.header.order},
        Parked::Message{arrival.header,
                        arrival.data ? copy_of(arrival.data, arrival.header.bytes) : nullptr,
                        arrival.rendezvous});
    return;
  }
  ++from.next_in;
  if (arrival.header.kind == Kind::message) [[likely]]
    receive_message(arrival);
  else
    deliver(arrival);
  if (!parked_->messages.empty()) [[unlikely]]
    deliver_parked(process);
}

void Engine::deliver_parked(int32_t from) {
  while (!parked_->messages.empty()) {
    const auto at = parked_->messages.find({from, peer(from).next_in});
    if (at == parked_->messages.end()) return;
    const Parked::Message message = std::move(at->second);
    parked_->messages.erase(at);
    ++peer(from).next_in;
    deliver({message.header, message.data.get(), message.rendezvous});
  }
}

void Engine::deliver(const Arrival& arrival) {
  switch (arrival.header.kind) {
    case Kind::message: return receive_message(arrival);
    case Kind::cancel: return withdraw_message(arrival.header);
    case Kind::matched:
    case Kind::cancelled: break;
  }
  const auto at = tickets_.find(arrival.header.ticket);
  if (at == tickets_.end()) return;
  SendOperation& op = *at->second;
  op.outcome.cancelled = arrival.header.kind == Kind::cancelled;
  op.matched = true;
  send_progressed(op);
}

// True: it is not to be matched.
bool Engine::observed(const Arrival& arrival) {
  if (arrival.header.context < kActiveContext) [[likely]] {
    if (observer_) observer_->arrived(arrival.header);
    return false;
  }
  if (arrival.header.context == kActiveContext) {
    receive_active(arrival);
    return true;
  }
  ++peer(arrival.header.process).heard;
  if (arrival.rendezvous) {
    fetch_control(arrival);
  } else if (observer_) {
    observer_->told(arrival.header, arrival.data);
  }
  return true;
}

void Engine::fetch_control(const Arrival& arrival) {
  struct Long {
    transport::Fetch fetch;
    Header header;
    std::unique_ptr<std::byte[]> bytes;
    Engine* engine;
  };
  auto* message = new Long{{}, arrival.header, nullptr, this};
  const int64_t length = arrival.header.bytes;
  message->bytes = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(length));
  message->fetch.into = {message->bytes.get(), length, &Layout::bytes()};
  message->fetch.owner = message;
  message->fetch.fetched = [](transport::Fetch& fetch, Error error) {
    const std::unique_ptr<Long> whole(static_cast<Long*>(fetch.owner));
    Observer* observer = whole->engine->observer_;
    if (!error && observer) observer->told(whole->header, whole->bytes.get());
  };
  transport_.fetch(arrival.rendezvous, message->fetch);
}

void Engine::withdraw_message(const Header& request) {
  const auto message = matcher_.take_ticket(request.process, request.ticket);
  if (message && message->rendezvous) transport_.discard(message->rendezvous);
  Header answer = next_header(request.process, message ? Kind::cancelled : Kind::matched);
  answer.ticket = request.ticket;
  transport_.notify(request.process, answer);
}

void Engine::fetch_into(RecvOperation& op, const Arrival& arrival) {
  const Header& header = arrival.header;
  std::construct_at(&op.fetch);
  op.fetch.into = op.payload;
  op.fetch.owner = &op;
  op.engine = this;
  if (op.payload.contiguous()) {
    op.fetch.into = {op.payload.data(), header.bytes, &Layout::bytes()};
  }
  if (header.bytes > op.payload.bytes()) {
    op.overflow.reset(new (std::nothrow) std::byte[static_cast<size_t>(header.bytes)]);
    if (!op.overflow) {  // the error stands already; its bytes are not to be had
      op.outcome.bytes = 0;
      transport_.discard(arrival.rendezvous);
      return complete(op);
    }
    op.fetch.into = {op.overflow.get(), header.bytes, &Layout::bytes()};
  }
  ++fetching_;
  op.fetch.fetched = [](transport::Fetch& fetch, Error error) {
    auto& receive = *static_cast<RecvOperation*>(fetch.owner);
    --receive.engine->fetching_;
    if (error) {
      say(Level::error, "receiving: {}", error.message());
      receive.outcome.mpi_class = error.mpi_class();
    } else if (receive.overflow) {
      receive.payload.unpack(0, receive.overflow.get(), receive.outcome.bytes);
    }
    receive.overflow.reset();
    receive.engine->complete(receive);
  };
  transport_.fetch(arrival.rendezvous, op.fetch);
}

void Engine::satisfy_from_self(RecvOperation& op, SendOperation& send) {
  const int64_t bytes = send.payload.bytes(), room = op.payload.bytes();
  op.outcome = {.source = send.match.source,
                .tag = send.match.tag,
                .bytes = std::min(bytes, room),
                .sent_bytes = bytes,
                .mpi_class = bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS,
                .sender_hears = true};
  copy_payload(send.payload, op.payload);
  complete(op);
  send.sent = send.matched = true;
  complete(send);
}

// ---- waiting

void Engine::wait(bool (*done)(void*), void* argument, Blocked& blocked) {
  const int before_sleep = waiting_.polls + waiting_.yields;
  const int longest = waiting_.polls < Waiting::kForEver ? before_sleep + 1 : waiting_.polls;
  constexpr int kSpinsUnobserved = 1 << 20;  // of a thread that never sleeps
  std::chrono::steady_clock::time_point asleep_since{};
  int spins = 0;
  for (int idle = 0; !done(argument);) {
    // At least one pass each turn, or threads that wait for each other's turn starve all.
    idle = progress() ? 0 : std::min(idle + 1, longest);
    if (idle > 0) stay_awake();
    if (observer_ && (idle > before_sleep || ++spins == kSpinsUnobserved)) [[unlikely]] {
      spins = 0;
      if (!blocked.listed) list(blocked);
      const auto now = std::chrono::steady_clock::now();
      if (asleep_since == std::chrono::steady_clock::time_point{}) asleep_since = now;
      observer_->waits(now - asleep_since);
      if (done(argument)) break;
    }
    if (idle > before_sleep) {
      sleep_until_something();
    } else if (ownership_.contended()) {  // another thread's turn; it waits in the same fair queue
      leave();
      enter();
    } else if (idle > waiting_.polls) {
      sched_yield();
    } else if (idle > kEagerPolls) {
      __builtin_ia32_pause();
    }
  }
  if (blocked.listed) [[unlikely]]
    unlist(blocked);
}

void Engine::list(Blocked& blocked) {
  ++events_;
  blocked.listed = true;
  blocked.next = blocked_;
  if (blocked_) blocked_->previous = &blocked;
  blocked_ = &blocked;
  blocked.thread = gettid();
  blocked.call = flight::thread();
}

void Engine::unlist(Blocked& blocked) {
  ++events_;
  (blocked.previous ? blocked.previous->next : blocked_) = blocked.next;
  if (blocked.next) blocked.next->previous = blocked.previous;
}

// From here on whoever raises a flag that a poller waits for rings, as a sender does. What was
// raised before is looked for once more.
bool Engine::arm() {
  return transport_.arm() && !pollers_.poll();
}

void Engine::sleep_until_something() {
  if (!arm()) {
    armed_ = false;
    if (!progress()) sched_yield();
    return;
  }
  armed_ = true;
  // This thread hears of what comes: the progress thread need not be woken as well.
  if (alarm_.enabled()) alarm_.disable();
  // Others that sleep here do not see what this thread has completed for them.
  if (sleepers_.load(std::memory_order_relaxed) > 0 && completed_unheard_) wake_sleepers();
  sleepers_.store(sleepers_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  ownership_.release();
  pollfd wakers[] = {{transport_.descriptor(), POLLIN, 0}, {wake_fd_, POLLIN, 0}};
  poll(wakers, 2, kLongestSleepMs);
  ownership_.acquire();
  const int left = sleepers_.load(std::memory_order_relaxed) - 1;
  sleepers_.store(left, std::memory_order_relaxed);
  uint64_t count;
  if (left == 0) {  // the last one out leaves the wake-up descriptor quiet
    [[maybe_unused]] const ssize_t n = read(wake_fd_, &count, sizeof count);
  }
}

void Engine::yield_core() {
  sched_yield();
}

void Engine::wake_sleepers() {
  completed_unheard_ = false;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = write(wake_fd_, &one, sizeof one);
}

// ---- the progress thread

void Engine::leave_to_application(Chore& chore) {
  chore.next = nullptr;
  (first_chore_ ? last_chore_->next : first_chore_) = &chore;
  last_chore_ = &chore;
}

void Engine::do_chores() {
  Chore* chore = std::exchange(first_chore_, nullptr);
  while (chore) {
    Chore* const next = chore->next;  // a chore may be gone once it is performed
    chore->perform(*chore);
    chore = next;
  }
}

void Engine::leave_to(Helper helper, bool work) {
  // Who sleeps in a call hears of what comes, and has been told of what is left.
  if (sleepers_.load(std::memory_order_relaxed) > 0) return;
  if (ownership_.contended()) return;  // the next one to leave will do
  if (helper == Helper::asleep) {
    if (armed_ && alarm_.enabled() && !work) return;
    if (!armed_ && !alarms_.take()) return ring_doorbell(Ring::busy);
    if (set_alarm(2)) return;
  }
  ring_doorbell(Ring::work);
}

// From here on the progress thread is woken when a message comes, until an application thread waits
// for one. False: there is something to be done now.
bool Engine::set_alarm(int attempts) {
  while (!arm()) {
    armed_ = false;
    if (--attempts <= 0) return false;
    progress();
  }
  armed_ = true;
  if (!alarm_.enabled()) alarm_.enable();
  return true;
}

void Engine::disarm() {
  armed_ = false;
  transport_.disarm();
}

void Engine::ring_doorbell(Ring why) {
  helper_.store(Helper::watching, std::memory_order_relaxed);
  const auto word = static_cast<uint64_t>(why);
  [[maybe_unused]] const ssize_t n = write(doorbell_fd_, &word, sizeof word);
}

}  // namespace tutti::engine
