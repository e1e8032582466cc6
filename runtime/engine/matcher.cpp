// SPDX-License-Identifier: BSD-3-Clause
#include "engine/matcher.hpp"

#include <algorithm>
#include <vector>

namespace tutti::engine {
namespace {

// Lists that are empty are kept for so many contexts, for the next one to come.
constexpr size_t kContextsKept = 32;

// Does a message with `have` fit a receive that wants `want`?
bool fits(const Match& want, const Match& have) {
  return want.context == have.context && want.serial == have.serial &&
         (want.source == kAnySource || want.source == have.source) &&
         (want.tag == kAnyTag || want.tag == have.tag);
}

}  // namespace

Matcher::~Matcher() {
  messages_.each([](Unexpected& message) { delete &message; });
}

void Matcher::post_wildcard(RecvOperation& receive) {
  ++wild_;
  Receives& list = wildcards_[receive.match.context];
  receive.next = nullptr;
  receive.previous = list.last;
  (list.last ? list.last->next : list.first) = &receive;
  list.last = &receive;
}

void Matcher::withdraw(RecvOperation& receive) {
  receive.posted = false;
  if (!is_wildcard(receive.match)) return exact_.remove(receive);
  --wild_;
  const auto at = wildcards_.find(receive.match.context);
  Receives& list = at->second;
  (receive.previous ? receive.previous->next : list.first) = receive.next;
  (receive.next ? receive.next->previous : list.last) = receive.previous;
  if (!list.first && wildcards_.size() > kContextsKept) wildcards_.erase(at);
}

RecvOperation* Matcher::match_among_wildcards(const Match& have, RecvOperation* exact) {
  RecvOperation* found = exact;
  const auto at = wildcards_.find(have.context);
  if (at != wildcards_.end())
    for (RecvOperation* w = at->second.first; w && (!found || w->stamp < found->stamp); w = w->next)
      if (fits(w->match, have)) {
        found = w;
        break;
      }
  if (found) withdraw(*found);
  return found;
}

void Matcher::add(std::unique_ptr<Unexpected> message) {
  Unexpected& m = *message.release();
  messages_.push(m, m.match());
  if (somebody_waits(m)) ++held_;
  if (is_hidden(m.header.context)) return;
  Arrivals& list = arrivals_[m.header.context];
  m.previous_arrived = list.last;
  (list.last ? list.last->next_arrived : list.first) = &m;
  list.last = &m;
}

Unexpected* Matcher::find(const Match& wanted) const {
  if (messages_.count() == 0) return nullptr;
  if (!is_wildcard(wanted)) return messages_.find(wanted);
  const auto at = arrivals_.find(wanted.context);
  if (at == arrivals_.end()) return nullptr;
  for (Unexpected* m = at->second.first; m; m = m->next_arrived)
    if (fits(wanted, m->match())) return chance_ ? any_of(wanted, m) : m;
  return nullptr;
}

// The first that fits of a sender chosen by chance.
Unexpected* Matcher::any_of(const Match& wanted, Unexpected* first) const {
  std::vector<Unexpected*> choices;
  for (Unexpected* m = first; m; m = m->next_arrived) {
    const auto same_sender = [m](const Unexpected* c) {
      return c->header.source == m->header.source;
    };
    if (fits(wanted, m->match()) && std::none_of(choices.begin(), choices.end(), same_sender))
      choices.push_back(m);
  }
  chance_ = chance_ * 6364136223846793005u + 1442695040888963407u;
  return choices[(chance_ >> 33) % choices.size()];
}

std::vector<int32_t> Matcher::senders(const Match& wanted) const {
  std::vector<int32_t> found;
  const auto at = arrivals_.find(wanted.context);
  if (at == arrivals_.end()) return found;
  for (const Unexpected* m = at->second.first; m; m = m->next_arrived)
    if (fits(wanted, m->match()) &&
        std::find(found.begin(), found.end(), m->header.source) == found.end())
      found.push_back(m->header.source);
  return found;
}

Unexpected* Matcher::take(const Match& wanted) {
  Unexpected* message = find(wanted);
  if (message) remove(*message);
  return message;
}

std::unique_ptr<Unexpected> Matcher::take_ticket(int process, uint64_t ticket) {
  Unexpected* found = nullptr;
  messages_.each([&](Unexpected& m) {
    if (m.header.process == process && m.header.ticket == ticket) found = &m;
  });
  if (found) remove(*found);
  return std::unique_ptr<Unexpected>(found);
}

void Matcher::remove(Unexpected& message) {
  messages_.remove(message);
  if (somebody_waits(message)) --held_;
  if (is_hidden(message.header.context)) return;
  const auto at = arrivals_.find(message.header.context);
  Arrivals& list = at->second;
  (message.previous_arrived ? message.previous_arrived->next_arrived : list.first) =
      message.next_arrived;
  (message.next_arrived ? message.next_arrived->previous_arrived : list.last) =
      message.previous_arrived;
  if (!list.first && arrivals_.size() > kContextsKept) arrivals_.erase(at);
}

}  // namespace tutti::engine
