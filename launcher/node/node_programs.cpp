// SPDX-License-Identifier: BSD-3-Clause
// What a node's ranks run: the programs and files that the launcher brings along, where a program is found, and what
// is said of one that is another MPI's or that the kernel does not begin.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "base/ranks_text.hpp"
#include "launcher/node/environment.hpp"
#include "launcher/node/node_agent.hpp"
#include "launcher/node/process_state.hpp"
#include "launcher/node/program_file.hpp"
#include "mpi.h"

namespace tutti::launcher {

// The name by which the user's shell calls a folder may be of one node alone.
void NodeAgent::settle_folder(App& app) {
  const auto is_folder = [](const std::string& name) {
    struct stat about{};
    return ::stat(name.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
  };
  if (app.real_folder != app.folder && !app.real_folder.empty() && !is_folder(app.folder) && is_folder(app.real_folder))
    app.folder = app.real_folder;
}

void NodeAgent::give_file(const std::string& name, const std::string& bytes) {
  if (name.empty() || name.find('/') != name.npos || name.starts_with('.')) return;
  const std::string folder = cleanup_.folder() + "/files";
  ::mkdir(folder.c_str(), 0700);
  const int fd = ::open((folder + "/" + name).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0700);
  size_t written = 0;
  while (fd >= 0 && written < bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<size_t>(n);
  }
  if (fd < 0 || written < bytes.size()) file_problem_ = fmt::format("{}/{}: {}", folder, name, std::strerror(errno));
  if (fd >= 0) ::close(fd);
}

// What came before the launch goes where the ranks look for it: files into their folders, unless something of that name
// is there already, such as the same file on a file system that all nodes share.
Error NodeAgent::place_files() {
  if (!file_problem_.empty())
    return failure(MPI_ERR_FILE, "a file cannot be copied to {}: {}", task_.map.nodes[static_cast<size_t>(task_.node)],
                   file_problem_);
  for (const std::string& name : task_.files) {
    const std::string from = cleanup_.folder() + "/files/" + name;
    if (::access(from.c_str(), R_OK) != 0) continue;  // the launcher's own node
    for (const App& app : task_.map.apps) {
      const std::string to = app.folder + "/" + name;
      std::error_code problem;
      if (std::filesystem::exists(to, problem)) continue;
      std::filesystem::create_directories(app.folder, problem);
      if (!std::filesystem::copy_file(from, to, problem))
        return failure(MPI_ERR_FILE, "--preload-files: {} cannot be written on {}: {}", to,
                       task_.map.nodes[static_cast<size_t>(task_.node)], problem.message());
      placed_files_.push_back(to);
    }
  }
  return {};
}

// The one that --preload-binary has brought to this node, or else what the folders of `search` have.
Program NodeAgent::program_of(const App& app, const std::string& search) const {
  const std::string& command = app.command[0];
  const std::string name = command.substr(command.rfind('/') + 1);
  const std::string brought = cleanup_.folder() + "/files/" + name;
  const bool is_file = std::ranges::count(task_.files, name) > 0;
  if (!is_file && ::access(brought.c_str(), X_OK) == 0) return {.path = brought, .exit_code = 0, .problem = ""};
  return find_program(command, search, app.folder);
}

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
    const Program program = program_of(app, search);
    if (program.path.empty()) continue;  // will be told
    const std::optional<OtherMpi> other = built_for_another_mpi(
        {program.path, app.command, app.folder, search, variable(environment, "LD_LIBRARY_PATH")});
    if (!other) continue;
    if (!other->joins) return why_refused(*other);
    told.insert(whose_library(*other));
  }
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
  other_mpi_.emplace(loop_, strangers, [this](const LoadedMpi& found) {
    job_.remark(
        task_.node, Level::warning,
        fmt::format("{} has loaded {} of {} and has not met Tutti's mpirun: each of its ranks is a job of its own, of "
                    "one rank; start it with the mpirun of that MPI, or let it use Tutti's library (mpirun(1), "
                    "PROGRAMS OF ANOTHER MPI)",
                    found.program, found.library, found.mpi));
  });
}

void NodeAgent::client_spawns(int rank) {
  if (!find(rank)) return;
  const RankPlace place = task_.map.ranks[static_cast<size_t>(rank)];
  job_.remark(
      task_.node, Level::warning,
      fmt::format("{} wants more processes started by PMIx, as another MPI's MPI_Comm_spawn does, which Tutti's mpirun "
                  "does not do: compile it with Tutti's mpicc, or start it with the mpirun of that MPI",
                  task_.map.apps[static_cast<size_t>(place.app)].command[0]));
}

// The kernel's word is about the program or about what it needs to run, which is for us to tell.
std::string NodeAgent::why_not_begun(const SpawnFailure& failure) const {
  const RankPlace place = task_.map.ranks[static_cast<size_t>(failure.tag)];
  const App& app = task_.map.apps[static_cast<size_t>(place.app)];
  Rank rank;
  rank.rank = failure.tag;
  const Program program = program_of(app, variable(environment_of(rank, {}), "PATH"));
  const std::string reason = program.path.empty() ? "" : why_not_executed(program.path, failure.error_number);
  return reason.empty() ? fmt::format("{}: {}", app.command[0], std::strerror(failure.error_number))
                        : fmt::format("{} {}", app.command[0], reason);
}

// Of one that SIGKILL has ended, or that tells so of a process of its own, as shells do.
std::string NodeAgent::cause_of_end(int pid, int wait_status, int64_t peak) {
  const bool killed = WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL;
  const bool tells = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 128 + SIGKILL;
  if (ends_ranks_ || !memory_kills_ || (!killed && !tells)) return {};
  const std::string how = memory_kills_->look(killed ? pid : 0);
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
