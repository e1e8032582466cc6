// SPDX-License-Identifier: BSD-3-Clause
// `tutti jobs`: the user's running jobs, as far as this machine has their mpirun or some of their
// ranks.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <system_error>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "launcher/ask/commands.hpp"
#include "launcher/ask/inquiry.hpp"
#include "launcher/ask/why_text.hpp"
#include "launcher/data/job_map.hpp"
#include "launcher/node/look.hpp"
#include "launcher/node/process_state.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

struct Seen {
  std::string program, launcher;
  int size = 0;  // 0: not known
  int here = 0;
  bool has_mpirun = false;
};

// Ranks that are no programs of Tutti's library leave no record; but they are told who they are.
void look_at_environments(std::map<std::string, Seen>& jobs) {
  std::map<std::string, std::set<std::string>> ranks_of;
  std::error_code problem;
  for (const auto& process : std::filesystem::directory_iterator("/proc", problem)) {
    const int pid = std::atoi(process.path().filename().c_str());
    struct stat about;
    if (pid <= 0 || ::stat(process.path().c_str(), &about) != 0 || about.st_uid != ::geteuid()) continue;
    const auto job = jobs.find(variable_of_process(pid, kJobVariable));
    if (job == jobs.end()) continue;
    const std::string rank = variable_of_process(pid, "TUTTI_RANK");
    // A rank's children have its environment, and mostly larger numbers.
    if (rank.empty() || !ranks_of[job->first].insert(rank).second) continue;
    ++job->second.here;
    job->second.size = std::atoi(variable_of_process(pid, "TUTTI_SIZE").c_str());
    if (!job->second.program.empty()) continue;
    std::ifstream name(process.path() / "comm");
    std::getline(name, job->second.program);
  }
}

std::map<std::string, Seen> running_jobs() {
  std::map<std::string, Seen> out, unknown;
  for (const RankView& rank : look_at_ranks("")) {
    Seen& job = out[rank.job];
    ++job.here;
    job.size = rank.size;
    job.program = rank.program;
    job.launcher = rank.launcher;
  }
  for (const std::string& name : jobs_that_listen()) {
    const auto known = out.find(name);
    if (known != out.end()) {
      known->second.has_mpirun = true;
      continue;
    }
    // Its ranks may run elsewhere or be no MPI programs; another user's is none of ours.
    Result<JobView> told = ask_job(name, {});
    if (!told && told.error().mpi_class() == MPI_ERR_ACCESS) continue;
    Seen& job = out[name];
    job.has_mpirun = true;
    if (!told || told->ranks.empty()) {
      unknown[name] = job;
      continue;
    }
    job.size = told->ranks[0].size;
    job.program = told->ranks[0].program;
    job.launcher = told->ranks[0].launcher;
  }
  if (unknown.empty()) return out;
  look_at_environments(unknown);
  for (const auto& [name, job] : unknown) out[name] = job;
  return out;
}

std::string as_json(const std::map<std::string, Seen>& jobs) {
  std::string out;
  for (const auto& [name, job] : jobs)
    out += fmt::format(
        "{}{{\"job\":{},\"program\":{},\"ranks\":{},\"ranks_here\":{},\"mpirun_here\":{},"
        "\"mpirun\":{}}}",
        out.empty() ? "" : ",\n ", json_text(name), json_text(job.program), job.size, job.here, job.has_mpirun,
        json_text(job.launcher));
  return fmt::format("[{}]\n", out);
}

}  // namespace

int jobs_command(const std::vector<std::string>& arguments) {
  const std::string word = arguments.empty() ? "" : arguments[0];
  if (arguments.size() > 1 ||
      (!word.empty() && word != "--json" && word != "--names" && word != "--help" && word != "-h")) {
    say(Level::error, "tutti jobs takes --json or --names, not '{}'", arguments.size() > 1 ? arguments[1] : word);
    return 2;
  }
  if (word == "--help" || word == "-h") {
    std::fputs(
        "Usage: tutti jobs [--json | --names]\n"
        "Lists your running jobs whose mpirun or ranks are on this machine; --names prints their\n"
        "names alone, which 'tutti why' takes.\n",
        stdout);
    return 0;
  }
  const std::map<std::string, Seen> jobs = running_jobs();
  if (word == "--json") {
    std::fputs(as_json(jobs).c_str(), stdout);
    return 0;
  }
  for (const auto& [name, job] : jobs) {
    if (word == "--names")
      fmt::print("{}\n", printable(name));
    else if (job.size == 0)
      fmt::print("{}: no rank has called MPI, or none is seen from here\n", printable(name));
    else
      fmt::print("{}: {}, {} rank{}, {} of them here{}\n", printable(name), printable(job.program), job.size,
                 job.size == 1 ? "" : "s", job.here,
                 job.has_mpirun         ? ", started here"
                 : job.launcher.empty() ? ""
                                        : ", started on " + printable(job.launcher));
  }
  if (jobs.empty() && word.empty()) fmt::print("no job of yours is seen on this machine\n");
  return 0;
}

}  // namespace tutti::launcher
