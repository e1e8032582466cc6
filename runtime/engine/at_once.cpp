// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives that are over when they begin, or soon after: without an operation, in no queue.
#include <algorithm>

#include "engine/engine.hpp"
#include "engine/listener.hpp"

namespace tutti::engine {
namespace {

using transport::Header;

// Longer messages are not worth the attempt to send them at once.
constexpr int64_t kAtOnce = 4 << 10;
// Looks for a message that a blocking call waits for, in a row, to a pass for everything; and how
// many there are before the wait shows as one.
constexpr int kPollsPerPass = 16;
constexpr int kMostPolls = 200;
// Messages taken like that in a row. A pass sees to all else, and hands over what comes behind them,
// which takes longer then.
constexpr int kTakenAlone = 1024, kTakenAmongOthers = 16;

}  // namespace

bool Engine::send_at_once(int to, const Match& match, const Payload& payload, uint16_t pattern,
                          uint64_t signature) {
  const int64_t bytes = payload.bytes();
  if (bytes > kAtOnce || to == process_ || !payload.contiguous()) return false;
  Peer& receiver = peer(to);
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
  return true;
}

bool Engine::recv_at_once(int from, const Match& match, const Payload& payload, Outcome& outcome,
                          bool waits) {
  if (from == process_ || !payload.contiguous()) return false;
  if (waits ? !matcher_.is_next(match) : !matcher_.is_empty()) return false;
  Header header{
      .context = match.context, .source = match.source, .tag = match.tag, .serial = match.serial};
  const int64_t room = payload.bytes();
  using Taken = transport::Transport::Taken;
  Taken taken = transport_->take_now(from, header, payload.data(), room, 1);
  if (taken == Taken::nothing) {
    int left = waits ? std::min(waiting_.polls, kMostPolls) : 1;
    if (left <= 1) return false;
    stay_awake();
    for (;;) {
      taken = transport_->take_now(from, header, payload.data(), room, kPollsPerPass);
      if (taken != Taken::nothing) break;
      left -= kPollsPerPass;
      if (left <= 0 || ownership_.contended() || !pass_before(match)) return false;
    }
  }
  if (taken == Taken::other) return false;
  ++peer(from).next_in;
  ++events_;
  outcome = {.source = match.source,
             .tag = match.tag,
             .bytes = header.bytes,
             .sent_bytes = header.bytes,
             .pattern = header.pattern};
  tell(header, Happening::message_matched, helper_drives_);
  stay_awake();
  // What else is under way goes on, and the progress thread knows that this one is here.
  if (++taken_ >= (pending() > 0 ? kTakenAmongOthers : kTakenAlone)) [[unlikely]] {
    progress_here();
  } else if (pending() == 0) {
    passes_.store(passes_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  return true;
}

// True if the message that `match` wants has still not come.
bool Engine::pass_before(const Match& match) {
  progress_here();
  return matcher_.is_next(match);
}

}  // namespace tutti::engine
