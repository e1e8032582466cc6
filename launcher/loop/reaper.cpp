// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/loop/reaper.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

namespace tutti::launcher {

Reaper::Reaper(Loop& loop) : loop_(loop) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  watch_ = loop.on_signal(SIGCHLD, [this] {
    assume_on_loop();
    reap();
  });
}

void Reaper::expect(int pid, Ended ended) {
  expected_[pid] = std::move(ended);
}

void Reaper::reap() {
  int status = 0;
  rusage used{};
  for (int pid; (pid = ::wait4(-1, &status, WNOHANG, &used)) > 0;) tell(pid, status, int64_t{used.ru_maxrss} << 10);
}

void Reaper::tell(int pid, int status, int64_t peak) {
  // What a rank told its PMIx server before it ended counts before its end. Not earlier than here:
  // until it is reaped it may still be telling.
  loop_.run_posted();
  const auto found = expected_.find(pid);
  if (found == expected_.end()) return;
  const Ended ended = std::move(found->second);
  expected_.erase(found);
  ended(status, peak);
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
