// SPDX-License-Identifier: BSD-3-Clause
#include "transport/counting.hpp"

namespace tutti::transport {
namespace {

// The contexts from here on are the engine's own (engine/observer.hpp, active.hpp): questions and answers, the messages
// of windows, news. Those of communicators are below.
constexpr uint64_t kFirstOwnContext = ~uint64_t{15};

bool counts(const Header& header) {
  return header.kind == HeaderKind::message && header.context < kFirstOwnContext;
}

void add(Counting::Traffic& to, const Header& header) {
  ++to.messages;
  to.bytes += static_cast<uint64_t>(header.bytes);
}

}  // namespace

Counting::Both& Counting::peer(int process) {
  const auto at = static_cast<size_t>(process);
  if (at >= peers_.size()) peers_.resize(at + 1);
  return peers_[at];
}

void Counting::set_receiver(Receiver& receiver) {
  receiver_ = &receiver;
  inner_.set_receiver(*this);
}

void Counting::send(int to, Outgoing& outgoing) {
  if (counts(outgoing.header)) add(peer(to).out, outgoing.header);
  inner_.send(to, outgoing);
}

bool Counting::send_now(int to, const Header& header, uint64_t ticket, const std::byte* data) {
  if (!inner_.send_now(to, header, ticket, data)) return false;
  if (counts(header)) add(peer(to).out, header);
  return true;
}

Transport::Taken Counting::take_now(int from, Header& wanted, std::byte* into, int64_t room, int looks) {
  const Taken taken = inner_.take_now(from, wanted, into, room, looks);
  if (taken == Taken::message) add(peer(from).in, wanted);
  return taken;
}

void Counting::arrived(const Arrival& arrival) {
  if (counts(arrival.header)) add(peer(arrival.header.process).in, arrival.header);
  receiver_->arrived(arrival);
}

}  // namespace tutti::transport
