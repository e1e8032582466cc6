// SPDX-License-Identifier: BSD-3-Clause
// `tutti jobs`: the user's running jobs, as far as this machine has their mpirun or some of their
// ranks.
#include <cstdio>
#include <map>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "launcher/inquiry.hpp"
#include "launcher/look.hpp"
#include "launcher/run.hpp"
#include "launcher/why_text.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

struct Seen {
  std::string program, launcher;
  int size = 0;  // 0: not known
  int here = 0;
  bool has_mpirun = false;
};

std::map<std::string, Seen> running_jobs() {
  std::map<std::string, Seen> out;
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
    if (!told || told->ranks.empty()) continue;
    job.size = told->ranks[0].size;
    job.program = told->ranks[0].program;
    job.launcher = told->ranks[0].launcher;
  }
  return out;
}

std::string as_json(const std::map<std::string, Seen>& jobs) {
  std::string out;
  for (const auto& [name, job] : jobs)
    out += fmt::format(
        "{}{{\"job\":{},\"program\":{},\"ranks\":{},\"ranks_here\":{},\"mpirun_here\":{},"
        "\"mpirun\":{}}}",
        out.empty() ? "" : ",\n ", json_text(name), json_text(job.program), job.size, job.here,
        job.has_mpirun, json_text(job.launcher));
  return fmt::format("[{}]\n", out);
}

}  // namespace

int jobs_command(const std::vector<std::string>& arguments) {
  const std::string word = arguments.empty() ? "" : arguments[0];
  if (arguments.size() > 1 || (!word.empty() && word != "--json" && word != "--names" &&
                               word != "--help" && word != "-h")) {
    say(Level::error, "tutti jobs takes --json or --names, not '{}'",
        arguments.size() > 1 ? arguments[1] : word);
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
      fmt::print("{}: {}, {} rank{}, {} of them here{}\n", printable(name), printable(job.program),
                 job.size, job.size == 1 ? "" : "s", job.here,
                 job.has_mpirun         ? ", started here"
                 : job.launcher.empty() ? ""
                                        : ", started on " + printable(job.launcher));
  }
  if (jobs.empty() && word.empty()) fmt::print("no job of yours is seen on this machine\n");
  return 0;
}

}  // namespace tutti::launcher
