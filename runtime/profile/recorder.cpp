// SPDX-License-Identifier: BSD-3-Clause
#include "profile/recorder.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace tutti::profile {
namespace {

uint64_t length(const Span& span) {
  return span.over - span.begun;
}

}  // namespace

void Recorder::add_call(const Span& span, Doing what) {
  if (span.begun < timeline_.begun || span.over < span.begun) return;
  const uint64_t waited = std::min(span.waited, length(span));
  if (waited > 0) add_time(span.begun, span.begun + waited, Doing::waiting);
  if (span.begun + waited < span.over) add_time(span.begun + waited, span.over, what);
  if (length(span) < timeline_.least) return;
  if (timeline_.spans == kSpans) drop_shorter_half();
  timeline_.span[timeline_.spans++] = span;
}

void Recorder::add_time(uint64_t from, uint64_t to, Doing what) {
  from -= timeline_.begun, to -= timeline_.begun;
  while (to >> timeline_.period_bits >= kPeriods) halve_periods();
  const uint32_t bits = timeline_.period_bits;
  // As a rule it is within one.
  for (uint64_t at = from >> bits; from < to; ++at) {
    const uint64_t end = std::min(to, (at + 1) << bits);
    timeline_.period[at].ticks[static_cast<size_t>(what)] += end - from;
    from = end;
  }
}

void Recorder::halve_periods() {
  for (uint32_t i = 0; i < kPeriods; ++i) {
    Period sum;
    if (i < kPeriods / 2)
      for (uint32_t k = 0; k < kDoings; ++k)
        sum.ticks[k] = timeline_.period[2 * i].ticks[k] + timeline_.period[2 * i + 1].ticks[k];
    timeline_.period[i] = sum;
  }
  ++timeline_.period_bits;
}

// Of calls that are alike some stay: which, does not matter. The work comes to that of a few comparisons for each call.
void Recorder::drop_shorter_half() {
  Span* const begin = timeline_.span;
  Span* const middle = begin + kSpans / 2;
  std::nth_element(begin, middle, begin + kSpans, [](const Span& a, const Span& b) { return length(a) > length(b); });
  timeline_.least = length(*middle);
  timeline_.spans = kSpans / 2;
}

void Recorder::add_message(const life::Event& event, bool is_receive, uint64_t now, uint8_t thread) {
  const int32_t process = event.process;
  if (process < 0 || process >= size_ || process == rank_) return;
  if (!is_receive) add_peer(process, static_cast<uint64_t>(std::max<int64_t>(event.bytes, 0)));
  const uint64_t name = is_receive ? flow_name(process, rank_, event.context, event.tag)
                                   : flow_name(rank_, process, event.context, event.tag);
  Flow* const flow = flow_of(name);
  if (!flow) return void(++timeline_.unnamed_messages);
  const auto number = static_cast<uint32_t>(++flow->messages);
  if ((message_hash(name, number) & (timeline_.every - 1)) != 0) return;
  if (timeline_.messages == kMessages) thin_out_messages();
  if (timeline_.messages == kMessages || (message_hash(name, number) & (timeline_.every - 1)) != 0) return;
  timeline_.message[timeline_.messages++] = {.context = event.context,
                                             .at = now,
                                             .bytes = event.bytes,
                                             .process = process,
                                             .tag = event.tag,
                                             .number = number,
                                             .is_receive = is_receive,
                                             .thread = thread,
                                             .unused = {}};
}

void Recorder::thin_out_messages() {
  timeline_.every *= 2;
  const auto* const end =
      std::remove_if(timeline_.message, timeline_.message + timeline_.messages, [this](const Message& m) {
        const int32_t from = m.is_receive ? m.process : rank_, to = m.is_receive ? rank_ : m.process;
        return (message_hash(flow_name(from, to, m.context, m.tag), m.number) & (timeline_.every - 1)) != 0;
      });
  timeline_.messages = static_cast<uint32_t>(end - timeline_.message);
}

void Recorder::add_peer(int32_t process, uint64_t bytes) {
  auto at = static_cast<uint32_t>(process) % kPeers;
  for (int tries = 0; tries < 32; ++tries, at = (at + 1) % kPeers) {
    Peer& peer = timeline_.peer[at];
    if (peer.process != process && peer.process >= 0) continue;
    peer.process = process;
    ++peer.messages;
    peer.bytes += bytes;
    return;
  }
  timeline_.other_peers_bytes += bytes;
}

Flow* Recorder::flow_of(uint64_t name) {
  size_t at = (name >> 1) % kFlows;
  for (int tries = 0; tries < 32; ++tries, at = (at + 1) % kFlows) {
    Flow& flow = timeline_.flow[at];
    if (flow.name == name) return &flow;
    if (flow.name != 0) continue;
    flow.name = name;
    return &flow;
  }
  return nullptr;
}

// Messages go on to be numbered: those that are sent now may be received behind it.
void Recorder::start_again(uint64_t now) {
  timeline_.begun = now;
  timeline_.least = 0;
  timeline_.spans = 0;
  std::fill(std::begin(timeline_.period), std::end(timeline_.period), Period());
}

}  // namespace tutti::profile
