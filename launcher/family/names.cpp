// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/family/names.hpp"

#include <algorithm>
#include <utility>

namespace tutti::launcher {

void Names::publish(const Ask& ask, const Answer& answer) {
  const auto is_there = [this](const std::string& name) { return entries_.contains(name); };
  if (std::ranges::any_of(ask.words, is_there)) return answer({.outcome = Outcome::exists});
  for (size_t i = 0; i < ask.words.size() && i < ask.values.size(); ++i)
    entries_[ask.words[i]] = {ask.values[i], ask.who, ask.once};
  answer({});
  serve();
}

bool Names::has_all(const Ask& ask) const {
  return std::ranges::all_of(ask.words, [this](const std::string& name) { return entries_.contains(name); });
}

// Of the names those that are there.
Reply Names::take(const Ask& ask) {
  Reply out;
  for (const std::string& name : ask.words) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) {
      out.outcome = Outcome::not_found;
      continue;
    }
    out.words.push_back(name);
    out.words.push_back(found->second.publisher);
    out.values.push_back(found->second.value);
    if (found->second.once) entries_.erase(found);
  }
  return out;
}

void Names::look_up(const Ask& ask, Answer answer) {
  if (ask.seconds == 0 || has_all(ask)) return answer(take(ask));
  const auto at = waiting_.insert(waiting_.end(), {ask, std::move(answer), {}});
  if (ask.seconds == kForEver) return;
  at->bound = loop_.after(std::chrono::seconds(ask.seconds), [this, at] {
    const Waiting late = std::move(*at);
    waiting_.erase(at);
    late.answer({.outcome = Outcome::late});
  });
}

void Names::serve() {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (!has_all(at->ask)) {
      ++at;
      continue;
    }
    const Waiting served = std::move(*at);
    at = waiting_.erase(at);
    served.answer(take(served.ask));
  }
}

void Names::unpublish(const Ask& ask, const Answer& answer) {
  std::erase_if(entries_, [&ask](const auto& entry) {
    const bool is_named = ask.words.empty() || std::ranges::find(ask.words, entry.first) != ask.words.end();
    return is_named && entry.second.publisher == ask.who;
  });
  answer({});
}

void Names::forget(const std::string& nspace) {
  std::erase_if(waiting_, [&nspace](const Waiting& one) { return one.ask.who.starts_with(nspace + ":"); });
}

}  // namespace tutti::launcher
