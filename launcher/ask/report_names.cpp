// SPDX-License-Identifier: BSD-3-Clause
#include <pwd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/config.hpp"
#include "launcher/ask/inquiry.hpp"
#include "launcher/ask/placeholders.hpp"
#include "launcher/ask/report_parts.hpp"
#include "launcher/node/look.hpp"
#include "launcher/place/hosts.hpp"
#include "launcher/words/options.hpp"

extern char** environ;

namespace tutti::launcher {
namespace {

// Of a machine's list of hosts, which may be one of millions that shall not be reached.
constexpr int kMostLines = 20000;
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

void tell_of_accounts(const TellName& tell) {
  if (const passwd* own = ::getpwuid(::geteuid())) tell_of_account(*own, tell);
  // Not by getpwent(), which may fetch all users of a site.
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

// The nodes that a job would have, or the command's job.
void tell_of_nodes(const std::vector<std::string>& command, const TellName& tell) {
  AppOptions app;
  app.command = {"true"};
  RunOptions run;
  run.apps.push_back(app);
  if (!command.empty()) {
    const std::string name = std::filesystem::path(command[0]).filename();
    const bool is_tutti = name == "tutti" && command.size() > 1 && command[1] == "run";
    if (name == "mpirun" || name == "mpiexec" || is_tutti)
      if (Result<RunOptions> parsed = parse_run_options({command.begin() + (is_tutti ? 2 : 1), command.end()}); parsed)
        run = *parsed;
  }
  if (Result<Allocation> allocation = allocate(run); allocation)
    for (const Host& host : allocation->hosts) tell("host", host.name);
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
    else if (is_name_of_secret(name) && name != "SSH_AUTH_SOCK")
      tell("secret", value);
  }
}

void names_elsewhere(const std::vector<std::string>& command, const TellName& tell) {
  tell_of_remote_shell(tell);
  tell_of_accounts(tell);
  tell_of_known_hosts(tell);
  if (const char* home = std::getenv("HOME"); home && *home) {
    std::error_code problem;
    tell("home", std::filesystem::canonical(home, problem).string());
  }
  tell_of_nodes(command, tell);
  tell_of_jobs(tell);
}

}  // namespace tutti::launcher
