// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/reaper.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

namespace tutti::launcher {
namespace {

constexpr std::chrono::milliseconds kAborted{100};  // before an abort is told of

}  // namespace

Reaper::Reaper(Loop& loop) : loop_(loop) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  watch_ = loop.on_signal(SIGCHLD, [this] { reap(); });
}

void Reaper::expect(int pid, Ended ended) {
  expected_[pid] = std::move(ended);
}

void Reaper::reap() {
  struct Dead {
    int pid, status;
    bool aborted() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; }
  };
  std::vector<Dead> dead;
  int status = 0;
  for (int pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) dead.push_back({pid, status});
  // The kernel does not say who ended first. One that aborts itself may do so because another is
  // gone, which may take longer to end: a large process does. So it comes behind the others, and
  // behind those that end a moment later: the first that is heard of is blamed.
  for (const Dead& each : dead) {
    if (each.aborted()) {
      aborted_.push_back({each.pid, each.status});
    } else {
      tell(each.pid, each.status);
    }
  }
  if (!aborted_.empty() && !told_later_)
    told_later_ = loop_.after(kAborted, [this] { tell_aborted(); });
}

void Reaper::tell_aborted() {
  told_later_.reset();
  for (const auto& [pid, status] : std::exchange(aborted_, {})) tell(pid, status);
}

void Reaper::tell(int pid, int status) {
  // What a rank told its PMIx server before it ended counts before its end. Not earlier than here:
  // until it is reaped it may still be telling.
  loop_.run_posted();
  const auto found = expected_.find(pid);
  if (found == expected_.end()) return;
  const Ended ended = std::move(found->second);
  expected_.erase(found);
  ended(status);
}

std::vector<int> Reaper::strangers() const {
  std::vector<int> out;
  std::error_code problem;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", problem)) {
    std::ifstream children(task.path() / "children");
    for (int pid; children >> pid;)
      if (!expected_.contains(pid)) out.push_back(pid);
  }
  return out;
}

}  // namespace tutti::launcher
