// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/debuggers.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <tuple>

#include "base/log.hpp"
#include "launcher/daemons/daemon_start.hpp"
#include "launcher/node/spawn.hpp"
#include "launcher/place/hosts.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(200);

bool is_there(const char* name) {
  const char* search = ::getenv("PATH");
  return !find_program(name, search ? search : "/usr/bin:/bin", "").path.empty();
}

}  // namespace

Error Debuggers::check() {
  for (const char* name : {"tmux", "gdb"})
    if (!is_there(name))
      return failure(MPI_ERR_OTHER,
                     "--gdb: {} is not in PATH; type --stop-on-start, and attach a debugger to the processes that are "
                     "then told",
                     name);
  return {};
}

Debuggers::Debuggers(Loop& loop, std::string job_id, int ranks, std::string rsh, std::function<bool()> ends,
                     std::function<void(Answer)> ask)
    : loop_(loop),
      job_id_(std::move(job_id)),
      rsh_(std::move(rsh)),
      ranks_(ranks),
      ends_(std::move(ends)),
      ask_(std::move(ask)) {
  timer_ = loop_.every(kBetweenLooks, [this] { look(); });
}

// Until each rank has come to MPI_Init.
void Debuggers::look() {
  if (ends_()) {
    if (opened_) std::ignore = std::system(fmt::format("tmux -L tutti-{} kill-server 2>/dev/null", job_id_).c_str());
    return loop_.post([this] { timer_.reset(); });
  }
  if (opened_ || std::exchange(asked_, true)) return;
  ask_([this](const JobView& view) {
    asked_ = false;
    if (!opened_ && !ends_() && static_cast<int>(view.ranks.size()) == ranks_) open(view);
  });
}

void Debuggers::open(const JobView& view) {
  opened_ = true;
  std::vector<RankView> ranks = view.ranks;
  std::ranges::sort(ranks, {}, &RankView::rank);
  const std::string tmux = fmt::format("tmux -L tutti-{} ", job_id_);
  for (size_t i = 0; i < ranks.size(); ++i) {
    std::string command = fmt::format("gdb -q -p {}", ranks[i].pid);
    if (!is_own_name(ranks[i].host))
      command = fmt::format("{}{} {} {}", rsh_, rsh_ == "ssh" ? " -t" : "", ranks[i].host, command);
    const std::string line = fmt::format("{}{} -n 'rank {}' {} </dev/null >/dev/null", tmux,
                                         i == 0 ? "new-session -d -s ranks" : "new-window -t ranks", ranks[i].rank,
                                         launcher::quoted(command));
    if (std::system(line.c_str()) != 0) {
      say(Level::warning, "--gdb: tmux does not open a window for rank {}", ranks[i].rank);
      return;
    }
  }
  say(Level::note, "a gdb for each rank waits in '{}attach'; 'continue' there lets a rank leave MPI_Init", tmux);
}

}  // namespace tutti::launcher
