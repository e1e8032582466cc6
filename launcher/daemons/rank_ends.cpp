// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/daemons/rank_ends.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "launcher/daemons/patience.hpp"

namespace tutti::launcher {
namespace {

bool are_alike(const RankEnd& a, const RankEnd& b) {
  const auto kind = [](const RankEnd& end) {
    return std::tuple(end.pid == 0, end.wait_status, end.connected, end.finalized, std::string_view(end.cause));
  };
  return kind(a) == kind(b);
}

bool is_failure(const RankEnd& end) {
  return end.pid != 0 && (end.wait_status != 0 || (end.connected && !end.finalized));
}

}  // namespace

void RankEnds::begin(std::vector<int> ranks) {
  ranks_ = std::move(ranks);
  left_ = ranks_.size();
}

bool RankEnds::is_news(const RankEnd& end) {
  if (told_to_end_ || !is_failure(end)) return false;
  if (each_failure_) return true;
  if (std::ranges::any_of(said_, [&](const RankEnd& said) { return are_alike(said, end); })) return false;
  said_.push_back(end);
  return true;
}

void RankEnds::put(const RankEnd& end) {
  --left_;
  if (is_news(end)) {
    flush();
    return means_.say(end);
  }
  auto group = std::ranges::find_if(kept_, [&](const EndsAlike& kept) { return are_alike(kept.how, end); });
  if (group == kept_.end()) {
    if (kept_.empty()) first_ = std::chrono::steady_clock::now();
    group = kept_.insert(kept_.end(), {.how = end, .ranks = {}});
    group->how.rank = 0;
  }
  const auto place = static_cast<int>(std::ranges::lower_bound(ranks_, end.rank) - ranks_.begin());
  // Who it was matters of a rank that has never called MPI, for which others may wait.
  const bool is_told = !end.connected && !is_failure(end);
  if (end.pid != 0 && (!is_told || group->ranks.empty() || place < group->ranks.front().first))
    group->how.pid = is_told ? end.pid : kUntold;
  add(group->ranks, place);
  left_ == 0 ? flush() : wait();
}

void RankEnds::wait() {
  timer_ = loop_.after(patience_left(first_), [this] { flush(); });
}

void RankEnds::flush() {
  timer_.reset();
  if (!kept_.empty()) means_.say_together(std::exchange(kept_, {}));
}

}  // namespace tutti::launcher
