// SPDX-License-Identifier: BSD-3-Clause
#include "contract/trace.hpp"

#include <cstring>
#include <utility>

#include "engine/engine.hpp"

namespace tutti::contract {
namespace {

constexpr std::chrono::milliseconds kAnswerTime{700};

// The latest of the calls that `rate` gives most; nobody is rated 0.
template <class Rate>
flight::CallRecord best_call(Rate&& rate) {
  flight::CallRecord best;
  const flight::Record* record = flight::mine();
  if (!record) return best;
  int best_rate = 0;
  const auto look_at = [&](const flight::CallRecord& call) {
    if (call.state == flight::State::none) return;
    const int rated = rate(call);
    if (rated < best_rate || rated == 0) return;
    if (rated == best_rate && call.number < best.number) return;
    best_rate = rated;
    best = call;
  };
  for (const flight::CallRecord& place : record->ring) look_at(flight::read(place));
  for (const flight::Thread& thread : record->threads)
    if (flight::get(thread.used)) look_at(flight::latest_call(*record, thread));
  return best;
}

std::string as_text(const void* data, size_t bytes) {
  return std::string(static_cast<const char*>(data), bytes);
}

}  // namespace

uint32_t Trace::ask(const Sent& sent) {
  const uint32_t number = ++last_;
  answers_[number] = {};
  tell_(sent.process, false, number, as_text(&sent, sizeof sent));
  return number;
}

bool Trace::is_answered(uint32_t number) const {
  const auto at = answers_.find(number);
  return at == answers_.end() || at->second.status != Status::silent;
}

Side Trace::take(uint32_t number) {
  const auto node = answers_.extract(number);
  return node ? std::move(node.mapped()) : Side();
}

Side Trace::find(const Sent& sent) {
  const uint32_t number = ask(sent);
  const auto deadline = std::chrono::steady_clock::now() + kAnswerTime;
  engine_.wait_until(
      [&]() TUTTI_ENGINE_OWNED { return is_answered(number) || std::chrono::steady_clock::now() >= deadline; });
  return take(number);
}

void Trace::question(int from, uint32_t number, std::span<const std::byte> bytes) {
  Sent sent;
  if (bytes.size() != sizeof sent) return;
  std::memcpy(&sent, bytes.data(), sizeof sent);
  Side side;
  side.call = best_call([&](const flight::CallRecord& call) {
    const bool goes_there = call.peer_is() == flight::PeerIs::dest && call.peer == sent.dest && call.tag == sent.tag &&
                            call.context == sent.context;
    return goes_there ? may_have_sent_(call, sent.bytes, sent.pattern) : 0;
  });
  side.status = side.call.state == flight::State::none ? Status::forgotten : Status::started;
  side.caller = code_address(side.call.caller);
  if (const flight::Record* record = flight::mine()) side.host = record->host;
  const Details details = pack(side);
  tell_(from, true, number, as_text(&details, sizeof details));
}

void Trace::answer(uint32_t number, std::span<const std::byte> bytes) {
  const auto at = answers_.find(number);
  Details details;
  if (at == answers_.end() || bytes.size() != sizeof details) return;
  std::memcpy(&details, bytes.data(), sizeof details);
  at->second = unpack(details);
}

flight::CallRecord receiving_call(uint64_t context, int source, int tag, uint64_t type) {
  return best_call([&](const flight::CallRecord& call) {
    if (call.context != context) return 0;
    if (call.peer_is() == flight::PeerIs::source)  // a receive alone
      return call.peer == source && call.tag == tag && call.type == type ? 2 : 0;
    // Of one that sends as well the record has the sending side.
    const bool is_both = call.peer_is() == flight::PeerIs::dest && (call.marks & flight::kOtherData);
    return is_both && call.other_type == type ? 1 : 0;
  });
}

}  // namespace tutti::contract
