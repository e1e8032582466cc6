// SPDX-License-Identifier: BSD-3-Clause
// How ranks leave a job: which of their ends is the job's, too, and which one is to blame where several come together.
#include <signal.h>
#include <sys/wait.h>

#include <cstring>
#include <string>
#include <utility>

#include "base/log.hpp"
#include "base/printable.hpp"
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

void Job::rank_ended(int, const RankEnd& end) {
  nodes_.rank_gone(end.rank);
  const int status = end.wait_status;
  if (end.pid == 0) {
    // Its node has said why it was not started.
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
