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
using transport::Kind;

struct ControlMessage {
  transport::Outgoing outgoing;
  std::string bytes;
  Engine* engine;
};

}  // namespace

void Engine::send_control(int to, Header header, std::string bytes) {
  const Header counted =
      to == process_ ? Header{.process = process_} : next_header(to, Kind::message);
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
  message->fetch.fetched = [](transport::Fetch& fetch, Error error) {
    const std::unique_ptr<Long> whole(static_cast<Long*>(fetch.owner));
    Observer* observer = whole->engine->observer_;
    if (!error && observer) observer->told(whole->header, whole->bytes.get());
  };
  transport_->fetch(arrival.rendezvous, message->fetch);
}

}  // namespace tutti::engine
