// SPDX-License-Identifier: BSD-3-Clause
// How ranks leave a job: which of their ends is the job's, too, and which one is to blame where several come together.
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "base/ranks_text.hpp"
#include "launcher/job.hpp"
#include "launcher/place/schedulers.hpp"

namespace tutti::launcher {
namespace {

std::string cause_of(const RankEnd& end) {
  return end.cause.empty() ? "" : ": " + printable(end.cause);
}

}  // namespace

void Job::suspect(int exit_code, const std::string& sentence) {
  if (!is_ending()) suspicion_.suspect(exit_code, sentence, nodes_.count() > 1);
}

// Of a rank that was killed by a signal, which the ranks may have from this process.
std::string Job::sentence_on(const RankEnd& end) const {
  const int signal = WTERMSIG(end.wait_status);
  std::string why = cause_of(end);
  if (nodes_.has_passed_on(signal)) {
    const std::string meaning = meaning_of_signal(options_.scheduler, signal);
    why = fmt::format(", which mpirun was sent and has passed on{}", meaning.empty() ? "" : ": " + meaning);
  }
  return fmt::format("{} was killed by signal {} ({}){}{}; the job ends", nodes_.rank_label(end.rank, end.pid), signal,
                     ::strsignal(signal), WCOREDUMP(end.wait_status) ? ", core dumped" : "", why);
}

int Job::exit_code() const {
  if (failure_) return *failure_;
  if (lost_ranks_.empty()) return code_of_others_;
  const bool tells =
      options_.on_failure == OnFailure::go_on_and_tell || lost_ranks_.size() == nodes_.map().ranks.size();
  return tells ? code_of_lost_ : code_of_others_;
}

// Only once all have met in MPI_Init they know each other, and can be told who has failed.
bool Job::may_go_on() const {
  const bool ends = is_ending() || suspicion_.is_open();  // somebody has ended the job, or may have
  return options_.on_failure != OnFailure::end && !ends && exchange_.have_met();
}

// `code`: what the first one's is.
void Job::goes_on_without(const std::vector<int>& ranks, const std::string& why, int code) {
  if (lost_ranks_.empty()) code_of_lost_ = code;
  for (const int rank : ranks) lost_ranks_.push_back({rank, why, std::chrono::steady_clock::now()});
}

std::vector<FailedView> Job::failed() const {
  const auto since = [](const LostRank& lost) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - lost.when).count();
  };
  std::vector<FailedView> out;
  for (const LostRank& lost : lost_ranks_)
    out.push_back({.job = nodes_.map().id, .rank = lost.rank, .why = lost.why, .milliseconds = since(lost)});
  return out;
}

// A rank that has ended otherwise than well, of a job whose others go on: its end is told once, and is nobody else's.
bool Job::goes_on_without(const RankEnd& end) {
  const int status = end.wait_status;
  const bool lost = end.connected && !end.finalized;
  if (!may_go_on() || (status == 0 && !lost)) return false;
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  const int code = signal ? 128 + signal : WEXITSTATUS(status);
  const std::string how = signal ? fmt::format("was killed by signal {} ({})", signal, ::strsignal(signal))
                                 : fmt::format("exited with code {}", code);
  if (lost) {
    goes_on_without({end.rank}, how, code ? code : 1);
  } else if (code_of_others_ == 0) {
    code_of_others_ = code;
  }
  say(Level::warning, "{} {}{}{}; the job goes on", nodes_.rank_label(end.rank, end.pid), how,
      lost && !signal ? " without MPI_Finalize" : "", cause_of(end));
  return true;
}

// Its ranks are told as failed to all others, who have heard nothing of it from their own nodes.
void Job::node_failed(int node, const std::string& why, bool silent) {
  if (state_ == JobState::over) return;
  if (!may_go_on())
    return lose_node(node, fmt::format("node {} is lost: {}; the job ends", nodes_.name(node), why), silent);
  const std::vector<int> ranks = nodes_.alive_on(node);
  if (!nodes_.lose(node)) return;
  say(Level::warning, "node {} is lost: {}; the job goes on without {}", nodes_.name(node), why,
      ranks.empty() ? "it" : ranks_text(ranks));
  const std::string was_there = fmt::format("was on {}, which is lost", nodes_.name(node));
  goes_on_without(ranks, was_there, 1);
  for (JobNodes::State& each : nodes_.all())
    if (!each.lost && !ranks.empty()) each.node->ranks_failed(ranks, was_there);
  exchange_.node_lost(node);
  exchange_.expect_nothing_of(nodes_.without_ranks());
  streams_.node_lost();
  check_ranks();
  check_finished();
}

void Job::rank_ended(int, const RankEnd& end) {
  nodes_.rank_gone(end.rank);
  const int status = end.wait_status;
  if (end.pid == 0) {
    // Its node has said why it was not started.
  } else if (goes_on_without(end)) {
    exchange_.expect_nothing_of(nodes_.without_ranks());
  } else if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    signal == SIGABRT ? suspect(128 + signal, sentence_on(end)) : fail(128 + signal, sentence_on(end));
  } else if (suspicion_.is_open()) {
    // It may be the one: who aborts exits, too.
  } else if (WEXITSTATUS(status) != 0) {
    fail(WEXITSTATUS(status), fmt::format("{} exited with code {}{}; the job ends",
                                          nodes_.rank_label(end.rank, end.pid), WEXITSTATUS(status), cause_of(end)));
  } else if (end.connected && !end.finalized) {
    fail(1,
         fmt::format("{} exited with code 0 without MPI_Finalize; the job ends", nodes_.rank_label(end.rank, end.pid)));
  } else {
    absent_.has_left(end.rank, end.pid, end.connected);
  }
  check_ranks();
}

// Of ranks on several nodes that crash at once the first that is heard of.
void Job::rank_crashed(int, int, const std::string& report) {
  if (!std::exchange(crash_told_, true)) say(Level::error, "{}", report);
}

void Job::rank_aborted(int, int rank, int code, const std::string& text) {
  const int exit_code = code & 0xff ? code & 0xff : 1;
  // A report of several lines says itself who did what.
  const bool is_report = text.find('\n') != text.npos;
  suspect(exit_code, is_report ? text
                               : fmt::format("rank {} on {} aborted the job with code {}{}{}", rank,
                                             nodes_.name(nodes_.node_of(rank)), code, text.empty() ? "" : ": ", text));
}

}  // namespace tutti::launcher
