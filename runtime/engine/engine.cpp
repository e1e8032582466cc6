// SPDX-License-Identifier: BSD-3-Clause
#include "engine/engine.hpp"

#include <mpi.h>

#include <algorithm>
#include <map>
#include <new>
#include <utility>

#include "base/log.hpp"
#include "base/os/late_word.hpp"
#include "memory/movers.hpp"

namespace tutti::engine {
namespace {

using transport::Arrival;
using transport::Header;
using transport::HeaderKind;

// A message to oneself up to this size is copied when it is sent, so that a plain send to self
// does not wait for its receive.
constexpr int64_t kSelfEager = 64 << 10;
// Manner::buffering copies up to so many bytes of what is under way.
constexpr int64_t kLongestCopies = 256 << 20;
std::unique_ptr<std::byte[]> copy_of(const void* data, int64_t bytes) {
  auto copy = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  memory::copy(copy.get(), data, bytes);
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
    : transport_(&transport),
      process_(process),
      parked_(std::make_unique<Parked>()),
      waiter_(*this, transport.descriptor(), waiting) {
  transport_->set_receiver(*this);
}

Engine::~Engine() = default;

Engine::PeerOrder& Engine::meet(int process) {
  return *known_.set(process, &peers_.emplace_back(PeerOrder{.process = process}));
}

std::vector<const Engine::PeerOrder*> Engine::peers_in_order() const {
  std::vector<const PeerOrder*> all;
  for (const PeerOrder& each : peers_) all.push_back(&each);
  std::ranges::sort(all, {}, &PeerOrder::process);
  return all;
}

bool Engine::progress_here(int calls) {
  begin_pass();
  bool moved = transport_->progress_here(calls);
  if (!pollers_.empty()) moved |= pollers_.poll();
  return moved;
}

// ---- posting

Header Engine::next_header(int to, HeaderKind kind) {
  Header header;
  header.kind = kind;
  header.process = process_;
  header.order = peer(to).next_out++;
  return header;
}

void Engine::send(SendOperation& op) {
  if (judge_) [[unlikely]]
    if (const int refused = judge_->refuses(op.match)) {
      op.outcome = {.mpi_class = refused};
      op.sent = op.matched = true;
      ++events_;
      return op.on_complete(op);
    }
  if (op.mode != SendMode::synchronous && send_at_once(op.peer, op.match, op.payload, op.pattern, op.signature)) {
    op.outcome = {};
    op.sent = op.matched = true;
    ++events_;
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
  header = next_header(op.peer, HeaderKind::message);
  header.context = op.match.context;
  header.source = op.match.source;
  header.tag = op.match.tag;
  header.serial = op.match.serial;
  header.ticket = op.ticket;
  header.signature = op.signature;
  header.pattern = op.pattern;
  header.bytes = op.payload.bytes();
  if (!op.matched) {
    header.answer = 1;
    tickets_.emplace(op.ticket, &op);
  }
  if (keeps_sends_) [[unlikely]]
    sends_.emplace(&op, 0);
  op.outgoing.payload = op.payload;
  op.outgoing.owner = &op;
  op.engine = this;
  op.outgoing.sent = [](transport::Outgoing& outgoing, Error error) TUTTI_ENGINE_OWNED {
    auto& send = *static_cast<SendOperation*>(outgoing.owner);
    if (error) {
      if (!error.message().empty())
        say_unless_ended(fmt::format("sending to process {}: {}", send.peer, error.message()));
      send.outcome.mpi_class = error.mpi_class();
      send.matched = true;
    }
    send.sent = true;
    send.engine->send_progressed(send, !error);
  };
  if (life::are_wanted(kPosted | kSent)) [[unlikely]]
    tell_sent(op);
  transport_->send(op.peer, op.outgoing);
}

struct Engine::Copied : SendOperation {
  std::unique_ptr<std::byte[]> bytes;
};

// The copy has a life of its own, and is told of in the operation's place.
bool Engine::send_copy(SendOperation& op) {
  const int64_t bytes = op.payload.bytes();
  if (copied_ + bytes > kLongestCopies) return false;
  auto* copy = new Copied;
  copy->bytes = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  memory::pack(op.payload, 0, copy->bytes.get(), bytes);
  copy->payload = {copy->bytes.get(), bytes, &Layout::bytes()};
  copy->peer = op.peer;
  copy->match = op.match;
  copy->mode = SendMode::buffered;
  copy->signature = op.signature;
  copy->pattern = op.pattern;
  copy->engine = this;
  copy->on_complete = [](Operation& done) TUTTI_ENGINE_OWNED {
    done.engine->copied_ -= done.payload.bytes();
    delete static_cast<Copied*>(&done);
  };
  copied_ += bytes;
  send(*copy);
  op.outcome = {};
  op.sent = op.matched = true;
  ++events_;
  op.on_complete(op);
  return true;
}

// `moved`: its memory has become free just now.
void Engine::send_progressed(SendOperation& op, bool moved) {
  tell_over(op, moved);
  if (!op.sent || !op.matched) return;
  if (!tickets_.empty()) tickets_.erase(op.ticket);  // a second answer finds nobody
  if (!sends_.empty()) [[unlikely]]
    if (const auto kept = sends_.extract(&op); kept && kept.mapped() && op.outcome.cancelled)
      op.outcome = {.mpi_class = kept.mapped()};
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
  header.pattern = op.pattern;
  header.bytes = op.payload.bytes();
  RecvOperation* const receive = matcher_.match(header);
  if (life::are_wanted(kPosted | kArrived)) [[unlikely]]
    tell_sent_to_self(op, header, receive);
  if (receive) return satisfy_from_self(*receive, op);
  std::unique_ptr<Unexpected> message(new Unexpected);
  message->header = header;
  if (op.matched && header.bytes <= kSelfEager) {
    memory::pack(op.payload, 0, message->make_room(header.bytes), header.bytes);
    matcher_.add(std::move(message));
    op.sent = true;
    tell_over(op, true);
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
  const bool told = life::are_wanted(kPosted | kMatched | kOver);
  if (told) [[unlikely]]
    tell_taken(message->header, op);
  if (message->from_self) return satisfy_from_self(op, *message->from_self);
  satisfy(op, {message->header, message->data(), message->rendezvous}, told);
}

bool Engine::cancel(RecvOperation& op) {
  if (!op.posted) return false;
  matcher_.withdraw(op);
  op.outcome = {.cancelled = true};
  tell_over(op, -1, false);
  complete(op);
  return true;
}

void Engine::cancel(SendOperation& op) {
  if (op.sent && op.matched) return;
  if (op.peer == process_) {
    if (!matcher_.take_ticket(process_, op.ticket)) return;
    op.outcome.cancelled = true;
    op.sent = op.matched = true;
    tell_over(op, false);
    return complete(op);
  }
  // The answer decides, also when the bytes come back first: they do, too, when it was matched.
  op.matched = false;
  tickets_.emplace(op.ticket, &op);
  Header request = next_header(op.peer, HeaderKind::cancel);
  request.ticket = op.ticket;
  transport_->notify(op.peer, request);
}

// ---- arrivals

inline void Engine::complete(Operation& op) {
  --pending_;
  ++events_;
  op.on_complete(op);
}

// `told`: somebody hears of what has arrived, and so perhaps of its end.
[[gnu::always_inline]] inline void Engine::satisfy(RecvOperation& op, const Arrival& arrival, bool told) {
  const Header& header = arrival.header;
  if (header.answer) {
    Header answer = next_header(header.process, HeaderKind::matched);
    answer.ticket = header.ticket;
    transport_->notify(header.process, answer);
  }
  const int64_t room = op.payload.bytes();
  op.outcome.source = header.source;
  op.outcome.tag = header.tag;
  op.outcome.bytes = std::min(header.bytes, room);
  op.outcome.sent_bytes = header.bytes;
  op.outcome.mpi_class = header.bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  op.outcome.cancelled = false;
  op.outcome.sender_hears = header.answer || arrival.rendezvous;
  op.outcome.pattern = header.pattern;
  op.signature = header.signature;
  if (!arrival.rendezvous) {
    if (!op.payload.contiguous()) {
      memory::unpack(op.payload, 0, arrival.data, op.outcome.bytes);
    } else if (op.outcome.bytes > 0) {
      memory::copy_short(op.payload.data(), arrival.data, static_cast<size_t>(op.outcome.bytes));
    }
    if (told) [[unlikely]]
      tell_sinks_over(op, header.process, true);
    return complete(op);
  }
  fetch_into(op, arrival);
}

[[gnu::always_inline]] inline void Engine::receive_message(const Arrival& arrival) {
  if (is_hidden(arrival.header.context) && observed(arrival)) return;
  RecvOperation* const receive = matcher_.match(arrival.header);
  const bool told = life::are_wanted(kArrived | kOver);
  if (told) [[unlikely]]
    tell_arrived(arrival.header, receive);
  if (receive) return satisfy(*receive, arrival, told);
  ++events_;
  std::unique_ptr<Unexpected> message(new Unexpected);
  message->header = arrival.header;
  message->rendezvous = arrival.rendezvous;
  if (!arrival.rendezvous && arrival.header.bytes > 0)
    memory::copy(message->make_room(arrival.header.bytes), arrival.data, arrival.header.bytes);
  matcher_.add(std::move(message));
}

void Engine::arrived(const Arrival& arrival) {
  const int32_t process = arrival.header.process;
  PeerOrder& from = peer(process);
  if (arrival.header.order != from.next_in) [[unlikely]] {
    parked_->messages.emplace(
        std::pair{process, arrival.header.order},
        Parked::Message{arrival.header, arrival.data ? copy_of(arrival.data, arrival.header.bytes) : nullptr,
                        arrival.rendezvous});
    return;
  }
  ++from.next_in;
  if (arrival.header.kind == HeaderKind::message) [[likely]]
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
    case HeaderKind::message:
      return receive_message(arrival);
    case HeaderKind::cancel:
      return withdraw_message(arrival.header);
    case HeaderKind::matched:
    case HeaderKind::cancelled:
      break;
  }
  const auto at = tickets_.find(arrival.header.ticket);
  if (at == tickets_.end()) return;
  SendOperation& op = *at->second;
  op.outcome.cancelled = arrival.header.kind == HeaderKind::cancelled;
  op.matched = true;
  send_progressed(op, false);
}

// True: it is not to be matched.
bool Engine::observed(const Arrival& arrival) {
  if (arrival.header.context < kSurvivalContext) [[likely]] {
    if (observer_) observer_->arrived(arrival.header);
    return false;
  }
  if (arrival.header.context == kActiveContext || arrival.header.context == kSurvivalContext) {
    receive_active(arrival);
    return true;
  }
  ++peer(arrival.header.process).heard;
  ++control_messages_;
  if (arrival.header.context == kNewsContext) {
    if (news_) news_(arrival.header);
    return true;
  }
  if (arrival.rendezvous) {
    fetch_control(arrival);
  } else if (observer_) {
    observer_->told(arrival.header, arrival.data);
  }
  return true;
}

void Engine::withdraw_message(const Header& request) {
  const auto message = matcher_.take_ticket(request.process, request.ticket);
  if (message && message->rendezvous) transport_->discard(message->rendezvous);
  Header answer = next_header(request.process, message ? HeaderKind::cancelled : HeaderKind::matched);
  answer.ticket = request.ticket;
  transport_->notify(request.process, answer);
}

void Engine::fetch_into(RecvOperation& op, const Arrival& arrival) {
  const Header& header = arrival.header;
  std::construct_at(&op.fetch);
  op.fetch.into = op.payload;
  op.fetch.owner = &op;
  op.engine = this;
  op.process = header.process;
  if (op.payload.contiguous()) {
    op.fetch.into = {op.payload.data(), header.bytes, &Layout::bytes()};
  }
  if (header.bytes > op.payload.bytes()) {
    op.overflow.reset(new (std::nothrow) std::byte[static_cast<size_t>(header.bytes)]);
    if (!op.overflow) {  // the error stands already; its bytes are not to be had
      op.outcome.bytes = 0;
      transport_->discard(arrival.rendezvous);
      tell_over(op, header.process, false);
      return complete(op);
    }
    op.fetch.into = {op.overflow.get(), header.bytes, &Layout::bytes()};
  }
  ++fetching_;
  op.fetch.fetched = [](transport::Fetch& fetch, Error error) TUTTI_ENGINE_OWNED {
    auto& receive = *static_cast<RecvOperation*>(fetch.owner);
    --receive.engine->fetching_;
    if (error) {
      // Of a process that has failed the launcher tells.
      if (!error.message().empty()) say_unless_ended(fmt::format("receiving: {}", error.message()));
      receive.outcome.mpi_class = error.mpi_class();
    } else if (receive.overflow) {
      memory::unpack(receive.payload, 0, receive.overflow.get(), receive.outcome.bytes);
    }
    receive.overflow.reset();
    receive.engine->tell_over(receive, receive.process, !error);
    receive.engine->complete(receive);
  };
  transport_->fetch(arrival.rendezvous, op.fetch);
}

void Engine::satisfy_from_self(RecvOperation& op, SendOperation& send) {
  const int64_t bytes = send.payload.bytes(), room = op.payload.bytes();
  op.outcome = {.source = send.match.source,
                .tag = send.match.tag,
                .bytes = std::min(bytes, room),
                .sent_bytes = bytes,
                .mpi_class = bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS,
                .sender_hears = true,
                .pattern = send.pattern};
  memory::copy(send.payload, op.payload);
  tell_over(op, process_, true);
  complete(op);
  send.sent = send.matched = true;
  tell_over(send, true);
  complete(send);
}

}  // namespace tutti::engine
