// SPDX-License-Identifier: BSD-3-Clause
// How ranks leave a job: which of their ends is the job's, too, and which one is to blame where several come together.
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <iterator>
#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "base/ranks_text.hpp"
#include "launcher/job.hpp"
#include "launcher/place/schedulers.hpp"

namespace tutti::launcher {
namespace {

// For a rank that aborts, on one node and on several.
constexpr std::chrono::milliseconds kBenefitOfDoubt{100}, kBenefitOfDistance{250};

// For all that wait in vain to say so: they have come at about the same time.
constexpr std::chrono::milliseconds kRollCall{300};
// No word of a rank takes so long to get here from its node.
constexpr std::chrono::seconds kOnItsWay{1};

std::string cause_of(const RankEnd& end) {
  return end.cause.empty() ? "" : ": " + printable(end.cause);
}

}  // namespace

// A rank that aborts may do so because another is gone whose end takes longer to be heard of: it is
// on another node, or is a large process.
void Job::suspect(int exit_code, const std::string& sentence) {
  if (failed_ || suspect_) return;
  suspect_ = {exit_code, sentence};
  suspicion_ = loop_.after(nodes_.size() > 1 ? kBenefitOfDistance : kBenefitOfDoubt, [this] { blame_suspect(); });
}

void Job::blame_suspect() {
  suspicion_.reset();
  if (const auto blamed = std::exchange(suspect_, std::nullopt)) fail(blamed->first, blamed->second);
}

std::string Job::rank_label(int rank, int pid) const {
  const RankPlace place = map_.ranks[static_cast<size_t>(rank)];
  return fmt::format("rank {} on {} ({}, process {})", rank, map_.nodes[static_cast<size_t>(place.node)],
                     map_.apps[static_cast<size_t>(place.app)].command[0], pid);
}

// Of a signal that the ranks have from this process.
std::string Job::who_sent(int signal) const {
  const std::string meaning = meaning_of_signal(options_.scheduler, signal);
  return fmt::format(", which mpirun was sent and has passed on{}", meaning.empty() ? "" : ": " + meaning);
}

void Job::rank_ended(int, const RankEnd& end) {
  rank_gone(end.rank);
  const int status = end.wait_status;
  if (end.pid == 0) {
    // Its node has said why it was not started.
  } else if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    const std::string sentence = fmt::format(
        "{} was killed by signal {} ({}){}{}; the job ends", rank_label(end.rank, end.pid), signal, ::strsignal(signal),
        WCOREDUMP(status) ? ", core dumped" : "", passed_on_.contains(signal) ? who_sent(signal) : cause_of(end));
    signal == SIGABRT ? suspect(128 + signal, sentence) : fail(128 + signal, sentence);
  } else if (suspect_) {
    // It may be the one: who aborts exits, too.
  } else if (WEXITSTATUS(status) != 0) {
    fail(WEXITSTATUS(status), fmt::format("{} exited with code {}{}; the job ends", rank_label(end.rank, end.pid),
                                          WEXITSTATUS(status), cause_of(end)));
  } else if (end.connected && !end.finalized) {
    fail(1, fmt::format("{} exited with code 0 without MPI_Finalize; the job ends", rank_label(end.rank, end.pid)));
  } else {
    departed_[end.rank] = {end.pid, end.connected, std::chrono::steady_clock::now()};
    check_start(false);
  }
  check_ranks();
}

// Of ranks on several nodes that crash at once the first that is heard of.
void Job::rank_crashed(int, int, const std::string& report) {
  if (!std::exchange(crash_told_, true)) say(Level::error, "{}", report);
}

void Job::rank_waits(int, int rank) {
  waiting_[rank] = std::chrono::steady_clock::now();
  check_start(true);
}

// A rank that never calls MPI is in nobody's way, unless others are in MPI_Init, which takes all.
// One that has called it is part of a start that is over; who waits since is in another one, which
// its process came to next.
void Job::check_start(bool just_said) {
  if (waiting_.empty()) return;
  const auto long_ago = std::chrono::steady_clock::now() - kOnItsWay;
  for (const auto& [rank, end] : departed_)
    if (!end.connected || (just_said && end.when < long_ago)) absent_.insert(rank);
  if (!absent_.empty() && !absence_) absence_ = loop_.after(kRollCall, [this] { blame_absent(); });
}

void Job::blame_absent() {
  const int first = *absent_.begin();
  const Departed& end = departed_.at(first);
  const std::vector<int> others(std::next(absent_.begin()), absent_.end());
  std::vector<int> waiting;
  for (const auto& [rank, said] : waiting_)
    if (!end.connected || said > end.when) waiting.push_back(rank);  // earlier: in an earlier start
  fail(1, fmt::format("{}{}{} exited with code 0 without calling MPI_Init{}, and {} {} for {} there; "
                      "the job ends",
                      rank_label(first, end.pid), others.empty() ? "" : " and ",
                      others.empty() ? "" : ranks_text(others), end.connected ? " again" : "", ranks_text(waiting),
                      waiting.size() == 1 ? "waits" : "wait", others.empty() ? "it" : "them"));
}

void Job::rank_aborted(int, int rank, int code, const std::string& text) {
  const RankPlace place = map_.ranks[static_cast<size_t>(rank)];
  const int exit_code = code & 0xff ? code & 0xff : 1;
  // A report of several lines says itself who did what.
  const bool is_report = text.find('\n') != text.npos;
  suspect(exit_code,
          is_report ? text
                    : fmt::format("rank {} on {} aborted the job with code {}{}{}", rank,
                                  map_.nodes[static_cast<size_t>(place.node)], code, text.empty() ? "" : ": ", text));
}

}  // namespace tutti::launcher
