// SPDX-License-Identifier: BSD-3-Clause
#include "engine/matcher.hpp"

#include <algorithm>
#include <vector>

namespace tutti::engine {
namespace {

// Lists that are empty are kept for so many contexts, for the next one to come.
constexpr size_t kContextsKept = 32;
// Messages that a wildcard looks through, one after the other, before tables are made for it.
constexpr int kLooks = 64;

// Does a message with `have` fit a receive that wants `want`?
bool fits(const Match& want, const Match& have) {
  return want.context == have.context && want.serial == have.serial &&
         (want.source == kAnySource || want.source == have.source) && (want.tag == kAnyTag || want.tag == have.tag);
}

}  // namespace

Matcher::~Matcher() {
  messages_.each([](Unexpected& message) { delete &message; });
}

void Matcher::withdraw(RecvOperation& receive) {
  receive.posted = false;
  if (!is_wildcard(receive.match)) return exact_.remove(receive);
  --wild_;
  wildcards_[kind_of(receive.match)].remove(receive);
}

RecvOperation* Matcher::match_among_wildcards(const Match& have, RecvOperation* exact) {
  const Match wanted[] = {{have.context, have.source, kAnyTag, have.serial},
                          {have.context, kAnySource, have.tag, have.serial},
                          {have.context, kAnySource, kAnyTag, have.serial}};
  RecvOperation* found = exact;
  for (const Match& want : wanted)
    if (RecvOperation* w = wildcards_[kind_of(want)].find(want); w && (!found || w->stamp < found->stamp)) found = w;
  if (found) withdraw(*found);
  return found;
}

void Matcher::add(std::unique_ptr<Unexpected> message) {
  Unexpected& m = *message.release();
  messages_.push(m, m.match());
  if (somebody_waits(m)) ++held_;
  if (has_tickets_ && m.header.ticket) by_ticket_.push(m, TicketAccess::key(m));
  if (is_hidden(m.header.context)) return;
  if (is_indexed_) [[unlikely]] {
    by_tag_.push(m, TagAccess::key(m));
    by_source_.push(m, SourceAccess::key(m));
  }
  Arrivals& list = arrivals_[m.header.context];
  m.previous_arrived = list.last;
  (list.last ? list.last->next_arrived : list.first) = &m;
  list.last = &m;
}

Unexpected* Matcher::find(const Match& wanted) const {
  if (messages_.count() == 0) return nullptr;
  if (!is_wildcard(wanted)) return messages_.find(wanted);
  Unexpected* const first = find_with_wildcard(wanted);
  return first && chance_ ? any_of(wanted, first) : first;
}

Unexpected* Matcher::find_with_wildcard(const Match& wanted) const {
  if (!is_indexed_) {
    const auto at = arrivals_.find(wanted.context);
    Unexpected* m = at == arrivals_.end() ? nullptr : at->second.first;
    for (int looks = 0; m && looks < kLooks; ++looks, m = m->next_arrived) {
      ++tried_;
      if (fits(wanted, m->match())) return m;
    }
    if (!m) return nullptr;
    index();
  }
  switch (kind_of(wanted)) {
    case 0:
      return by_source_.find(wanted);
    case 1:
      return by_tag_.find(wanted);
    default:
      break;
  }
  const auto at = arrivals_.find(wanted.context);
  return at == arrivals_.end() ? nullptr : at->second.first;
}

void Matcher::index() const {
  for (const auto& [context, list] : arrivals_)
    for (Unexpected* m = list.first; m; m = m->next_arrived) {
      by_tag_.push(*m, TagAccess::key(*m));
      by_source_.push(*m, SourceAccess::key(*m));
    }
  is_indexed_ = true;
}

// The first that fits of a sender chosen by chance.
Unexpected* Matcher::any_of(const Match& wanted, Unexpected* first) const {
  std::vector<Unexpected*> choices;
  for (Unexpected* m = first; m; m = m->next_arrived) {
    const auto same_sender = [m](const Unexpected* c) { return c->header.source == m->header.source; };
    if (fits(wanted, m->match()) && std::none_of(choices.begin(), choices.end(), same_sender)) choices.push_back(m);
  }
  chance_ = chance_ * 6364136223846793005u + 1442695040888963407u;
  return choices[(chance_ >> 33) % choices.size()];
}

std::vector<int32_t> Matcher::senders(const Match& wanted) const {
  std::vector<int32_t> found;
  const auto at = arrivals_.find(wanted.context);
  if (at == arrivals_.end()) return found;
  for (const Unexpected* m = at->second.first; m; m = m->next_arrived)
    if (fits(wanted, m->match()) && std::find(found.begin(), found.end(), m->header.source) == found.end())
      found.push_back(m->header.source);
  return found;
}

Unexpected* Matcher::take(const Match& wanted) {
  Unexpected* message = find(wanted);
  if (message) remove(*message);
  return message;
}

std::unique_ptr<Unexpected> Matcher::take_ticket(int process, uint64_t ticket) {
  if (!has_tickets_) {
    messages_.each([&](Unexpected& m) TUTTI_ENGINE_OWNED {
      if (m.header.ticket) by_ticket_.push(m, TicketAccess::key(m));
    });
    has_tickets_ = true;
  }
  Unexpected* const found = by_ticket_.find(TicketAccess::key(process, ticket));
  if (found) remove(*found);
  return std::unique_ptr<Unexpected>(found);
}

void Matcher::remove(Unexpected& message) {
  messages_.remove(message);
  if (somebody_waits(message)) --held_;
  if (has_tickets_ && message.header.ticket) by_ticket_.remove(message);
  if (is_indexed_ && !is_hidden(message.header.context)) [[unlikely]] {
    by_tag_.remove(message);
    by_source_.remove(message);
  }
  if (messages_.count() == 0) {
    if (is_indexed_) {
      by_tag_.clear();
      by_source_.clear();
    }
    if (has_tickets_) by_ticket_.clear();
    is_indexed_ = has_tickets_ = false;
  }
  if (is_hidden(message.header.context)) return;
  const auto at = arrivals_.find(message.header.context);
  Arrivals& list = at->second;
  (message.previous_arrived ? message.previous_arrived->next_arrived : list.first) = message.next_arrived;
  (message.next_arrived ? message.next_arrived->previous_arrived : list.last) = message.previous_arrived;
  if (!list.first && arrivals_.size() > kContextsKept) arrivals_.erase(at);
}

}  // namespace tutti::engine
