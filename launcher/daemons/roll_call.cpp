// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/roll_call.hpp"

namespace tutti::launcher {

void RollCall::every(std::chrono::nanoseconds period) {
  if (period == period_) return;
  period_ = period;
  latest_ = Clock::now();
  timer_ = loop_.every(period, [this] { round(); });
  round();
}

std::chrono::nanoseconds RollCall::silence_of(int node) const {
  const auto found = unanswered_.find(node);
  return found == unanswered_.end() ? Clock::duration(0) : Clock::now() - found->second;
}

void RollCall::round() {
  const auto now = Clock::now();
  // This process was stopped, or starved: the answers may be here and unread.
  if (now - latest_ > 3 * period_)
    for (auto& [node, since] : unanswered_) since = now;
  latest_ = now;
  for (const int node : job_.nodes()) {
    if (!unanswered_.try_emplace(node, now).second)
      job_.silent(node, now - unanswered_[node]);
    else
      job_.call(node);
  }
}

}  // namespace tutti::launcher
