// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives that are over when they begin, or soon after: without an operation, in no queue.
#include <algorithm>

#include "engine/engine.hpp"

namespace tutti::engine {
namespace {

using transport::Header;

// Longer messages are not worth the attempt to send them at once.
constexpr int64_t kAtOnce = 4 << 10;
// Messages taken like that between two passes. A pass sees to all else, and hands over what comes behind them,
// which takes longer then.
constexpr int kTakenAlone = 1024, kTakenAmongOthers = 16;

}  // namespace

bool Engine::send_at_once(int to, const Match& match, const Payload& payload, uint16_t pattern, uint64_t signature) {
  const int64_t bytes = payload.bytes();
  if (bytes > kAtOnce || to == process_ || !payload.contiguous() || (judge_ && judge_->refuses(match))) return false;
  PeerOrder& receiver = peer(to);
  const Header header{.context = match.context,
                      .source = match.source,
                      .tag = match.tag,
                      .serial = match.serial,
                      .order = receiver.next_out,
                      .process = process_,
                      .pattern = pattern,
                      .signature = signature,
                      .bytes = bytes};
  if (!transport_->send_now(to, header, 0, payload.data())) return false;
  ++receiver.next_out;
  if (life::are_wanted(kPosted | kSent | kOver)) [[unlikely]]
    tell_sent_at_once(to, header);
  return true;
}

bool Engine::recv_at_once(int from, const Match& match, const Payload& payload, Outcome& outcome, bool waits) {
  if (from == process_ || !payload.contiguous() || (judge_ && judge_->refuses(match))) return false;
  if (waits ? !matcher_.is_next(match) : !matcher_.is_empty()) return false;
  Header header{.context = match.context, .source = match.source, .tag = match.tag, .serial = match.serial};
  const int64_t room = payload.bytes();
  using Taken = transport::Transport::Taken;
  Taken taken = transport_->take_now(from, header, payload.data(), room, 1);
  if (taken == Taken::nothing && waits)
    look_out([&](int looks) TUTTI_ENGINE_OWNED {
      if (!matcher_.is_next(match)) return Seen::other;
      taken = transport_->take_now(from, header, payload.data(), room, looks);
      return taken == Taken::nothing ? Seen::nothing : Seen::all;
    });
  if (taken != Taken::message) return false;
  ++peer(from).next_in;
  ++events_;
  outcome = {.source = match.source,
             .tag = match.tag,
             .bytes = header.bytes,
             .sent_bytes = header.bytes,
             .pattern = header.pattern};
  if (life::are_wanted(kPosted | kArrived | kOver)) [[unlikely]]
    tell_received_at_once(from, header);
  waiter_.stay_awake();
  // What else is under way goes on, and the progress thread knows that this one is here.
  const bool asked = over_at_once(pending() > 0 ? kTakenAmongOthers : kTakenAlone);
  if (!asked && pending() == 0) waiter_.count_pass();
  return true;
}

}  // namespace tutti::engine
