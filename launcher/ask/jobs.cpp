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
#include <optional>
#include <set>
#include <string>
#include <system_error>

#include "base/log.hpp"
#include "base/printable.hpp"
#include "launcher/ask/commands.hpp"
#include "launcher/ask/inquiry.hpp"
#include "launcher/ask/other_users.hpp"
#include "launcher/ask/why_text.hpp"
#include "launcher/data/job_map.hpp"
#include "launcher/data/json_text.hpp"
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

using Jobs = std::map<std::string, Seen>;

struct JobsOptions {
  enum class Form { text, names, json } form = Form::text;
  bool help = false, all_users = false;
  std::string user;
};

// An empty result has been told.
std::optional<JobsOptions> parse(const std::vector<std::string>& arguments) {
  JobsOptions out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--json") {
      out.form = JobsOptions::Form::json;
    } else if (word == "--names") {
      out.form = JobsOptions::Form::names;
    } else if (word == "--help" || word == "-h") {
      out.help = true;
    } else if (word == "--all-users") {
      out.all_users = true;
    } else if (word == "--user" && i + 1 < arguments.size() && !arguments[i + 1].empty()) {
      out.user = arguments[++i];
    } else {
      say(Level::error, "tutti jobs takes --json or --names, and of root --all-users or --user NAME, not '{}'", word);
      return std::nullopt;
    }
  }
  if (out.all_users && !out.user.empty()) {
    say(Level::error, "--all-users and --user {} both say whose jobs; leave one of them out", out.user);
    return std::nullopt;
  }
  if (out.all_users && ::geteuid() != 0) {
    say(Level::error, "--all-users takes root: others' jobs cannot be seen");
    return std::nullopt;
  }
  return out;
}

// Objects, divided by commas, without the brackets around all of them.
std::string as_json(const Jobs& jobs, const std::string& user) {
  std::string out;
  for (const auto& [name, job] : jobs)
    out += fmt::format(
        "{}{{\"job\":{},\"user\":{},\"program\":{},\"ranks\":{},\"ranks_here\":{},\"mpirun_here\":{},"
        "\"mpirun\":{}}}",
        out.empty() ? "" : ",\n ", json_text(name), json_text(user), json_text(job.program), job.size, job.here,
        job.has_mpirun, json_text(job.launcher));
  return out;
}

// `whose`: behind each line; empty for one's own.
std::string as_text(const Jobs& jobs, const std::string& whose) {
  std::string out;
  for (const auto& [name, job] : jobs) {
    const std::string end = whose.empty() ? "\n" : ", of " + printable(whose) + "\n";
    if (job.size == 0) {
      out += fmt::format("{}: no rank has called MPI, or none is seen from here{}", printable(name), end);
      continue;
    }
    out += fmt::format("{}: {}, {} rank{}, {} of them here{}{}", printable(name), printable(job.program), job.size,
                       job.size == 1 ? "" : "s", job.here,
                       job.has_mpirun         ? ", started here"
                       : job.launcher.empty() ? ""
                                              : ", started on " + printable(job.launcher),
                       end);
  }
  return out;
}

std::string as_names(const Jobs& jobs) {
  std::string out;
  for (const auto& [name, job] : jobs) out += printable(name) + "\n";
  return out;
}

// Of the user that this process runs as.
std::string list_jobs(const JobsOptions& options) {
  const Jobs jobs = running_jobs();
  switch (options.form) {
    case JobsOptions::Form::json:
      return as_json(jobs, name_of_user(::geteuid()));
    case JobsOptions::Form::names:
      return as_names(jobs);
    case JobsOptions::Form::text:
      return as_text(jobs, options.all_users ? name_of_user(::geteuid()) : "");
  }
  return "";
}

// `all_answered`: false where the jobs of a user are missing, of which a line has told then.
std::string list_jobs_of_all(const JobsOptions& options, bool& all_answered) {
  std::string out;
  for (const uid_t user : users_with_jobs()) {
    const std::optional<std::string> told = told_as(user, [&] { return list_jobs(options); });
    if (!told) {
      all_answered = false;
      say(Level::error, "the jobs of {} are not listed: they could not be looked at as that user, or not in time",
          printable(name_of_user(user)));
      continue;
    }
    if (options.form == JobsOptions::Form::json && !out.empty() && !told->empty()) out += ",\n ";
    out += *told;
  }
  return out;
}

}  // namespace

int jobs_command(const std::vector<std::string>& arguments) {
  const std::optional<JobsOptions> options = parse(arguments);
  if (!options) return 2;
  if (options->help) {
    std::fputs(
        "Usage: tutti jobs [--json | --names] [--all-users | --user NAME]\n"
        "Lists your running jobs whose mpirun or ranks are on this machine; --names prints their\n"
        "names alone, which 'tutti why' takes. Root sees those of all users, or of one.\n",
        stdout);
    return 0;
  }
  if (!options->user.empty()) {
    if (Error e = become_user(options->user)) {
      say(Level::error, "{}", e.message());
      return 1;
    }
  }
  bool all_answered = true;
  const std::string told = options->all_users ? list_jobs_of_all(*options, all_answered) : list_jobs(*options);
  if (options->form == JobsOptions::Form::json)
    fmt::print("[{}]\n", told);
  else if (told.empty() && all_answered && options->form == JobsOptions::Form::text)
    fmt::print("no job of {} is seen on this machine\n", options->all_users      ? "anybody"
                                                         : options->user.empty() ? "yours"
                                                                                 : printable(options->user));
  else
    std::fputs(told.c_str(), stdout);
  return all_answered ? 0 : 1;
}

}  // namespace tutti::launcher
