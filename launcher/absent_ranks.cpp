// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/absent_ranks.hpp"

#include <iterator>
#include <vector>

#include "base/log.hpp"
#include "base/ranks_text.hpp"

namespace tutti::launcher {
namespace {

// For all that wait in vain to say so: they have come at about the same time.
constexpr std::chrono::milliseconds kRollCall{300};
// No word of a rank takes so long to get here from its node.
constexpr std::chrono::seconds kOnItsWay{1};

}  // namespace

void AbsentRanks::waits(int rank) {
  waiting_[rank] = std::chrono::steady_clock::now();
  check_start(true);
}

void AbsentRanks::has_left(int rank, int pid, bool connected) {
  departed_[rank] = {pid, connected, std::chrono::steady_clock::now()};
  check_start(false);
}

// A rank that never calls MPI is in nobody's way, unless others are in MPI_Init, which takes all.
// One that has called it is part of a start that is over; who waits since is in another one, which
// its process came to next.
void AbsentRanks::check_start(bool just_said) {
  if (waiting_.empty()) return;
  const auto long_ago = std::chrono::steady_clock::now() - kOnItsWay;
  for (const auto& [rank, end] : departed_)
    if (!end.connected || (just_said && end.when < long_ago)) absent_.insert(rank);
  if (!absent_.empty() && !roll_call_) roll_call_ = loop_.after(kRollCall, [this] { blame_absent(); });
}

void AbsentRanks::blame_absent() {
  const int first = *absent_.begin();
  const Departed& end = departed_.at(first);
  const std::vector<int> others(std::next(absent_.begin()), absent_.end());
  std::vector<int> waiting;
  for (const auto& [rank, said] : waiting_)
    if (!end.connected || said > end.when) waiting.push_back(rank);  // earlier: in an earlier start
  blame_(
      fmt::format("{}{}{} exited with code 0 without calling MPI_Init{}, and {} {} for {} there; "
                  "the job ends",
                  nodes_.rank_label(first, end.pid), others.empty() ? "" : " and ",
                  others.empty() ? "" : ranks_text(others), end.connected ? " again" : "", ranks_text(waiting),
                  waiting.size() == 1 ? "waits" : "wait", others.empty() ? "it" : "them"));
}

}  // namespace tutti::launcher
