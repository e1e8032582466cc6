// SPDX-License-Identifier: BSD-3-Clause
#include "engine/active.hpp"

#include <deque>
#include <map>
#include <memory>
#include <new>

#include "base/log.hpp"
#include "base/os/late_word.hpp"
#include "engine/engine.hpp"
#include "memory/movers.hpp"

namespace tutti::engine {

using transport::Arrival;
using transport::Header;

namespace {

std::unique_ptr<std::byte[]> copy_of(const std::byte* data, int64_t bytes) {
  if (bytes == 0) return nullptr;
  auto copy = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(bytes));
  memory::copy(copy.get(), data, bytes);
  return copy;
}

}  // namespace

// Messages that cannot be handled at once: those to this process itself while another one is being
// handled, and from another process those behind one that is still being fetched.
struct Engine::Active {
  struct Message {
    Header header;
    std::unique_ptr<std::byte[]> bytes;
    void* rendezvous = nullptr;
  };
  struct Fetching {
    transport::Fetch fetch;
    Engine* engine = nullptr;
    int process = 0;
  };

  ActiveHandler* handler = nullptr;
  ActiveHandler* of_survival = nullptr;
  std::deque<Message> to_self;
  bool handling_own = false;
  std::map<int, std::deque<Message>> stalled;  // by process; the first is being fetched
};

void Engine::ActiveDeleter::operator()(Active* active) const {
  delete active;
}

Engine::Active& Engine::active() {
  if (!active_) active_.reset(new Active);
  return *active_;
}

void Engine::set_active_handler(ActiveHandler* handler) {
  active().handler = handler;
}

void Engine::set_survival_handler(ActiveHandler* handler) {
  active().of_survival = handler;
}

void Engine::send_active(int to, Header header, const std::byte* data, int64_t bytes) {
  send_active_in(kActiveContext, to, header, data, bytes);
}

void Engine::send_of_survival(int to, const Header& header, const std::byte* data, int64_t bytes) {
  send_active_in(kSurvivalContext, to, header, data, bytes);
}

void Engine::send_active_in(uint64_t context, int to, Header header, const std::byte* data, int64_t bytes) {
  header.context = context;
  header.kind = transport::HeaderKind::message;
  header.process = process_;
  header.bytes = bytes;
  if (to == process_) {
    active().to_self.push_back({header, copy_of(data, bytes)});
    return handle_own();
  }
  header.order = peer(to).next_out++;
  if (transport_->send_now(to, header, header.ticket, data)) return;
  // In one piece with its bytes: there may be very many of these.
  struct Leaving {
    transport::Outgoing outgoing;
    Engine* engine;
    int to;
    std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  };
  void* const memory = ::operator new(sizeof(Leaving) + static_cast<size_t>(bytes));
  auto* message = new (memory) Leaving{{.header = header}, this, to};
  memory::copy(message->data(), data, bytes);
  message->outgoing.payload = {message->data(), bytes, &Layout::bytes()};
  message->outgoing.owner = message;
  message->outgoing.sent = [](transport::Outgoing& outgoing, Error error) TUTTI_ENGINE_OWNED {
    auto* sent = static_cast<Leaving*>(outgoing.owner);
    if (error && !error.message().empty())
      say_unless_ended(fmt::format("sending to process {}: {}", sent->to, error.message()));
    sent->engine->remove_pending();
    std::destroy_at(sent);
    ::operator delete(sent);
  };
  add_pending();
  transport_->send(to, message->outgoing);
}

void Engine::handle_own() {
  Active& a = active();
  if (a.handling_own) return;
  a.handling_own = true;
  while (!a.to_self.empty()) {
    const Active::Message message = std::move(a.to_self.front());
    a.to_self.pop_front();
    handle_active(message.header, message.bytes.get());
  }
  a.handling_own = false;
}

void Engine::handle_active(const Header& header, const std::byte* data) {
  ++events_;
  if (!active_) return;
  ActiveHandler* const handler = header.context == kSurvivalContext ? active_->of_survival : active_->handler;
  if (handler) handler->handle(header, data);
}

void Engine::receive_active(const Arrival& arrival) {
  const int from = arrival.header.process;
  if (active_ && !active_->stalled.empty()) [[unlikely]] {
    if (const auto at = active_->stalled.find(from); at != active_->stalled.end()) {
      at->second.push_back({arrival.header, arrival.rendezvous ? nullptr : copy_of(arrival.data, arrival.header.bytes),
                            arrival.rendezvous});
      return;
    }
  }
  if (!arrival.rendezvous) return handle_active(arrival.header, arrival.data);
  active().stalled[from].push_back({arrival.header, nullptr, arrival.rendezvous});
  fetch_active(from);
}

// The first message of that process is a long one.
void Engine::fetch_active(int from) {
  Active::Message& message = active_->stalled.at(from).front();
  message.bytes = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(message.header.bytes));
  auto* fetching = new Active::Fetching{{}, this, from};
  fetching->fetch.into = {message.bytes.get(), message.header.bytes, &Layout::bytes()};
  fetching->fetch.owner = fetching;
  fetching->fetch.fetched = [](transport::Fetch& fetch, Error error) TUTTI_ENGINE_OWNED {
    const std::unique_ptr<Active::Fetching> done(static_cast<Active::Fetching*>(fetch.owner));
    --done->engine->fetching_;
    if (error && !error.message().empty())
      say_unless_ended(fmt::format("receiving from process {}: {}", done->process, error.message()));
    done->engine->go_on_with(done->process, !error);
  };
  ++fetching_;
  transport_->fetch(std::exchange(message.rendezvous, nullptr), fetching->fetch);
}

void Engine::go_on_with(int from, bool first_is_good) {
  for (bool good = first_is_good;; good = true) {
    std::deque<Active::Message>& queue = active_->stalled.at(from);
    const Active::Message message = std::move(queue.front());
    // It stays in front, without its bytes, so that what comes meanwhile queues behind it.
    if (good) handle_active(message.header, message.bytes.get());
    std::deque<Active::Message>& rest = active_->stalled.at(from);
    rest.pop_front();
    if (rest.empty()) {
      active_->stalled.erase(from);
      return;
    }
    if (rest.front().rendezvous) return fetch_active(from);
  }
}

}  // namespace tutti::engine
