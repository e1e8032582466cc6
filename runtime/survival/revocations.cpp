// SPDX-License-Identifier: BSD-3-Clause
#include "survival/revocations.hpp"

#include <iterator>

namespace tutti::survival {

bool Revocations::open(uint64_t context, const ProcessList& members) {
  Known& known = known_[context];
  known.members = members;
  known.is_open = true;
  if (known.by != kNobody && failed_.contains(known.by)) answer_for(context, known);
  return known.by != kNobody;
}

void Revocations::close(uint64_t context) {
  const auto at = known_.find(context);
  if (at == known_.end()) return;
  at->second.is_open = false;
  if (at->second.by == kNobody || at->second.by == self_) known_.erase(at);
}

bool Revocations::learn(uint64_t context, int from) {
  Known& known = known_[context];
  if (known.by != kNobody) return false;
  known.by = from;
  if (known.is_open && (from == self_ || failed_.contains(from))) answer_for(context, known);
  return known.is_open;
}

void Revocations::fail(int process) {
  failed_.insert(process);
  for (auto at = known_.begin(); at != known_.end();) {
    auto& [context, known] = *at;
    const bool is_mine = known.by == process && !known.members.empty();
    if (is_mine) answer_for(context, known);
    at = is_mine && !known.is_open ? known_.erase(at) : std::next(at);
  }
}

void Revocations::answer_for(uint64_t context, Known& known) {
  known.by = self_;
  Word& word = words_.emplace_back(Word{context, {}});
  for (const int process : known.members)
    if (process != self_ && !failed_.contains(process)) word.to.push_back(process);
}

}  // namespace tutti::survival
