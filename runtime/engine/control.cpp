// SPDX-License-Identifier: BSD-3-Clause
// Control messages: what the observers of two processes tell each other, in their own context and
// in no queue.
#include <memory>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "engine/engine.hpp"

namespace tutti::engine {
namespace {

using transport::Arrival;
using transport::Header;
using transport::HeaderKind;

struct ControlMessage {
  transport::Outgoing outgoing;
  std::string bytes;
  Engine* engine;
};

// One that came up within a callback of the transport, before there was a connection; it is sent right after.
class HeldBack final : public Poller {
 public:
  HeldBack(Engine& engine, int to, const Header& header, std::string bytes)
      : engine_(engine), to_(to), header_(header), bytes_(std::move(bytes)) {
    engine_.add_poller(*this);
    engine_.add_pending();
  }
  bool poll() override TUTTI_ENGINE_OWNED {
    if (engine_.transport().way_to(to_, true) == transport::Transport::Way::later) return false;
    engine_.remove_poller(*this);
    engine_.remove_pending();
    const std::unique_ptr<HeldBack> over(this);
    engine_.send_control(to_, header_, std::move(bytes_));
    return true;
  }

 private:
  Engine& engine_;
  const int to_;
  const Header header_;
  std::string bytes_;
};

}  // namespace

void Engine::send_control(int to, Header header, std::string bytes, bool may_be_lost) {
  using Way = transport::Transport::Way;
  const Way way = to == process_ || !may_be_lost ? Way::open : transport_->way_to(to, true);
  // A question without an answer, which its asker expects.
  if (way == Way::closed) return say(Level::debug, "there is no connection to process {} for a control message", to);
  if (way == Way::later) return void(new HeldBack(*this, to, header, std::move(bytes)));
  const Header counted = to == process_ ? Header{.process = process_} : next_header(to, HeaderKind::message);
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
  message->outgoing.sent = [](transport::Outgoing& outgoing, Error error) TUTTI_ENGINE_OWNED {
    if (error) say(Level::debug, "a control message is lost: {}", error.message());
    auto* sent = static_cast<ControlMessage*>(outgoing.owner);
    sent->engine->remove_pending();
    ++sent->engine->control_messages_;
    delete sent;
  };
  add_pending();
  transport_->send(to, message->outgoing);
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
  message->fetch.fetched = [](transport::Fetch& fetch, Error error) TUTTI_ENGINE_OWNED {
    const std::unique_ptr<Long> whole(static_cast<Long*>(fetch.owner));
    Observer* observer = whole->engine->observer_;
    if (!error && observer) observer->told(whole->header, whole->bytes.get());
  };
  transport_->fetch(arrival.rendezvous, message->fetch);
}

}  // namespace tutti::engine
