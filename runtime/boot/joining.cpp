// SPDX-License-Identifier: BSD-3-Clause
#include "boot/joining.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/flush.hpp"
#include "base/log.hpp"
#include "base/os/probe.hpp"

extern char** environ;

namespace tutti::boot {
namespace {

// Variables by which launchers without PMIx tell a process that it is one of several.
struct Hint {
  const char* variable;
  const char* launcher;
  const char* remedy;
};
constexpr const char* kOpenMpiSize = "OMPI_COMM_WORLD_SIZE";
constexpr Hint kHints[] = {
    {"SLURM_STEP_NUM_TASKS", "srun", "start it with srun --mpi=pmix"},
    {"PMI_SIZE", "a PMI-1 launcher (MPICH's mpiexec, or srun --mpi=pmi2)",
     "start it with Tutti's mpirun, or with srun --mpi=pmix"},
    {kOpenMpiSize, "Open MPI's mpirun", "start it with Tutti's mpirun"},
    {"MV2_COMM_WORLD_SIZE", "MVAPICH's mpirun", "start it with Tutti's mpirun"},
};

std::string_view value_of(const char* variable) {
  const char* const value = std::getenv(variable);
  return value ? value : "";
}

// Tutti's mpirun gives its ranks these variables, too, and its own beside them. Open MPI's mpirun inside of such a rank
// gives more than Tutti's does, also where the numbers are the same.
bool is_of_tutti(const Hint& hint) {
  if (std::string_view(hint.variable) != kOpenMpiSize || value_of("TUTTI_SIZE").empty()) return false;
  return value_of("TUTTI_SIZE") == value_of(kOpenMpiSize) &&
         value_of("TUTTI_RANK") == value_of("OMPI_COMM_WORLD_RANK") && value_of("OMPI_UNIVERSE_SIZE").empty();
}

std::optional<Error> one_of_several() {
  for (const Hint& hint : kHints) {
    const char* value = std::getenv(hint.variable);
    if (!value || std::atoi(value) <= 1 || is_of_tutti(hint)) continue;
    return failure(MPI_ERR_OTHER,
                   "the environment says that {} started {} processes ({}={}), but there is no PMIx "
                   "server through which they could find each other; {}. To run it as a job of one "
                   "process, unset {}",
                   hint.launcher, value, hint.variable, value, hint.remedy, hint.variable);
  }
  return std::nullopt;
}

// 0: nobody's, or nobody can tell.
int parent_of(int pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  std::getline(file, line);
  // The name, in brackets, may hold anything.
  std::istringstream rest(line.substr(std::min(line.rfind(')'), line.size() - 1) + 1));
  char state;
  int parent = 0;
  rest >> state >> parent;
  return parent;
}

// What a rank of one node holds once MPI_Init is through (PMIx 4.2, UCX 1.13), and one alone.
constexpr int kFilesOfRank = 17, kFilesAlone = 10;
// Without its own thread of progress MPI still works.
constexpr int kThreadsOfPmix = 1;

class Singleton final : public Membership {
 public:
  Singleton() {
    view_.id = fmt::format("{}-{}", kSingleton, getpid());
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    view_.host = name;
    view_.universe_size = 1;
  }
  Error publish(const std::string& address) override {
    address_ = address;
    return {};
  }
  Error fence() override { return {}; }
  Error tell_node(const std::string&) override { return {}; }
  Result<std::string> told_by(int) override { return std::string(); }
  Result<std::string> address_of(int) override { return address_; }
  std::vector<int> nodes() override { return {0}; }
  void report_ends(members::Processes&) override {}
  void leave() override {}
  [[noreturn]] void abort(int code, const std::string& message) override {
    flush_streams();
    say(Level::error, "{}", message);
    _exit(code);
  }

 private:
  std::string address_;
};

}  // namespace

bool sees_processes_of_node() {
  // What Slurm says that it started is this process, or one that it descends from.
  const char* started = std::getenv("SLURM_TASK_PID");
  const int wanted = started ? std::atoi(started) : 0;
  for (int pid = getpid(); wanted > 0 && pid > 0; pid = parent_of(pid))
    if (pid == wanted) return true;
  return false;
}

// A server gives its address once for each version of its protocol: PMIX_SERVER_URI41=name;tcp4://127.0.0.1:40000.
bool ranks_share_loopback() {
  bool any = false;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view pair = *entry;
    if (!pair.starts_with("PMIX_SERVER_URI")) continue;
    any = true;
    if (pair.find(";tcp4://127.") == pair.npos && pair.find(";tcp6://::1:") == pair.npos) return false;
  }
  return any;
}

Result<std::unique_ptr<Membership>> Membership::join() {
  if (Error e = probe_descriptors(pmix_offered() ? kFilesOfRank : kFilesAlone)) return e;
  if (pmix_offered())
    if (Error e = probe_threads(kThreadsOfPmix)) return e;
  if (pmix_offered()) return join_pmix();
  if (std::optional<Error> refusal = one_of_several()) return *std::move(refusal);
  return std::unique_ptr<Membership>(std::make_unique<Singleton>());
}

}  // namespace tutti::boot
