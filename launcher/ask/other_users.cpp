// SPDX-License-Identifier: BSD-3-Clause
#include "launcher/ask/other_users.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "launcher/ask/commands.hpp"
#include "launcher/ask/talker.hpp"
#include "launcher/data/job_map.hpp"
#include "launcher/node/process_state.hpp"
#include "mpi.h"

namespace tutti::launcher {
namespace {

constexpr std::chrono::seconds kPatience{20};  // with all jobs of a user
constexpr size_t kMostTold = size_t{16} << 20;

bool belongs_to_a_job(const std::filesystem::path& process, int pid) {
  std::ifstream file(process / "comm");
  std::string name;
  std::getline(file, name);
  return is_mpirun(name) || name == "tutti" || name == "tuttid" || !variable_of_process(pid, kJobVariable).empty();
}

}  // namespace

Error become_user(const std::string& user) {
  passwd entry{}, *found = nullptr;
  std::vector<char> texts(1 << 16);
  uid_t number = 0;
  const char* end = user.data() + user.size();
  if (std::from_chars(user.data(), end, number).ptr == end)
    ::getpwuid_r(number, &entry, texts.data(), texts.size(), &found);
  else if (::getpwnam_r(user.c_str(), &entry, texts.data(), texts.size(), &found) != 0 || !found)
    return failure(MPI_ERR_ARG, "--user {}: there is no such user", user);
  if (found) number = found->pw_uid;
  if (number == ::geteuid()) return {};
  if (::geteuid() != 0) return failure(MPI_ERR_ARG, "--user {}: that takes root", user);
  const gid_t group = found ? found->pw_gid : number;
  if (::setgroups(1, &group) != 0 || ::setresgid(group, group, group) != 0 ||
      ::setresuid(number, number, number) != 0 || ::geteuid() != number)
    return failure(MPI_ERR_OTHER, "--user {}: cannot become that user: {}", user, std::strerror(errno));
  return {};
}

std::vector<uid_t> users_with_jobs() {
  std::set<uid_t> out;
  std::error_code problem;
  for (const auto& process : std::filesystem::directory_iterator("/proc", problem)) {
    const int pid = std::atoi(process.path().filename().c_str());
    struct stat about;
    if (pid <= 0 || ::stat(process.path().c_str(), &about) != 0 || out.contains(about.st_uid)) continue;
    if (belongs_to_a_job(process.path(), pid)) out.insert(about.st_uid);
  }
  return {out.begin(), out.end()};
}

std::string name_of_user(uid_t user) {
  passwd entry{}, *found = nullptr;
  std::vector<char> texts(1 << 16);
  ::getpwuid_r(user, &entry, texts.data(), texts.size(), &found);
  return found ? found->pw_name : std::to_string(user);
}

std::optional<std::string> told_as(uid_t user, const std::function<std::string()>& text) {
  Talker talker(kMostTold, Talker::Keep::beginning);
  talker.begin([&] {
    if (become_user(std::to_string(user))) return 1;
    std::fputs(text().c_str(), stdout);
    return 0;
  });
  Talker::hear({&talker}, kPatience);
  if (talker.exit_code() != 0) return std::nullopt;
  return talker.text();
}

}  // namespace tutti::launcher
