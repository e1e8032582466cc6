// SPDX-License-Identifier: BSD-3-Clause
// What is said of the programs of a node's ranks: that one is another MPI's, that the kernel does not begin it, or how
// it has ended.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "base/ranks_text.hpp"
#include "launcher/node/environment.hpp"
#include "launcher/node/node_agent.hpp"
#include "launcher/node/process_state.hpp"
#include "launcher/node/program_file.hpp"

namespace tutti::launcher {

// A program of another MPI would run as so many jobs of one rank each, and say nothing. Why one among those of this
// node is not started, if there is one; of one that joins the job the user is told whose library it has.
std::optional<std::string> NodeAgent::program_of_another_mpi() {
  if (task_.foreign_mpi) return std::nullopt;
  std::set<int> judged;
  std::set<std::string> told;
  for (const int number : starting_->ranks) {
    const int index = task_.map.ranks[static_cast<size_t>(number)].app;
    if (!judged.insert(index).second) continue;
    const App& app = task_.map.apps[static_cast<size_t>(index)];
    Rank rank;
    rank.rank = number;
    const std::vector<std::string> environment = environment_of(rank, {});
    const std::string search = variable(environment, "PATH");
    const Program program = files_.program_of(task_, app, search);
    if (program.path.empty()) continue;  // will be told
    const std::optional<OtherMpi> other = built_for_another_mpi(
        {program.path, app.command, app.folder, search, variable(environment, "LD_LIBRARY_PATH")});
    if (!other) continue;
    if (!other->joins) return why_refused(*other);
    told.insert(whose_library(*other));
  }
  if (task_.parent.empty())  // else that has been told of the parents
    for (const std::string& line : told) job_.remark(task_.node, Level::note, line);
  // Such a program may ask PMIx for all that there is.
  if (!told.empty()) task_.pmix_ranks = std::max(task_.pmix_ranks, static_cast<int>(task_.map.ranks.size()));
  return std::nullopt;
}

// A program that loads its MPI while it runs, or hides it behind another command, is found when it does.
void NodeAgent::look_for_another_mpi() {
  if (task_.foreign_mpi || task_.map.ranks.size() == 1) return;
  const auto strangers = [this] {
    std::vector<int> out;
    for (const auto& [number, rank] : ranks_)
      if (rank->alive && !rank->connected) out.push_back(rank->pid);
    return out;
  };
  lookouts_.other_mpi.emplace(loop_, strangers, [this](const LoadedMpi& found) {
    job_.remark(
        task_.node, Level::warning,
        fmt::format("{} has loaded {} of {} and has not met Tutti's mpirun: each of its ranks is a job of its own, of "
                    "one rank; start it with the mpirun of that MPI, or let it use Tutti's library (mpirun(1), "
                    "PROGRAMS OF ANOTHER MPI)",
                    found.program, found.library, found.mpi));
  });
}

void NodeAgent::spawn_doubted(int rank, const std::string& why) {
  if (!find(rank)) return;
  const RankPlace place = task_.map.ranks[static_cast<size_t>(rank)];
  job_.remark(task_.node, Level::warning,
              fmt::format("rank {} ({}) wants more processes started by PMIx: {}", rank,
                          task_.map.apps[static_cast<size_t>(place.app)].command[0], why));
}

// The kernel's word is about the program or about what it needs to run, which is for us to tell.
std::string NodeAgent::why_not_begun(const SpawnFailure& failure) const {
  const RankPlace place = task_.map.ranks[static_cast<size_t>(failure.tag)];
  const App& app = task_.map.apps[static_cast<size_t>(place.app)];
  Rank rank;
  rank.rank = failure.tag;
  const Program program = files_.program_of(task_, app, variable(environment_of(rank, {}), "PATH"));
  const std::string reason = program.path.empty() ? "" : why_not_executed(program.path, failure.error_number);
  return reason.empty() ? fmt::format("{}: {}", app.command[0], std::strerror(failure.error_number))
                        : fmt::format("{} {}", app.command[0], reason);
}

// Of one that SIGKILL has ended, or that tells so of a process of its own, as shells do.
std::string NodeAgent::cause_of_end(int pid, int wait_status, int64_t peak) {
  const bool killed = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
  const bool tells = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 128 + SIGKILL;
  if (kills_ranks_ || !lookouts_.memory_kills || (!killed && !tells)) return {};
  const std::string how = lookouts_.memory_kills->look(killed ? pid : 0);
  if (how.empty()) return {};
  int others = 0;
  uint64_t theirs = 0;
  for (const auto& [number, other] : ranks_)
    if (other->alive && other->pid > 0) ++others, theirs += memory_of(other->pid);
  std::string had = "it had up to " + memory_text(static_cast<uint64_t>(peak));
  if (others > 0)
    had += fmt::format(", the other {} there {} {}", others == 1 ? "rank" : fmt::format("{} ranks", others),
                       others == 1 ? "has" : "have", memory_text(theirs));
  return fmt::format("memory ran out on {}, {} ({}; {})", task_.map.nodes[static_cast<size_t>(task_.node)], how, had,
                     memory_bound());
}

// All ranks have a process by now. The job's time and the user may end it, as any other.
void NodeAgent::tell_late_starts() {
  std::vector<int> late;
  for (const auto& [number, rank] : ranks_)
    if (rank->alive && rank->begun && !*rank->begun) late.push_back(number);
  if (late.empty()) return;
  const Rank& first = *ranks_.at(late.front());
  const App& app = task_.map.apps[static_cast<size_t>(task_.map.ranks[static_cast<size_t>(first.rank)].app)];
  const std::string doing = kernel_state(first.pid).doing;
  job_.remark(
      task_.node, Level::warning,
      fmt::format("{} on {} {} still to become {}: process {} is {}; a file system may not answer, or "
                  "somebody has stopped it",
                  ranks_text(late), task_.map.nodes[static_cast<size_t>(task_.node)], late.size() == 1 ? "has" : "have",
                  app.command[0], first.pid, doing.empty() ? "on its way" : doing));
}

}  // namespace tutti::launcher
