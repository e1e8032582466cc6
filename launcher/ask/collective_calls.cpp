// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/collective_calls.hpp"

#include <fmt/core.h>

#include <map>

#include "launcher/ask/why_text.hpp"
#include "launcher/data/json_text.hpp"

namespace tutti::launcher {
namespace {

// Rank `rank` has made `calls` fewer on that communicator than the other.
struct Lag {
  int rank = 0, other = 0;
  uint32_t calls = 0;
  std::string communicator;
};

struct Comparison {
  const CollectiveView* a = nullptr;  // the first that differ, or nullptr
  const CollectiveView* b = nullptr;
  int same = 0;  // calls before that which both hold
  std::vector<Lag> lags;
};

bool differ(const flight::CallRecord& a, const flight::CallRecord& b) {
  return a.function != b.function || flight::name_of_op(a.op) != flight::name_of_op(b.op) ||
         (a.peer_is() == flight::PeerIs::root && a.peer != b.peer);
}

using LastOf = std::map<uint64_t, const CollectiveView*>;  // by context

LastOf last_calls(const RankView& rank) {
  LastOf last;
  for (const CollectiveView& each : rank.collectives) last[each.call.context] = &each;
  return last;
}

Comparison compare(const RankView& a, const RankView& b) {
  Comparison out;
  std::map<std::pair<uint64_t, uint32_t>, const CollectiveView*> of_b;
  for (const CollectiveView& each : b.collectives) of_b.emplace(std::pair(each.call.context, each.call.serial), &each);
  for (const CollectiveView& mine : a.collectives) {
    const auto theirs = of_b.find({mine.call.context, mine.call.serial});
    if (theirs == of_b.end()) continue;
    if (differ(mine.call, theirs->second->call)) {
      out.a = &mine;
      out.b = theirs->second;
      return out;
    }
    ++out.same;
  }
  const LastOf last_of_b = last_calls(b);
  for (const auto& [context, mine] : last_calls(a)) {
    const auto theirs = last_of_b.find(context);
    if (theirs == last_of_b.end()) continue;
    const uint32_t i = mine->call.serial, j = theirs->second->call.serial;
    if (i < j) out.lags.push_back({a.rank, b.rank, j - i, mine->communicator});
    if (j < i) out.lags.push_back({b.rank, a.rank, i - j, mine->communicator});
  }
  return out;
}

std::string named(const std::string& communicator) {
  return communicator.empty() ? "a communicator" : communicator;
}

std::string call_json(const CollectiveView& each) {
  return fmt::format("{{\"serial\":{},\"call\":{},\"communicator\":{},\"place\":{}}}", each.call.serial,
                     json_text(flight::description(each.call)), json_text(each.communicator), json_text(each.place));
}

}  // namespace

std::string record_text(const RankView& rank) {
  std::string text = fmt::format("rank {} on {}: its latest {} collective calls, the oldest first\n", rank.rank,
                                 rank.host, rank.collectives.size());
  for (const CollectiveView& each : rank.collectives)
    text += fmt::format("  {} on {}: {}{} at {}\n", each.call.serial, named(each.communicator),
                        each.call.state == flight::State::inside ? "(now) " : "", flight::description(each.call),
                        each.place);
  return text;
}

std::string record_json(const RankView& rank) {
  std::string calls;
  for (const CollectiveView& each : rank.collectives) calls += (calls.empty() ? "\n " : ",\n ") + call_json(each);
  return fmt::format("{{\"job\":{},\"rank\":{},\"host\":{},\"collectives\":[{}]}}\n", json_text(rank.job), rank.rank,
                     json_text(rank.host), calls);
}

std::string comparison_text(const RankView& a, const RankView& b) {
  const Comparison found = compare(a, b);
  if (found.a)
    return fmt::format("the records differ from call {} on {} on:\n  rank {}: {} at {}\n  rank {}: {} at {}\n",
                       found.a->call.serial, named(found.a->communicator), a.rank, flight::description(found.a->call),
                       found.a->place, b.rank, flight::description(found.b->call), found.b->place);
  std::string text = fmt::format("the {} collective calls that both records hold agree\n", found.same);
  for (const Lag& lag : found.lags)
    text += fmt::format("  rank {} is {} call{} behind rank {} on {}\n", lag.rank, lag.calls, lag.calls == 1 ? "" : "s",
                        lag.other, named(lag.communicator));
  return text;
}

std::string comparison_json(const RankView& a, const RankView& b) {
  const Comparison found = compare(a, b);
  std::string lags;
  for (const Lag& lag : found.lags)
    lags += fmt::format("{}{{\"rank\":{},\"behind\":{},\"calls\":{},\"communicator\":{}}}", lags.empty() ? "" : ",",
                        lag.rank, lag.other, lag.calls, json_text(lag.communicator));
  return fmt::format("{{\"job\":{},\"ranks\":[{},{}],\"same\":{},\"difference\":{},\"behind\":[{}]}}\n",
                     json_text(a.job), a.rank, b.rank, found.same,
                     found.a ? fmt::format("[{},{}]", call_json(*found.a), call_json(*found.b)) : "null", lags);
}

}  // namespace tutti::launcher
