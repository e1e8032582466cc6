// SPDX-License-Identifier: BSD-3-Clause
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "base/config.hpp"
#include "launcher/ask/commands.hpp"
#include "launcher/ask/inquiry.hpp"
#include "launcher/ask/placeholders.hpp"
#include "launcher/ask/report_parts.hpp"
#include "launcher/node/look.hpp"
#include "launcher/place/run_options.hpp"
#include "launcher/place/schedulers.hpp"
#include "launcher/place/slurm.hpp"
#include "launcher/words/options.hpp"

extern char** environ;

namespace tutti::launcher {
namespace {

// Of a machine's list of hosts, which may be one of millions that shall not be reached.
constexpr int kMostLines = 20000;
// Values that stand in a text for other reasons: answers, and small numbers.
bool is_of_every_text(std::string_view value) {
  for (const std::string_view word : {"true", "false", "none", "null", "default"})
    if (value == word) return true;
  return value.size() < 6 && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
}

// The numbers of people's accounts, by custom.
constexpr unsigned kFirstPerson = 1000, kLastPerson = 60000;

void tell_of_account(const passwd& account, const TellName& tell) {
  tell("user", account.pw_name);
  tell("home", account.pw_dir);
  // "Alice Liddell,,,": names with a blank are people's.
  const std::string_view gecos = account.pw_gecos ? account.pw_gecos : "";
  if (const std::string_view name = gecos.substr(0, gecos.find(',')); name.find(' ') != name.npos)
    if (account.pw_uid >= kFirstPerson) tell("secret", name);
}

// Not by getpwent(), which may fetch all users of a site.
void tell_of_local_accounts(const TellName& tell) {
  std::ifstream file("/etc/passwd");
  std::string line;
  for (int n = 0; n < kMostLines && std::getline(file, line); ++n) {
    std::istringstream fields(line);
    std::string name, word, number;
    std::getline(fields, name, ':');
    std::getline(fields, word, ':');
    std::getline(fields, number, ':');
    const unsigned long id = std::strtoul(number.c_str(), nullptr, 10);
    if (id >= kFirstPerson && id <= kLastPerson) tell("user", name);
  }
}

void tell_of_known_hosts(const TellName& tell) {
  std::ifstream file("/etc/hosts");
  std::string line;
  for (int n = 0; n < kMostLines && std::getline(file, line); ++n) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    words >> name;  // the address
    while (words >> name) tell("host", name);
  }
}

// "alice@node7:2"
void tell_of_node(std::string_view name, const TellName& tell) {
  name.remove_prefix(name.find('@') + 1);
  tell("host", name.substr(0, name.find(':')));
}

// As the scheduler and the command name them: what they resolve to may take long to find out.
void tell_of_nodes(const std::vector<std::string>& command, const TellName& tell) {
  if (Result<std::optional<SlurmAllocation>> slurm = slurm_allocation(::getenv); slurm && *slurm)
    for (const auto& node : (*slurm)->nodes) tell_of_node(node.name, tell);
  std::string warning;
  if (Result<std::optional<ScheduledJob>> job = scheduled_job(::getenv, text_of_file, warning); job && *job)
    for (const ScheduledNode& node : (*job)->nodes) tell_of_node(node.name, tell);
  if (command.empty()) return;
  const std::string name = std::filesystem::path(command[0]).filename();
  const bool is_tutti = name == "tutti" && command.size() > 1 && command[1] == "run";
  if (!is_mpirun(name) && !is_tutti) return;
  Result<RunOptions> run = parse_run_options({command.begin() + (is_tutti ? 2 : 1), command.end()});
  if (!run) return;
  for (const AppOptions& app : run->apps)
    for (const std::string& host : app.hosts) tell_of_node(host, tell);
  std::istringstream lines(run->hostfile.empty() ? "" : text_of_file(run->hostfile).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string word = line.substr(begin, line.find_first_of(" \t:#\r", begin) - begin);
    if (!word.empty()) tell_of_node(word, tell);
  }
}

void tell_of_jobs(const TellName& tell) {
  const auto tell_of = [&](const std::vector<RankView>& ranks) {
    for (const RankView& rank : ranks)
      for (const std::string& name : {rank.host, rank.launcher})
        if (!name.empty()) tell("host", name);
  };
  tell_of(look_at_ranks(""));
  for (const std::string& job : jobs_that_listen())
    if (Result<JobView> told = ask_job(job, {}); told) tell_of(told->ranks);
}

// Doctor and mpirun repeat the command whose values the report leaves out.
void tell_of_remote_shell(const TellName& tell) {
  Result<Config> config = Config::load();
  const char* variable = std::getenv("TUTTI_LAUNCH_RSH");
  for (const std::string& command :
       {config ? std::string(config->text("launch.rsh")) : "", std::string(variable ? variable : "")}) {
    std::istringstream whole(command), bare(without_values(command));
    for (std::string word, shown; whole >> word && bare >> shown;) {
      if (word == shown) continue;
      const size_t sign = word.find('=');
      tell("secret", sign != word.npos ? word.substr(sign + 1) : word.starts_with('-') ? word.substr(2) : word);
    }
  }
}

}  // namespace

void names_at_hand(const TellName& tell) {
  utsname machine{};
  if (::uname(&machine) == 0) tell("host", machine.nodename);
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view pair = *entry;
    const size_t sign = pair.find('=');
    if (sign == pair.npos) continue;
    const std::string_view name = pair.substr(0, sign), value = pair.substr(sign + 1);
    if (value.empty()) continue;
    if (name == "USER" || name == "LOGNAME" || name == "USERNAME" || name == "SUDO_USER" || name == "SLURM_JOB_USER")
      tell("user", value);
    else if (name == "HOME")
      tell("home", value);
    else if (name == "HOSTNAME" || name == "HOST" || name == "SLURMD_NODENAME" || name == "SLURM_SUBMIT_HOST" ||
             name == "PBS_O_HOST" || name == "LSB_SUB_HOST" || name == "SGE_O_HOST")
      tell("host", value);
    else if (is_name_of_secret(name) && name != "SSH_AUTH_SOCK" && !is_of_every_text(value))
      tell("secret", value);
  }
}

void names_elsewhere(const std::vector<std::string>& command, const TellName& tell) {
  tell_of_known_hosts(tell);
  tell_of_local_accounts(tell);
  tell_of_remote_shell(tell);
  tell_of_nodes(command, tell);
  if (const passwd* own = ::getpwuid(::geteuid())) tell_of_account(*own, tell);
  if (const char* home = std::getenv("HOME"); home && *home) {
    std::error_code problem;
    tell("home", std::filesystem::canonical(home, problem).string());
  }
  tell_of_jobs(tell);
}

}  // namespace tutti::launcher
